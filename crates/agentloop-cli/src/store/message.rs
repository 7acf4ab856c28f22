//! Messages of a conversation.

use std::borrow::Cow;

use agentloop::{ChatMessage, ContentPart, MessageContent};
use rusqlite::{Connection, Row, params};
use serde_json::Value;

use super::{
    Conversation, ResponseRecord, ResponseState, Result, Store, conversation, media, now, response,
};

/// The largest message that is stored, as JSON with its media, in bytes. In place of a larger one its size is stored.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// How much text of a message can be searched, in bytes from its beginning.
const MAX_SEARCHABLE_BYTES: usize = 256 << 10;

/// A message as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StoredMessage {
    /// When it was stored, in milliseconds since 1970.
    pub(crate) created: i64,
    pub(crate) message: ChatMessage,
    /// How it came about, if it is a response.
    pub(crate) response: Option<ResponseRecord>,
}

impl StoredMessage {
    /// Returns the message to send when the conversation continues.
    ///
    /// Of a response that did not complete only the text is sent: providers refuse unfinished thinking and calls. `None` if nothing is
    /// left.
    pub(crate) fn into_sendable(self) -> Option<ChatMessage> {
        let is_complete =
            self.response.as_ref().is_none_or(|one| one.state == ResponseState::Complete);
        if is_complete {
            return Some(self.message);
        }
        let text = self.message.text();
        let mut message = self.message;
        message.tool_calls.clear();
        message.content = Some(MessageContent::Parts(vec![ContentPart::text(text.trim_end())]));
        (!text.trim().is_empty()).then_some(message)
    }
}

impl Store {
    /// Returns the messages of a conversation in order.
    pub(crate) fn messages(&self, of: &Conversation) -> Result<Vec<StoredMessage>> {
        self.read(|connection| {
            let sql = format!(
                "SELECT m.key, m.created, m.json, {} FROM message m LEFT JOIN response r ON r.message = m.key \
                 WHERE m.conversation = ?1 ORDER BY m.position",
                response::COLUMNS
            );
            let mut statement = connection.prepare(&sql)?;
            let mut rows = statement.query([of.key])?;
            let mut messages = Vec::new();
            while let Some(row) = rows.next()? {
                messages.push(read(connection, row)?);
            }
            Ok(messages)
        })
    }

    /// Appends messages to a conversation, and reserves the place of the response to them. Returns the key of that place.
    ///
    /// Everything is written before the request is sent, so a process that is killed leaves the prompt and an unfinished response.
    pub(crate) fn append_prompt(
        &mut self,
        to: &Conversation,
        prompt: &[ChatMessage],
        system: Option<&str>,
        model: &str,
    ) -> Result<i64> {
        self.transact(|connection| {
            for message in prompt {
                insert(connection, to.key, message)?;
            }
            conversation::touch(connection, to.key, system, model)?;
            reserve(connection, to.key)
        })
    }

    /// Appends the results of calls to a conversation, and reserves the place of the response to them. Returns the keys of all, that
    /// place last.
    pub(crate) fn append_results(
        &mut self,
        to: &Conversation,
        results: &[ChatMessage],
    ) -> Result<Vec<i64>> {
        self.transact(|connection| {
            let keys = results.iter().map(|result| insert(connection, to.key, result));
            let mut keys = keys.collect::<Result<Vec<i64>>>()?;
            keys.push(reserve(connection, to.key)?);
            Ok(keys)
        })
    }

    /// Replaces the messages with these keys by others, which come at the end of the conversation.
    ///
    /// Messages that another process has appended to the same conversation meanwhile stay.
    pub(crate) fn replace(
        &mut self,
        of: &Conversation,
        keys: &[i64],
        by: &[(ChatMessage, Option<ResponseRecord>)],
    ) -> Result<()> {
        self.transact(|connection| {
            for key in keys {
                connection.execute("DELETE FROM message WHERE key = ?1", [key])?;
            }
            append(connection, of.key, by)
        })
    }

    /// Replaces the response at a reserved place.
    pub(crate) fn write_response(
        &mut self,
        place: i64,
        message: &ChatMessage,
        record: &ResponseRecord,
    ) -> Result<()> {
        self.transact(|connection| {
            let (json, attachments) = to_json(message, MAX_MESSAGE_BYTES)?;
            let sql = "UPDATE message SET json = ?2 WHERE key = ?1 RETURNING conversation";
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query(params![place, json])?;
            // Another process may have deleted the conversation meanwhile. That is not brought back.
            let Some(row) = rows.next()? else { return Ok(()) };
            let conversation: i64 = row.get(0)?;
            drop(rows);
            media::write(connection, place, &attachments)?;
            index(connection, conversation, place, message)?;
            response::write(connection, place, record)
        })
    }

    /// Removes the messages from this place on.
    pub(crate) fn truncate(&mut self, of: &Conversation, from: usize) -> Result<()> {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        self.transact(|connection| {
            let sql = "DELETE FROM message WHERE conversation = ?1 AND position IN \
                       (SELECT position FROM message WHERE conversation = ?1 ORDER BY position LIMIT -1 OFFSET ?2)";
            connection.execute(sql, params![of.key, from])?;
            Ok(())
        })
    }
}

fn read(connection: &Connection, row: &Row<'_>) -> Result<StoredMessage> {
    let key = row.get(0)?;
    let text: String = row.get(2)?;
    let mut json: Value = serde_json::from_str(&text)?;
    media::attach(connection, key, &mut json)?;
    Ok(StoredMessage {
        created: row.get(1)?,
        message: serde_json::from_value(json)?,
        response: response::read(row, 3)?,
    })
}

fn append(
    connection: &Connection,
    conversation: i64,
    messages: &[(ChatMessage, Option<ResponseRecord>)],
) -> Result<()> {
    for (message, record) in messages {
        let key = insert(connection, conversation, message)?;
        if let Some(record) = record {
            response::write(connection, key, record)?;
        }
    }
    Ok(())
}

/// Reserves the place of a response at the end of a conversation, and returns its key.
fn reserve(connection: &Connection, conversation: i64) -> Result<i64> {
    let key = insert(connection, conversation, &ChatMessage::assistant(Vec::<ContentPart>::new()))?;
    response::write(connection, key, &ResponseRecord::default())?;
    Ok(key)
}

/// Inserts a message at the end of a conversation, and returns its key.
fn insert(connection: &Connection, conversation: i64, message: &ChatMessage) -> Result<i64> {
    let (json, attachments) = to_json(message, MAX_MESSAGE_BYTES)?;
    let sql = "INSERT INTO message (conversation, position, role, json, created) \
               SELECT ?1, coalesce(max(position) + 1, 0), ?2, ?3, ?4 FROM message WHERE conversation = ?1";
    connection.execute(sql, params![conversation, message.role.as_str(), json, now()])?;
    let key = connection.last_insert_rowid();
    media::write(connection, key, &attachments)?;
    index(connection, conversation, key, message)?;
    Ok(key)
}

/// Makes the text of a message searchable.
fn index(
    connection: &Connection,
    conversation: i64,
    key: i64,
    message: &ChatMessage,
) -> Result<()> {
    let text = message.text();
    let text = searchable(&text);
    if text.is_empty() {
        return Ok(());
    }
    let sql = "INSERT INTO searchable (conversation, message, text) VALUES (?1, ?2, ?3) \
               ON CONFLICT (message) DO UPDATE SET text = excluded.text WHERE text IS NOT excluded.text";
    connection.execute(sql, params![conversation, key, text])?;
    Ok(())
}

/// Returns the beginning of a text without control characters, which mark the words that were found.
pub(super) fn searchable(text: &str) -> Cow<'_, str> {
    let end =
        (0..=text.len().min(MAX_SEARCHABLE_BYTES)).rev().find(|at| text.is_char_boundary(*at));
    let text = &text[..end.unwrap_or(0)];
    let is_control = |c: char| c.is_control() && c != '\n';
    if text.contains(is_control) {
        Cow::Owned(text.replace(is_control, " "))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the JSON to store, and the media that were taken out of it. A message of more than `max` bytes is replaced by its size.
pub(super) fn to_json(
    message: &ChatMessage,
    max: usize,
) -> Result<(String, Vec<media::Attachment>)> {
    let text = serde_json::to_string(message)?;
    if text.len() > max {
        let size = format!("[a message of {} bytes was not stored]", text.len());
        let mut short = ChatMessage::new(message.role, size);
        short.tool_call_id.clone_from(&message.tool_call_id);
        return Ok((serde_json::to_string(&short)?, Vec::new()));
    }
    // Most messages are short and have nothing to take out.
    if text.len() < media::MIN_BYTES && !text.contains("://") {
        return Ok((text, Vec::new()));
    }
    let mut json = serde_json::to_value(message)?;
    hide_credentials(&mut json);
    let attachments = media::detach(&mut json);
    Ok((json.to_string(), attachments))
}

/// Replaces the user name and password of URLs of media. Text is left as it is: it is what the user or the model wrote.
fn hide_credentials(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_credentials),
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(url) if name == "url" => {
                        if let Some(hidden) = without_credentials(url) {
                            *url = hidden;
                        }
                    }
                    field => hide_credentials(field),
                }
            }
        }
        _ => {}
    }
}

fn without_credentials(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(end)?;
    let (_, host) = authority.rsplit_once('@')?;
    Some(format!("{scheme}://***@{host}{path}"))
}
