//! Images and other media of messages, stored once each.
//!
//! Long base64 strings of a message's JSON are stored as bytes under their SHA-256. It does not matter what a string is for, so no kind
//! of part can be forgotten, and putting the strings back gives exactly the same message.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::{Connection, params};
use serde_json::Value;

use super::Result;

/// The shortest string that is stored apart, in bytes.
pub(super) const MIN_BYTES: usize = 4 << 10;

/// The longest part before the base64 of a data URL, in bytes.
const MAX_PREFIX: usize = 200;

/// A string of a message that is stored apart.
#[derive(Debug, PartialEq)]
pub(super) struct Attachment {
    /// Where the string is: a JSON pointer.
    pointer: String,
    /// The part of the string that is not base64: the beginning of a data URL.
    prefix: String,
    bytes: Vec<u8>,
}

/// Takes long base64 strings out of a message.
pub(super) fn detach(message: &mut Value) -> Vec<Attachment> {
    let mut found = Vec::new();
    walk(message, &mut String::new(), &mut found);
    found
}

fn walk(value: &mut Value, pointer: &mut String, found: &mut Vec<Attachment>) {
    let length = pointer.len();
    match value {
        Value::String(text) if text.len() >= MIN_BYTES => {
            if let Some((prefix, bytes)) = read_base64(text) {
                let prefix = prefix.to_owned();
                found.push(Attachment { pointer: pointer.clone(), prefix, bytes });
                *value = Value::Null;
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                pointer.push_str(&format!("/{at}"));
                walk(item, pointer, found);
                pointer.truncate(length);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                pointer.push('/');
                pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
                walk(field, pointer, found);
                pointer.truncate(length);
            }
        }
        _ => {}
    }
}

/// Reads base64, also of a data URL. Only the one canonical form is accepted, so encoding the bytes gives the same text.
fn read_base64(text: &str) -> Option<(&str, Vec<u8>)> {
    let mark = ";base64,";
    let start = match text.get(..5) {
        Some("data:") => text.find(mark).filter(|at| *at < MAX_PREFIX)? + mark.len(),
        _ => 0,
    };
    let (prefix, data) = text.split_at_checked(start)?;
    Some((prefix, STANDARD.decode(data).ok()?))
}

/// Stores the attachments of a message in place of the earlier ones.
pub(super) fn write(connection: &Connection, message: i64, all: &[Attachment]) -> Result<()> {
    for Attachment { pointer, prefix, bytes } in all {
        let hash = ring::digest::digest(&ring::digest::SHA256, bytes);
        connection.execute(
            "INSERT INTO blob (hash, bytes) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING",
            params![hash.as_ref(), bytes],
        )?;
        connection.execute(
            "INSERT INTO attachment (message, pointer, prefix, hash) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (message, pointer) DO UPDATE SET prefix = excluded.prefix, hash = excluded.hash",
            params![message, pointer, prefix, hash.as_ref()],
        )?;
    }
    let mut statement = connection.prepare("SELECT pointer FROM attachment WHERE message = ?1")?;
    let stored: Vec<String> =
        statement.query_map([message], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for pointer in stored.iter().filter(|known| !all.iter().any(|one| one.pointer == **known)) {
        let sql = "DELETE FROM attachment WHERE message = ?1 AND pointer = ?2";
        connection.execute(sql, params![message, pointer])?;
    }
    Ok(())
}

/// Puts the attachments of a stored message back.
pub(super) fn attach(connection: &Connection, message: i64, json: &mut Value) -> Result<()> {
    let sql = "SELECT a.pointer, a.prefix, b.bytes FROM attachment a JOIN blob b ON b.hash = a.hash WHERE a.message = ?1";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([message])?;
    while let Some(row) = rows.next()? {
        let (pointer, prefix): (String, String) = (row.get(0)?, row.get(1)?);
        let bytes: Vec<u8> = row.get(2)?;
        if let Some(place) = json.pointer_mut(&pointer) {
            let mut text = prefix;
            STANDARD.encode_string(bytes, &mut text);
            *place = Value::String(text);
        }
    }
    Ok(())
}
