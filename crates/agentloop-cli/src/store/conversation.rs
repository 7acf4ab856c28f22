//! Conversations: their names, their order, and finding one.

use agentloop::Usd;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::{Result, Store, StoreError, id, message, now};
use crate::printable;

/// The longest title, in characters.
const MAX_TITLE: usize = 100;

/// The longest name, in characters.
const MAX_NAME: usize = 100;

/// The word for the conversation that was used last.
const LAST: &str = "last";

/// How many candidates an error lists.
const CANDIDATES: i64 = 5;

/// How many identifiers are tried if one is in use.
const ATTEMPTS: u32 = 5;

/// The columns of a [`Conversation`].
pub(super) const COLUMNS: &str = "c.key, c.id, c.name, c.title, c.system, c.model, c.created, c.updated, \
     (SELECT count(*) FROM message m WHERE m.conversation = c.key), \
     (SELECT sum(r.cost) FROM message m JOIN response r ON r.message = m.key WHERE m.conversation = c.key)";

/// A stored conversation, without its messages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversation {
    /// Its key in the file.
    pub(super) key: i64,
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The beginning of the first prompt.
    pub(crate) title: String,
    pub(crate) system: Option<String>,
    /// The model that was used last.
    pub(crate) model: String,
    /// When it was created and changed, in milliseconds since 1970.
    pub(crate) created: i64,
    pub(crate) updated: i64,
    /// The number of its messages.
    pub(crate) messages: i64,
    /// The known cost of its responses.
    pub(crate) cost: Option<Usd>,
}

impl Conversation {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let cost: Option<i64> = row.get(9)?;
        Ok(Self {
            key: row.get(0)?,
            id: row.get(1)?,
            name: row.get(2)?,
            title: row.get(3)?,
            system: row.get(4)?,
            model: row.get(5)?,
            created: row.get(6)?,
            updated: row.get(7)?,
            messages: row.get(8)?,
            cost: cost.map(|picos| Usd::from_picos(picos.into())),
        })
    }
}

/// A conversation that is about to be stored.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewConversation<'a> {
    pub(crate) name: Option<&'a str>,
    /// The first prompt.
    pub(crate) prompt: &'a str,
    pub(crate) system: Option<&'a str>,
    pub(crate) model: &'a str,
}

impl Store {
    /// Stores a new conversation without messages.
    pub(crate) fn begin(&mut self, new: &NewConversation<'_>) -> Result<Conversation> {
        if let Some(name) = new.name {
            check_name(name)?;
        }
        self.transact(|connection| insert(connection, new))
    }

    /// Finds a conversation by its name, its identifier or the beginning of it, or the last one by `last`.
    pub(crate) fn find(&self, word: &str) -> Result<Conversation> {
        self.read(|connection| {
            if let Some(found) = select_one(connection, "c.name = ?1", word)? {
                return Ok(found);
            }
            if word == LAST {
                return select_last(connection)?.ok_or_else(|| no_conversation(word));
            }
            let prefix = word.to_ascii_lowercase();
            if !id::is_prefix(&prefix) {
                return Err(no_conversation(word));
            }
            // The last character of the alphabet is `z`.
            let sql = format!(
                "SELECT {COLUMNS} FROM conversation c WHERE c.id >= ?1 AND c.id < ?1 || '{{' ORDER BY c.id DESC LIMIT ?2"
            );
            let mut statement = connection.prepare(&sql)?;
            let found = statement.query_map(params![prefix, CANDIDATES], Conversation::read)?;
            let mut found: Vec<Conversation> = found.collect::<rusqlite::Result<_>>()?;
            match found.len() {
                0 => Err(no_conversation(word)),
                1 => Ok(found.remove(0)),
                _ => {
                    let ids: Vec<&str> = found.iter().map(|found| found.id.as_str()).collect();
                    Err(StoreError::new(format!("several conversations begin with {prefix}"))
                        .hint(format!("write more of the identifier: {}", ids.join(", "))))
                }
            }
        })
    }

    /// Finds a conversation by its name.
    pub(crate) fn find_named(&self, name: &str) -> Result<Option<Conversation>> {
        check_name(name)?;
        self.read(|connection| select_one(connection, "c.name = ?1", name))
    }

    /// Finds a conversation by its complete identifier.
    pub(crate) fn find_id(&self, id: &str) -> Result<Option<Conversation>> {
        self.read(|connection| select_one(connection, "c.id = ?1", id))
    }

    /// Returns the conversations that were used last, the newest first.
    pub(crate) fn list(&self, limit: usize) -> Result<Vec<Conversation>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM conversation c ORDER BY c.updated DESC, c.key DESC LIMIT ?1"
            );
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([limit], Conversation::read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the identifiers of the conversations that were not used since `time`.
    pub(crate) fn list_before(&self, time: i64) -> Result<Vec<Conversation>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM conversation c WHERE c.updated < ?1 ORDER BY c.updated, c.key"
            );
            let mut statement = connection.prepare(&sql)?;
            let rows = statement.query_map([time], Conversation::read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Gives a conversation another name, or none.
    pub(crate) fn rename(&mut self, of: &Conversation, name: Option<&str>) -> Result<()> {
        if let Some(name) = name {
            check_name(name)?;
        }
        self.transact(|connection| {
            let taken = name.map(|name| select_one(connection, "c.name = ?1", name)).transpose()?;
            if let Some(other) = taken.flatten().filter(|other| other.key != of.key) {
                return Err(name_in_use(&other));
            }
            let sql = "UPDATE conversation SET name = ?2 WHERE key = ?1";
            connection.execute(sql, params![of.key, name])?;
            index_title(connection, of.key, name, &of.title)
        })
    }

    /// Deletes conversations with everything that belongs to them, and overwrites their text.
    pub(crate) fn delete(&mut self, conversations: &[Conversation]) -> Result<()> {
        self.transact(|connection| {
            let mut statement = connection.prepare("DELETE FROM conversation WHERE key = ?1")?;
            for conversation in conversations {
                statement.execute([conversation.key])?;
            }
            Ok(())
        })?;
        // The deleted text is still in the log, until that is copied to the file. Another process may keep that from happening now.
        self.read(|connection| {
            // Each row is a page that was freed.
            for sql in ["PRAGMA incremental_vacuum", "PRAGMA wal_checkpoint(TRUNCATE)"] {
                let mut statement = connection.prepare(sql)?;
                let mut rows = statement.query([])?;
                while rows.next()?.is_some() {}
            }
            Ok(())
        })
    }

    /// Formats a time in the user's time zone.
    pub(crate) fn format_time(&self, time: i64) -> Result<String> {
        self.read(|connection| {
            let sql = "SELECT strftime('%Y-%m-%d %H:%M', ?1 / 1000, 'unixepoch', 'localtime')";
            let text: Option<String> = connection.query_row(sql, [time], |row| row.get(0))?;
            Ok(text.unwrap_or_default())
        })
    }
}

/// Checks that a name can be typed and shown.
fn check_name(name: &str) -> Result<()> {
    let shown = printable::escape_name(name);
    let wrong = |why: &str| {
        let error = StoreError::new(format!("{shown:.120}: a conversation cannot have this name"));
        Err(error.hint(format!("a name {why}")))
    };
    if name.trim() != name || name.is_empty() {
        return wrong("is not empty and does not begin or end with a space");
    }
    if name.chars().count() > MAX_NAME {
        return wrong(&format!("has at most {MAX_NAME} characters"));
    }
    if shown != name {
        return wrong("has no invisible characters, line breaks and backslashes");
    }
    if name == LAST {
        return wrong("is another word than `last`, which is the conversation that was used last");
    }
    Ok(())
}

fn no_conversation(word: &str) -> StoreError {
    let word = printable::escape_name(word);
    match word.as_ref() {
        LAST => StoreError::new("there is no conversation yet"),
        word => StoreError::new(format!("there is no conversation {word}"))
            .hint("`agentloop log` lists the conversations with their identifiers and names"),
    }
}

fn name_in_use(other: &Conversation) -> StoreError {
    let name = other.name.as_deref().unwrap_or_default();
    StoreError::new(format!("the conversation {} has the name {name} already", other.id))
        .hint("choose another name")
}

fn select_one(
    connection: &Connection,
    condition: &str,
    value: &str,
) -> Result<Option<Conversation>> {
    let sql = format!("SELECT {COLUMNS} FROM conversation c WHERE {condition}");
    Ok(connection.query_row(&sql, [value], Conversation::read).optional()?)
}

fn select_last(connection: &Connection) -> Result<Option<Conversation>> {
    let sql =
        format!("SELECT {COLUMNS} FROM conversation c ORDER BY c.updated DESC, c.key DESC LIMIT 1");
    Ok(connection.query_row(&sql, [], Conversation::read).optional()?)
}

/// Inserts a conversation, or returns the one that another process has just created with the same name.
pub(super) fn insert(connection: &Connection, new: &NewConversation<'_>) -> Result<Conversation> {
    if let Some(name) = new.name
        && let Some(found) = select_one(connection, "c.name = ?1", name)?
    {
        return Ok(found);
    }
    let (time, title) = (now(), make_title(new.prompt));
    let sql = "INSERT INTO conversation (id, name, title, system, model, created, updated) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (id) DO NOTHING";
    for _ in 0..ATTEMPTS {
        let id = id::create(time);
        let values = params![id, new.name, title, new.system, new.model, time];
        if connection.execute(sql, values)? == 1 {
            index_title(connection, connection.last_insert_rowid(), new.name, &title)?;
            let found = select_one(connection, "c.id = ?1", &id)?;
            return found.ok_or_else(|| StoreError::new("the new conversation was not stored"));
        }
    }
    Err(StoreError::new("no identifier is free for the conversation"))
}

/// The clock may be set back, and two conversations may be used in the same millisecond: the one that is used now is still the last one.
pub(super) const TOUCH: &str = "UPDATE conversation SET system = ?2, model = ?3, \
     updated = max(?4, coalesce((SELECT o.updated + 1 FROM conversation o WHERE o.key <> ?1 \
     ORDER BY o.updated DESC, o.key DESC LIMIT 1), 0)) WHERE key = ?1";

/// Marks a conversation as used now, with this model and system prompt.
pub(super) fn touch(
    connection: &Connection,
    key: i64,
    system: Option<&str>,
    model: &str,
) -> Result<()> {
    connection.execute(TOUCH, params![key, system, model, now()])?;
    Ok(())
}

/// Makes the name and the title searchable.
fn index_title(connection: &Connection, key: i64, name: Option<&str>, title: &str) -> Result<()> {
    connection
        .execute("DELETE FROM searchable WHERE conversation = ?1 AND message IS NULL", [key])?;
    let text = format!("{} {title}", name.unwrap_or_default());
    let text = message::searchable(&text);
    let sql = "INSERT INTO searchable (conversation, message, text) VALUES (?1, NULL, ?2)";
    connection.execute(sql, params![key, text.trim()])?;
    Ok(())
}

/// Makes a title of the first prompt: its beginning in one line.
fn make_title(prompt: &str) -> String {
    let mut title = String::new();
    // A prompt can be large; a title needs only its beginning.
    let beginning: String = prompt.chars().take(20 * MAX_TITLE).collect();
    for word in beginning.split_whitespace() {
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    match title.char_indices().nth(MAX_TITLE) {
        Some((at, _)) => format!("{}…", title[..at].trim_end()),
        None => title,
    }
}
