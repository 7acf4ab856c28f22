//! The API keys of clients.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use agentloop::{Error, ErrorKind, GatewayKey, Result, Secret};
use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};
use ring::rand::{SecureRandom, SystemRandom};

use crate::store::KeyRecord;

/// What every key begins with.
const PREFIX: &str = "al-";

/// The SHA-256 of a key.
pub(crate) type Hash = [u8; SHA256_OUTPUT_LEN];

impl KeyRecord {
    /// Returns a key of the configuration, without its hash.
    ///
    /// # Errors
    ///
    /// When a setting cannot be used. Names of the configuration may be any text.
    pub fn from_config(name: &str, key: &GatewayKey) -> Result<Self> {
        let expires = key.expires.as_deref().map(|day| {
            end_of_day(day).ok_or_else(|| {
                let message = format!("`expires` is not a day such as 2027-12-31: `{day}`");
                Error::new(ErrorKind::Config, message)
            })
        });
        let key = Self {
            name: name.to_owned(),
            models: key.models.clone(),
            strict: key.strict,
            expires: expires.transpose()?,
            team: key.team.clone(),
            tags: key.tags.clone(),
            limits: key.into(),
            ..Self::default()
        };
        key.check_settings()?;
        Ok(key)
    }

    /// Returns whether the key may use a model of this name.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let Some(patterns) = &self.models else { return true };
        patterns.iter().any(|pattern| matches(pattern, name))
    }
}

/// Returns whether a name fits a pattern, in which `*` stands for any text.
fn matches(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pattern.rsplit('*').next().filter(|_| pattern.contains('*')) else {
        return rest.is_empty();
    };
    let middle: Vec<&str> = pieces.collect();
    for piece in &middle[..middle.len() - 1] {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The keys of all clients.
///
/// ```
/// use agentloop_gateway::{KeyRing, new_key};
///
/// let (key, hash) = new_key()?;
/// let mut keys = KeyRing::default();
/// assert!(keys.add_hash("build-server", &hash));
/// assert!(!keys.is_empty());
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct KeyRing(HashMap<Hash, Arc<KeyRecord>>);

impl KeyRing {
    /// Reads the keys of the configuration. `variable` returns the value of an environment variable.
    ///
    /// # Errors
    ///
    /// When a key has no value, or two keys have the same.
    pub fn from_config<'a>(
        keys: impl IntoIterator<Item = (&'a String, &'a GatewayKey)>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let mut ring = Self::default();
        for (name, key) in keys {
            let wrong = |what: String| {
                Error::new(ErrorKind::Config, format!("gateway.keys.{name}: {what}"))
            };
            let hash = match (&key.sha256, &key.key_env) {
                (Some(hex), None) => read_hash(hex)
                    .ok_or_else(|| wrong("`sha256` must have 64 hexadecimal digits".to_owned()))?,
                (None, Some(name)) => match variable(name).filter(|value| !value.trim().is_empty())
                {
                    Some(value) => hash(value.trim()),
                    None => {
                        return Err(wrong(format!("the environment variable {name} is not set"))
                            .with_hint("set it before the gateway starts, or use `sha256`"));
                    }
                },
                _ => {
                    return Err(wrong("set either `sha256` or `key_env`".to_owned()).with_hint(
                        "`agentloop serve --new-key NAME` makes a key and prints its hash",
                    ));
                }
            };
            let key = KeyRecord::from_config(name, key).map_err(|error| {
                let failed = wrong(error.message().to_owned());
                match error.hint() {
                    Some(hint) => failed.with_hint(hint),
                    None => failed,
                }
            })?;
            ring.add(hash, key)
                .map_err(|other| wrong(format!("it is the same key as `{other}`")))?;
        }
        Ok(ring)
    }

    /// Adds a key by its SHA-256 in hexadecimal digits. Returns whether it is one.
    pub fn add_hash(&mut self, name: &str, hex: &str) -> bool {
        let key = KeyRecord { name: name.to_owned(), ..KeyRecord::default() };
        read_hash(hex).is_some_and(|hash| self.add(hash, key).is_ok())
    }

    /// Adds a key of the store. One whose hash is not a hash cannot be used.
    pub(crate) fn add_record(&mut self, record: &KeyRecord) {
        if let Some(hash) = read_hash(&record.sha256) {
            // The store has each hash once.
            let _ = self.add(hash, record.clone());
        }
    }

    /// Returns the keys.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Arc<KeyRecord>> {
        self.0.values()
    }

    fn add(&mut self, hash: Hash, key: KeyRecord) -> std::result::Result<(), String> {
        match self.0.get(&hash) {
            Some(other) => Err(other.name.clone()),
            None => {
                self.0.insert(hash, Arc::new(key));
                Ok(())
            }
        }
    }

    /// Adds the keys of another ring. Keys that are known already stay.
    pub(crate) fn extend(&mut self, more: Self) {
        for (hash, key) in more.0 {
            self.0.entry(hash).or_insert(key);
        }
    }

    /// Returns whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a key has this name.
    pub(crate) fn has_name(&self, name: &str) -> bool {
        self.0.values().any(|key| key.name == name)
    }

    /// Returns the key with this hash, if it is valid now (Unix time).
    ///
    /// The table is searched by the hash of the value, so the time that it takes does not depend on how much of a key was
    /// guessed.
    pub(crate) fn find_hash(&self, hash: &Hash, now: u64) -> Option<&Arc<KeyRecord>> {
        let key = self.0.get(hash)?;
        key.expires.is_none_or(|end| now < end).then_some(key)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KeyRing").field(&self.0.len()).finish()
    }
}

/// Creates a new key. Returns it with its SHA-256 in hexadecimal digits.
///
/// # Errors
///
/// When the system has no random numbers.
///
/// ```
/// let (key, hash) = agentloop_gateway::new_key()?;
/// assert!(key.expose().starts_with("al-") && hash.len() == 64);
/// # Ok::<(), agentloop::Error>(())
/// ```
pub fn new_key() -> Result<(Secret, String)> {
    let mut bytes = [0; 24];
    SystemRandom::new()
        .fill(&mut bytes)
        .map_err(|_| Error::new(ErrorKind::Other, "the system has no random numbers"))?;
    let key = format!("{PREFIX}{}", hex(&bytes));
    let hash = hex(&hash(&key));
    Ok((Secret::new(key), hash))
}

/// Returns the hash of a key.
pub(crate) fn hash(value: &str) -> Hash {
    let mut hash = [0; SHA256_OUTPUT_LEN];
    hash.copy_from_slice(digest(&SHA256, value.as_bytes()).as_ref());
    hash
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    push_hex(&mut text, bytes);
    text
}

/// Appends bytes as hexadecimal digits.
pub(crate) fn push_hex(text: &mut String, bytes: &[u8]) {
    let digit = |value: u8| char::from(if value < 10 { b'0' + value } else { b'a' + value - 10 });
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
}

fn read_hash(hex: &str) -> Option<Hash> {
    let digits = hex.trim().as_bytes();
    let mut hash = [0; SHA256_OUTPUT_LEN];
    if digits.len() != 2 * hash.len() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(digits.chunks_exact(2)) {
        let text = std::str::from_utf8(pair).ok().filter(|text| !text.starts_with('+'))?;
        *byte = u8::from_str_radix(text, 16).ok()?;
    }
    Some(hash)
}

/// Returns the first second after a day, as Unix time.
pub(crate) fn end_of_day(day: &str) -> Option<u64> {
    // A text with a time, or without separators, is not a day here.
    let is_day = day.len() == 10 && day.bytes().filter(|byte| *byte == b'-').count() == 2;
    let date: jiff::civil::Date = day.parse().ok().filter(|_| is_day)?;
    let begin = date.duration_since(jiff::civil::date(1970, 1, 1)).as_secs();
    u64::try_from(begin).ok().map(|begin| begin + 86_400)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn patterns_fit_whole_names() {
        for (pattern, name, fits) in [
            ("fast", "fast", true),
            ("fast", "faster", false),
            ("openai/*", "openai/gpt-5", true),
            ("openai/*", "azure/openai/x", false),
            ("*", "", true),
            ("*/gpt-*-mini", "openai/gpt-5-mini", true),
            ("*/gpt-*-mini", "openai/gpt-mini", false),
            ("a*a", "a", false),
            ("**", "x", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_value_until_it_expires() {
        let (key, hash) = new_key().unwrap();
        let mut table = GatewayKey::default();
        table.sha256 = Some(hash);
        table.expires = Some("2026-11-16".to_owned());
        let keys = BTreeMap::from([("ci".to_owned(), table)]);
        let ring = KeyRing::from_config(&keys, |_| None).unwrap();
        let end = 1_794_873_600;
        let find = |value: &str, now: u64| ring.find_hash(&super::hash(value), now);
        assert_eq!(find(key.expose(), end - 1).unwrap().name, "ci");
        assert!(find(key.expose(), end).is_none());
        assert!(find("al-other", 0).is_none());
        assert!(!format!("{ring:?}").contains(key.expose()));
    }

    #[test]
    fn mistakes_in_keys_are_named() {
        let read = |table: GatewayKey| {
            let keys = BTreeMap::from([("ci".to_owned(), table)]);
            KeyRing::from_config(&keys, |_| None).unwrap_err().to_string()
        };
        assert!(read(GatewayKey::default()).contains("gateway.keys.ci: set either"));
        let mut table = GatewayKey::default();
        table.key_env = Some("NOT_SET".to_owned());
        assert!(read(table.clone()).contains("NOT_SET is not set"));
        table.key_env = None;
        table.sha256 = Some("abc".to_owned());
        assert!(read(table.clone()).contains("64 hexadecimal digits"));
        table.sha256 = Some("0".repeat(64));
        table.tags = vec!["a tag".to_owned()];
        assert!(read(table).contains("the tags cannot be used"));
    }

    #[test]
    fn days_are_read_strictly() {
        assert_eq!(end_of_day("1970-01-01"), Some(86_400));
        assert_eq!(end_of_day("2024-02-29"), Some(1_709_251_200));
        assert_eq!(end_of_day("9999-12-31"), Some(253_402_300_800));
        for day in [
            "2023-02-29",
            "2026-13-01",
            "2026-00-01",
            "26-01-01",
            "2026-1-1",
            "2026-02-31",
            "20260101",
            "2026-01-01T00:00",
            "+026-01-01",
            "",
            "2026-01-01-01",
            "1969-12-31",
        ] {
            assert_eq!(end_of_day(day), None, "{day}");
        }
    }
}
