//! The user's decisions about configuration files, stored in `agentloop/trusted.json` in the user's state folder.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files;

/// The version of the file format.
const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// The user's decision about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Trusted,
    /// The user is not asked about this file again.
    Refused,
}

/// A decision and the content that it is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    sha256: String,
    pub(crate) verdict: Verdict,
}

/// All decisions, by the canonical path of the file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Store {
    version: u32,
    pub(crate) files: BTreeMap<String, Entry>,
}

impl Store {
    /// Reads the stored decisions. If there is no file, there are no decisions.
    ///
    /// Returns an error message if the file cannot be used. In that case no file is trusted.
    pub(crate) fn load() -> Result<Self, String> {
        match store_path() {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, String> {
        let fail =
            |why: &str| format!("{}: {why}, so no configuration file is trusted", path.display());
        let file = match files::open_regular(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(fail(&error.to_string())),
        };
        if !files::is_mine(&file, 0o022) {
            return Err(fail("other users may write to this file"));
        }
        let mut text = String::new();
        file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| fail(&error.to_string()))?;
        let store: Self = serde_json::from_str(&text)
            .map_err(|error| fail(&format!("the file is not valid ({error})")))?;
        match store.version {
            VERSION => Ok(store),
            other => Err(fail(&format!(
                "the file has format version {other}, but only version {VERSION} is supported"
            ))),
        }
    }

    /// Changes the stored decisions. A lock keeps concurrent processes from overwriting each other's changes.
    pub(crate) fn change<T>(change: impl FnOnce(&mut Self) -> T) -> Result<T, Failure> {
        let Some(path) = store_path() else {
            return Err(Failure::input_with_hint(
                "cannot store the decision: no state folder is known",
                "set HOME or XDG_STATE_HOME to an absolute path",
            ));
        };
        let fail = |error: std::io::Error| Failure::file(&path, error);
        if let Some(folder) = path.parent() {
            files::create_folder(folder).map_err(fail)?;
        }
        let _lock = files::wait_for_lock(&path)?;
        let mut store = Self::read(&path).map_err(Failure::input)?;
        store.version = VERSION;
        let done = change(&mut store);
        let bytes = serde_json::to_vec_pretty(&store).map_err(|error| fail(error.into()))?;
        files::replace(&path, &bytes).map_err(fail)?;
        Ok(done)
    }

    /// Returns the decision about a file with this content.
    pub(crate) fn verdict(&self, path: &Path, sha256: &str) -> Option<Verdict> {
        let entry = self.files.get(path.to_str()?)?;
        (entry.sha256 == sha256).then_some(entry.verdict)
    }

    /// Stores a decision about a file with this content.
    pub(crate) fn insert(
        &mut self,
        path: &Path,
        sha256: &str,
        verdict: Verdict,
    ) -> Result<(), Failure> {
        let Some(name) = path.to_str() else {
            return Err(Failure::file(path, "the path is not UTF-8"));
        };
        let entry = Entry { sha256: sha256.to_owned(), verdict };
        self.files.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// Returns the path of `agentloop/trusted.json` in the user's state folder.
fn store_path() -> Option<PathBuf> {
    Some(files::user_folder("XDG_STATE_HOME", ".local/state")?.join("trusted.json"))
}
