//! Keys that the user has stored, in `agentloop/keys.json` in the user's configuration folder.
//!
//! Only the owner may read the file. The system's keyrings are not used: the crates that reach them bring D-Bus and an async runtime
//! of their own, and a machine without a desktop has none.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agentloop::Secret;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::files;
use crate::user_config::{require_user_path, user_path};

/// The name of the file.
const FILE_NAME: &str = "keys.json";

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 16 << 10;

/// The stored keys, by provider.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoredKeys(BTreeMap<String, Secret>);

impl StoredKeys {
    /// Reads the stored keys. If there is no file, there are none.
    ///
    /// Returns an error message if the file cannot be used.
    pub(crate) fn load() -> Result<Self, String> {
        match user_path(FILE_NAME) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, String> {
        let fail = |why: &str| format!("{}: {why}, so no stored key is used", path.display());
        let file = match files::open_regular(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(fail(&error.to_string())),
        };
        if !files::is_mine(&file, 0o077) {
            return Err(fail("other users can read or change this file (fix: `chmod 600`)"));
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| fail(&error.to_string()))?;
        // The message of the parser is not shown, because it may quote a key.
        let parsed: Value =
            serde_json::from_str(&text).map_err(|_| fail("the file is not valid JSON"))?;
        let keys = parsed.get("keys").and_then(Value::as_object);
        let keys = keys.ok_or_else(|| fail("the file has no object \"keys\""))?;
        let keys = keys.iter().filter_map(|(provider, key)| {
            Some((provider.clone(), Secret::new(key.as_str().filter(|key| !key.is_empty())?)))
        });
        Ok(Self(keys.collect()))
    }

    pub(crate) fn get(&self, provider: &str) -> Option<&Secret> {
        self.0.get(provider)
    }

    /// Returns the providers that have a key, sorted.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Stores a key, and returns the path of the file.
    pub(crate) fn set(provider: &str, key: &Secret) -> Result<PathBuf, Failure> {
        Self::change(|keys| {
            keys.insert(provider.to_owned(), key.clone());
            true
        })
        .map(|(path, _)| path)
    }

    /// Removes a key, and returns whether there was one.
    pub(crate) fn remove(provider: &str) -> Result<bool, Failure> {
        Self::change(|keys| keys.remove(provider).is_some()).map(|(_, changed)| changed)
    }

    fn change(
        change: impl FnOnce(&mut BTreeMap<String, Secret>) -> bool,
    ) -> Result<(PathBuf, bool), Failure> {
        let path = require_user_path(FILE_NAME)?;
        let fail = |error: std::io::Error| Failure::file(&path, error);
        if let Some(folder) = path.parent() {
            files::create_folder(folder).map_err(fail)?;
        }
        let _lock = files::wait_for_lock(&path)?;
        let mut stored = Self::read(&path).map_err(Failure::input)?;
        if !change(&mut stored.0) {
            return Ok((path, false));
        }
        let keys: BTreeMap<&str, &str> =
            stored.0.iter().map(|(name, key)| (name.as_str(), key.expose())).collect();
        let text = format!("{:#}\n", json!({ "version": 1, "keys": keys }));
        files::replace(&path, text.as_bytes()).map_err(fail)?;
        Ok((path, true))
    }
}

/// Checks a key that the user has typed or piped in.
pub(crate) fn parse_key(text: &str) -> Result<Secret, Failure> {
    let key = text.trim();
    let is_sendable = key.bytes().all(|byte| byte.is_ascii_graphic());
    match key.len() {
        0 => Err(Failure::input("the key is empty")),
        length if length > MAX_KEY_BYTES => Err(Failure::input("the key is too long")),
        _ if !is_sendable => Err(Failure::input_with_hint(
            "the key contains spaces, line breaks or characters beyond ASCII",
            "give the key alone, without quotes or the name of its variable",
        )),
        _ => Ok(Secret::new(key)),
    }
}
