//! Several configuration files as one.

use std::path::Path;

use serde_json::{Map, Value};

use super::trust::{RestrictedSetting, restrict};
use super::{Config, File, gateway, local, tools};
use crate::error::{Error, ErrorKind, Result};
use crate::settings::Document;

/// Reads configuration files that go over each other: what a later file sets replaces what an earlier one sets, setting by
/// setting.
///
/// ```
/// let (config, restricted) = agentloop::ConfigReader::new()
///     .trusted("timeouts.total = 60", "")?
///     .untrusted("default_model = 'groq/x'\n[providers.groq]\nbase_url = 'https://evil.example'", "")?
///     .finish()?;
/// assert_eq!(config.default_model.as_deref(), Some("groq/x"));
/// assert_eq!(restricted[0].name, "providers.groq.base_url");
/// assert!(config.providers.is_empty());
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ConfigReader {
    pub(super) table: Map<String, Value>,
    restricted: Vec<RestrictedSetting>,
}

/// Settings that exclude each other: the one that a later file sets replaces both.
const EXCLUSIVE: [(&str, &str); 2] = [("key_env", "key_file"), ("max_bytes", "redis")];

impl ConfigReader {
    /// Starts without any settings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the text of a file whose settings all count. Files that it names by a relative path are in `folder`.
    ///
    /// # Errors
    ///
    /// When the text is not TOML or has a setting that is not known. The message names the line.
    pub fn trusted(mut self, text: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let table = read(text, folder.as_ref())?;
        tools::remove_replaced(&mut self.table, &table);
        merge(&mut self.table, table);
        Ok(self)
    }

    /// Adds the text of a file that the user has not trusted. Settings that could direct a key, a file, an environment
    /// variable or a prompt elsewhere are left out, and returned by [`finish`](Self::finish).
    ///
    /// A limit on costs that is set already stays.
    ///
    /// # Errors
    ///
    /// When the text is not TOML or has a setting that is not known. The message names the line.
    pub fn untrusted(mut self, text: &str, folder: impl AsRef<Path>) -> Result<Self> {
        let mut table = read(text, folder.as_ref())?;
        self.restricted.extend(restrict(&mut table));
        remove_providers_without_url(&mut table, &self.table);
        let is_limited = self.table.get("cost").is_some_and(|cost| cost.get("limit").is_some());
        if is_limited && let Some(cost) = table.remove("cost") {
            self.restricted.push(RestrictedSetting {
                name: "cost".to_owned(),
                value: serde_json::to_string(&cost).unwrap_or_default(),
                effect: "changes the limit on costs that you have set",
            });
        }
        tools::remove_replaced(&mut self.table, &table);
        merge(&mut self.table, table);
        Ok(self)
    }

    /// Returns the configuration, and the settings that were left out.
    ///
    /// # Errors
    ///
    /// When the value of a setting cannot be used.
    pub fn finish(self) -> Result<(Config, Vec<RestrictedSetting>)> {
        let file: File = serde_json::from_value(Value::Object(self.table))
            .map_err(|error| Error::new(ErrorKind::Config, error.to_string()))?;
        Ok((file.config()?, self.restricted))
    }

    /// Returns the settings of `text` that need trust.
    ///
    /// # Errors
    ///
    /// When the text is not TOML or has a setting that is not known.
    pub fn restricted(text: &str) -> Result<Vec<RestrictedSetting>> {
        Ok(restrict(&mut read(text, Path::new(""))?))
    }
}

/// Reads a file for itself first, so its mistakes are reported with their line.
fn read(text: &str, folder: &Path) -> Result<Map<String, Value>> {
    let document = Document::parse(text)?;
    let file: File = document.read()?;
    let mut table = document.values;
    if let Some(path) = file.model_data {
        let path = folder.join(path).to_string_lossy().into_owned();
        table.insert("model_data".to_owned(), Value::String(path));
    }
    tools::resolve_paths(&mut table, folder);
    gateway::resolve_paths(&mut table, folder);
    local::resolve_paths(&mut table, folder);
    Ok(table)
}

/// Removes a provider that is not built in and has lost its base URL: the rest of its table would only be an error.
fn remove_providers_without_url(table: &mut Map<String, Value>, base: &Map<String, Value>) {
    let Some(Value::Object(providers)) = table.get_mut("providers") else { return };
    let known = |name: &str| {
        let set_before = base.get("providers").and_then(|table| table.get(name)).is_some();
        set_before || crate::provider::Provider::builtin(name).is_some()
    };
    providers.retain(|name, _| known(name));
    if providers.is_empty() {
        table.remove("providers");
    }
}

fn merge(base: &mut Map<String, Value>, over: Map<String, Value>) {
    for (name, value) in over {
        for (one, other) in EXCLUSIVE {
            if name == one {
                base.remove(other);
            } else if name == other {
                base.remove(one);
            }
        }
        match (base.get_mut(&name), value) {
            (Some(Value::Object(inner)), Value::Object(over)) => merge(inner, over),
            (_, value) => {
                base.insert(name, value);
            }
        }
    }
}
