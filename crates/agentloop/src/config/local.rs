//! The settings of models that llama.cpp's server runs on this machine.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::expand_home;

/// The table `[local]`: models that `llama-server` runs on this machine. The command reads it; a program uses the provider
/// [`llamacpp`](crate::Provider::llamacpp).
///
/// ```
/// let config = agentloop::Config::parse("[local]\nfolders = ['/srv/models']\noptions = ['--ctx-size', '8192']")?;
/// let local = config.local.unwrap_or_default();
/// assert_eq!((local.folders.len(), local.options.len(), local.program), (1, 2, None));
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct LocalConfig {
    /// The program `llama-server`. A relative path is in the folder of the file. Default: the first in `PATH`.
    pub program: Option<PathBuf>,
    /// Folders with GGUF files. A relative path is in the folder of the file. Default: none.
    pub folders: Vec<PathBuf>,
    /// More options of `llama-server`, for example `--ctx-size`, `--threads` or `--n-gpu-layers`. Default: none.
    pub options: Vec<String>,
}

/// Makes the paths relative to the folder of the file.
pub(super) fn resolve_paths(table: &mut Map<String, Value>, folder: &Path) {
    let Some(local) = table.get_mut("local").and_then(Value::as_object_mut) else { return };
    let paths = local.iter_mut().filter(|(key, _)| *key != "options");
    for path in paths.flat_map(|(_, value)| match value {
        Value::Array(paths) => paths.iter_mut().collect(),
        path => vec![path],
    }) {
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
    fn paths_are_relative_to_the_file_and_need_trust() {
        let text = "[local]\nprogram = 'bin/llama-server'\nfolders = ['models', '/srv']\noptions = ['--threads', '3']";
        let (config, restricted) =
            ConfigReader::new().trusted(text, "/work").unwrap().finish().unwrap();
        let local = config.local.unwrap();
        assert_eq!(local.program, Some(PathBuf::from("/work/bin/llama-server")));
        assert_eq!(local.folders, [PathBuf::from("/work/models"), PathBuf::from("/srv")]);
        assert_eq!(local.options, ["--threads", "3"]);
        assert!(restricted.is_empty());
        let (config, restricted) =
            ConfigReader::new().untrusted(text, "/work").unwrap().finish().unwrap();
        assert_eq!(config.local, None);
        assert_eq!(restricted[0].name, "local");
    }
}
