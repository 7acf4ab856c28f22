//! The key that the first start creates, and those of the file that earlier versions kept.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use agentloop::Secret;
use agentloop_gateway::{Accounts, KeyRecord, State, Store, new_key};
use serde::Deserialize;

use crate::failure::Failure;
use crate::files;
use crate::notes::Notes;
use crate::store;

/// The file with the hashes of keys that earlier versions kept in the user's data folder.
const FILE: &str = "gateway-keys.json";

/// What the file is called once its keys are in the database.
const IMPORTED: &str = "gateway-keys.json.imported";

/// The largest such file that is read, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The name of the key that the first start creates.
const NAME: &str = "first";

#[derive(Default, Deserialize)]
struct KeyFile {
    keys: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    sha256: String,
}

/// Moves the keys of the file to the database, once. A file that cannot be read, or a database that cannot be reached, stops
/// nothing: the next start tries again.
pub(super) async fn import(store: &dyn Store, notes: Notes) {
    let Some(path) = store::find_file().map(|file| file.with_file_name(FILE)) else { return };
    let moved = match read(&path) {
        Ok(None) => return,
        Ok(Some(file)) => move_keys(store, file).await,
        Err(error) => Err(error.to_string()),
    };
    let moved = moved.and_then(|()| {
        std::fs::rename(&path, path.with_file_name(IMPORTED)).map_err(|error| error.to_string())
    });
    if let Err(error) = moved {
        let path = path.display();
        notes.print_note(&format!("the keys of {path} are not in the database yet: {error}"));
    }
}

async fn move_keys(store: &dyn Store, file: KeyFile) -> Result<(), String> {
    let known = store.load_keys().await.map_err(|error| error.to_string())?;
    for entry in file.keys {
        // An earlier start may have moved some of them, and a revoked key stays revoked.
        if known.keys.iter().any(|key| key.sha256.eq_ignore_ascii_case(entry.sha256.trim())) {
            continue;
        }
        let key = record(entry.name, entry.sha256.trim().to_ascii_lowercase());
        store.create_key(key).await.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Creates a key if there is none at all and only this machine can reach the gateway, and returns it. A database that cannot be
/// reached stops nothing: it may have keys.
pub(super) async fn create(
    store: &dyn Store,
    state: &State,
    listen: SocketAddr,
    notes: Notes,
) -> Result<Option<Secret>, Failure> {
    if state.has_keys() || !listen.ip().is_loopback() {
        return Ok(None);
    }
    let (key, sha256) = new_key()?;
    let created = match store.load_keys().await {
        Ok(known) if known.keys.iter().any(|key| key.revoked_ms.is_none()) => return Ok(None),
        Ok(_) => store.create_key(record(NAME.to_owned(), sha256)).await,
        Err(error) => Err(error),
    };
    if let Err(error) = created {
        notes.print_note(&format!("the database of the gateway cannot be used: {error}"));
        return Ok(None);
    }
    Ok(Some(key))
}

/// Fails if there is no key although other machines can reach the gateway.
pub(super) fn check(state: &State, accounts: &Accounts, listen: SocketAddr) -> Result<(), Failure> {
    if listen.ip().is_loopback() || state.has_keys() || accounts.has_keys() {
        return Ok(());
    }
    Err(Failure::input_with_hint(
        format!(
            "the gateway does not listen on {listen} without an API key, because other machines can reach it"
        ),
        "create one with `agentloop keys create NAME`",
    ))
}

fn record(name: String, sha256: String) -> KeyRecord {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let mut key = KeyRecord::default();
    (key.name, key.sha256) = (name, sha256);
    key.created_ms = i64::try_from(now).unwrap_or(i64::MAX);
    key
}

fn read(path: &Path) -> io::Result<Option<KeyFile>> {
    match files::read_regular(path, MAX_FILE_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => Ok(Some(serde_json::from_slice(&read?)?)),
    }
}
