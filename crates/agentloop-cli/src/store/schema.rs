//! The tables, and how files of earlier versions are brought up to date.

use agentloop_gateway::sqlite::Format;

pub(super) const FORMAT: Format = Format {
    // "ALop"
    application: 0x414c_6f70,
    migrations: &[V1, V2],
    settings: "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
    elsewhere: "choose another folder with AGENTLOOP_DATA",
};

/// Times are milliseconds since 1970; costs are millionths of a millionth of a dollar.
const V1: &str = r#"
CREATE TABLE conversation (
  key INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  name TEXT UNIQUE,
  title TEXT NOT NULL,
  system TEXT,
  model TEXT NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
) STRICT;
CREATE INDEX conversation_by_update ON conversation (updated, key);

-- A message as the library's JSON. Long base64 strings in it are replaced by null and listed in `attachment`.
CREATE TABLE message (
  key INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (key) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  role TEXT NOT NULL,
  json TEXT NOT NULL,
  created INTEGER NOT NULL,
  UNIQUE (conversation, position)
) STRICT;

-- How the response in a message came about.
CREATE TABLE response (
  message INTEGER PRIMARY KEY REFERENCES message (key) ON DELETE CASCADE,
  state TEXT NOT NULL,
  provider TEXT,
  model TEXT,
  finish_reason TEXT,
  usage TEXT,
  cost INTEGER,
  cost_source TEXT,
  duration INTEGER,
  warnings TEXT,
  error TEXT
) STRICT;

CREATE TABLE blob (
  hash BLOB PRIMARY KEY,
  bytes BLOB NOT NULL
) STRICT;
CREATE TABLE attachment (
  message INTEGER NOT NULL REFERENCES message (key) ON DELETE CASCADE,
  pointer TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash BLOB NOT NULL REFERENCES blob (hash),
  PRIMARY KEY (message, pointer)
) STRICT, WITHOUT ROWID;
CREATE INDEX attachment_by_hash ON attachment (hash);
CREATE TRIGGER attachment_deleted AFTER DELETE ON attachment BEGIN
  DELETE FROM blob WHERE hash = OLD.hash AND NOT EXISTS (SELECT 1 FROM attachment WHERE hash = OLD.hash);
END;
CREATE TRIGGER attachment_changed AFTER UPDATE OF hash ON attachment BEGIN
  DELETE FROM blob WHERE hash = OLD.hash AND NOT EXISTS (SELECT 1 FROM attachment WHERE hash = OLD.hash);
END;

-- The text that is searched: of a message, or, without one, the name and the title of the conversation.
CREATE TABLE searchable (
  key INTEGER PRIMARY KEY,
  conversation INTEGER NOT NULL REFERENCES conversation (key) ON DELETE CASCADE,
  message INTEGER UNIQUE REFERENCES message (key) ON DELETE CASCADE,
  text TEXT NOT NULL
) STRICT;
CREATE INDEX searchable_by_conversation ON searchable (conversation);
CREATE VIRTUAL TABLE search USING fts5 (
  text, content = 'searchable', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2'
);
-- Deleted words are removed from the index, not only marked.
INSERT INTO search (search, rank) VALUES ('secure-delete', 1);
CREATE TRIGGER searchable_inserted AFTER INSERT ON searchable BEGIN
  INSERT INTO search (rowid, text) VALUES (NEW.key, NEW.text);
END;
CREATE TRIGGER searchable_deleted AFTER DELETE ON searchable BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', OLD.key, OLD.text);
END;
CREATE TRIGGER searchable_changed AFTER UPDATE ON searchable BEGIN
  INSERT INTO search (search, rowid, text) VALUES ('delete', OLD.key, OLD.text);
  INSERT INTO search (rowid, text) VALUES (NEW.key, NEW.text);
END;

-- Every call that cost something, whatever command made it.
CREATE TABLE spending (
  key INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  cost INTEGER NOT NULL,
  is_estimate INTEGER NOT NULL
) STRICT;
CREATE INDEX spending_by_time ON spending (time, cost);

CREATE TABLE cache (
  key BLOB PRIMARY KEY,
  value BLOB NOT NULL,
  size INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;
CREATE INDEX cache_by_expiry ON cache (expires, size);
"#;

/// Runs that wait for approval, or are continued. The content is there until the run has ended.
const V2: &str = "
CREATE TABLE run (
  hash BLOB PRIMARY KEY,
  file TEXT,
  json TEXT,
  state TEXT NOT NULL,
  time INTEGER NOT NULL
) STRICT;
CREATE INDEX run_by_file ON run (file) WHERE file IS NOT NULL;
";
