//! The settings of models that run in the process.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::expand_home;

/// The table `[local]`: models that run in the process. The command reads it; a program uses the crate `agentloop-local`.
///
/// ```
/// let config = agentloop::Config::parse("[local]\nfolders = ['/srv/models']\ncontext = 8192")?;
/// let local = config.local.unwrap_or_default();
/// assert_eq!((local.folders.len(), local.context, local.threads), (1, Some(8_192), None));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LocalConfig {
    /// Folders with GGUF files, in which models are found after your own folder. A relative path is in the folder of the file. Default: none.
    pub folders: Vec<PathBuf>,
    /// How many tokens a chat may have, prompt and response together. Default: 4096.
    pub context: Option<u32>,
    /// How many chats a model works on at once, from 1 to 16. Default: 2.
    pub parallel: Option<u32>,
    /// How many threads a model uses. Default: half of the logical processors, at most 8.
    pub threads: Option<u32>,
    /// How many models are loaded at once. Default: 2.
    pub max_models: Option<u32>,
}

/// Makes the folders relative to that of the file.
pub(super) fn resolve_paths(table: &mut Map<String, Value>, folder: &Path) {
    let folders = table.get_mut("local").and_then(|local| local.get_mut("folders"));
    for path in folders.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(text) = path.as_str() {
            let whole = folder.join(expand_home(text.into()));
            *path = Value::String(whole.to_string_lossy().into_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ConfigReader;
    use super::*;

    #[test]
    fn folders_are_relative_to_the_file_and_need_trust() {
        let text = "[local]\nfolders = ['models', '/srv']\nthreads = 3";
        let (config, restricted) =
            ConfigReader::new().trusted(text, "/work").unwrap().finish().unwrap();
        let local = config.local.unwrap();
        assert_eq!(local.folders, [PathBuf::from("/work/models"), PathBuf::from("/srv")]);
        assert!(restricted.is_empty());
        let (config, restricted) =
            ConfigReader::new().untrusted(text, "/work").unwrap().finish().unwrap();
        assert_eq!(config.local, None);
        assert_eq!(restricted[0].name, "local");
    }
}
