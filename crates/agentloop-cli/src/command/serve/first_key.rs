//! The key that the gateway creates when it starts for the first time.

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use agentloop::{GatewayConfig, Secret};
use agentloop_gateway::{KeyRing, new_key};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::store;

/// The file with the hashes of keys, in the user's data folder.
const FILE: &str = "gateway-keys.json";

/// The largest such file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Keys that are not in the configuration.
pub(super) struct FirstKey {
    pub(super) keys: KeyRing,
    /// The key that was created now.
    pub(super) created: Option<Secret>,
}

#[derive(Default, Serialize, Deserialize)]
struct KeyFile {
    keys: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    sha256: String,
}

/// Reads the keys of the file. If there is no key at all, creates one.
pub(super) fn load(config: &GatewayConfig, listen: SocketAddr) -> Result<FirstKey, Failure> {
    let Some(path) = store::find_file().map(|file| file.with_file_name(FILE)) else {
        return Ok(FirstKey { keys: KeyRing::default(), created: None });
    };
    let mut file = read(&path)?;
    let mut keys = KeyRing::default();
    for entry in &file.keys {
        if !keys.add_hash(&entry.name, &entry.sha256) {
            return Err(Failure::file(&path, format!("`{}` is not a SHA-256", entry.sha256)));
        }
    }
    if !config.keys.is_empty() || !keys.is_empty() {
        return Ok(FirstKey { keys, created: None });
    }
    if !listen.ip().is_loopback() {
        return Err(Failure::input_with_hint(
            format!(
                "the gateway does not listen on {listen} without an API key, because other machines can reach it"
            ),
            "create one with `agentloop serve --new-key NAME`, and add it to agentloop.toml",
        ));
    }
    let (key, sha256) = new_key()?;
    keys.add_hash("first", &sha256);
    file.keys.push(Entry { name: "first".to_owned(), sha256 });
    write(&path, &file).map_err(|error| Failure::file(&path, error))?;
    Ok(FirstKey { keys, created: Some(key) })
}

fn read(path: &Path) -> Result<KeyFile, Failure> {
    let text = match std::fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(KeyFile::default()),
        Ok(metadata) if metadata.len() > MAX_FILE_BYTES => {
            return Err(Failure::file(path, "the file is too large"));
        }
        _ => std::fs::read_to_string(path).map_err(|error| Failure::file(path, error))?,
    };
    serde_json::from_str(&text).map_err(|error| Failure::file(path, error))
}

/// Writes the file as a whole, readable by its owner only.
fn write(path: &Path, file: &KeyFile) -> io::Result<()> {
    let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
    std::fs::create_dir_all(&folder)?;
    let new: PathBuf = folder.join(format!(".{FILE}.{}", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let mut out = options.open(&new)?;
    out.write_all(&serde_json::to_vec_pretty(file)?)?;
    out.sync_all()?;
    std::fs::rename(&new, path)
}
