//! The tables, and how files of earlier versions are brought up to date.

use crate::sqlite::Format;

/// The file. A commit waits for the disk, because the journal deletes rows that are stored, and a revoked key must stay revoked. The
/// path of a request does not wait for it, and all operations that wait are one commit.
pub(super) const FORMAT: Format = Format {
    // "ALgw"
    application: 0x414c_6777,
    migrations: &[V1, V2],
    settings: "PRAGMA synchronous = FULL;",
    elsewhere: "choose another file with `path` in [gateway.store]",
};

/// Times are milliseconds since 1970; amounts are millionths of a millionth of a dollar.
///
/// Settings of keys and teams are JSON, because they are always read as a whole. What is searched for has a column.
///
/// The tags of a row are a JSON array in the row and not a table: a row is then one insertion and one deletion, most rows have no
/// tags, and sums by tag read all rows of their period anyway.
const V1: &str = "
CREATE TABLE version (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  keys INTEGER NOT NULL
) STRICT;
INSERT INTO version VALUES (1, 1);

CREATE TABLE key (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL UNIQUE,
  team TEXT,
  created_ms INTEGER NOT NULL,
  revoked_ms INTEGER,
  settings TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX key_by_name ON key (name) WHERE revoked_ms IS NULL;

CREATE TABLE team (
  name TEXT PRIMARY KEY,
  settings TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE price (
  id TEXT PRIMARY KEY,
  json TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  request TEXT NOT NULL,
  node TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  key TEXT NOT NULL,
  team TEXT,
  api TEXT NOT NULL,
  call TEXT NOT NULL,
  model TEXT NOT NULL,
  provider TEXT NOT NULL,
  served TEXT NOT NULL,
  tags TEXT,
  outcome TEXT NOT NULL,
  estimated INTEGER NOT NULL,
  prompt_tokens INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  reasoning_tokens INTEGER NOT NULL,
  usd INTEGER,
  reserved INTEGER NOT NULL,
  price TEXT,
  duration_ms INTEGER NOT NULL,
  first_byte_ms INTEGER,
  status INTEGER NOT NULL
) STRICT;
CREATE INDEX ledger_by_time ON ledger (time_ms, id);
CREATE INDEX ledger_by_key ON ledger (key, time_ms, id);
CREATE INDEX ledger_by_team ON ledger (team, time_ms, id) WHERE team IS NOT NULL;
";

/// What deleted rows have cost, for budgets in total. The amount is a decimal number, because it can need more than 64 bits.
const V2: &str = "
CREATE TABLE deleted (
  is_team INTEGER NOT NULL,
  name TEXT NOT NULL,
  node TEXT NOT NULL,
  usd TEXT NOT NULL,
  PRIMARY KEY (is_team, name, node)
) STRICT, WITHOUT ROWID;
";
