//! What the user has decided about files: `agentloop/trusted.json` in the user's state folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::files::{self, Lock};

/// The form of the file.
const VERSION: u32 = 1;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// How often, and how long, another process that changes the file is waited for.
const WAITS: u32 = 50;
const WAIT: Duration = Duration::from_millis(20);

/// What the user has decided about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Trusted,
    /// It is not asked about again.
    Refused,
}

/// A file, as it was decided about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Entry {
    sha256: String,
    pub(crate) verdict: Verdict,
}

/// What the user has decided about files, by their path without links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Store {
    version: u32,
    pub(crate) files: BTreeMap<String, Entry>,
}

impl Store {
    /// Reads what was decided. Without a file, nothing was.
    ///
    /// Returns why it cannot be used: then nothing is trusted.
    pub(crate) fn load() -> Result<Self, String> {
        match place() {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    fn read(path: &Path) -> Result<Self, String> {
        let wrong = |why: &str| format!("{}: {why}; no file is trusted", path.display());
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(wrong(&error.to_string())),
        };
        if !is_private(&file) {
            return Err(wrong("other users may write to it"));
        }
        let mut text = String::new();
        file.take(MAX_BYTES)
            .read_to_string(&mut text)
            .map_err(|error| wrong(&error.to_string()))?;
        let store: Self = serde_json::from_str(&text)
            .map_err(|error| wrong(&format!("it cannot be read ({error})")))?;
        match store.version {
            VERSION => Ok(store),
            other => {
                Err(wrong(&format!("it has the form {other}, and this version knows {VERSION}")))
            }
        }
    }

    /// Changes what was decided. Two processes that do so at once do not undo each other.
    pub(crate) fn change<T>(change: impl FnOnce(&mut Self) -> T) -> Result<T, Failure> {
        let Some(path) = place() else {
            return Err(Failure::input_with_hint(
                "there is no folder to remember this in",
                "set HOME or XDG_STATE_HOME",
            ));
        };
        let wrong = |error: std::io::Error| Failure::input(format!("{}: {error}", path.display()));
        if let Some(folder) = path.parent() {
            create_folder(folder).map_err(wrong)?;
        }
        let _lock = (0..WAITS)
            .find_map(|_| match Lock::take(&path) {
                Ok(None) => {
                    std::thread::sleep(WAIT);
                    None
                }
                taken => Some(taken),
            })
            .unwrap_or(Ok(None))
            .map_err(wrong)?
            .ok_or_else(|| Failure::input(format!("{} is in use", path.display())))?;
        let mut store = Self::read(&path).map_err(Failure::input)?;
        store.version = VERSION;
        let done = change(&mut store);
        let bytes = serde_json::to_vec_pretty(&store).map_err(|error| wrong(error.into()))?;
        files::replace(&path, &bytes).map_err(wrong)?;
        Ok(done)
    }

    /// Returns what was decided about a file with this content.
    pub(crate) fn verdict(&self, path: &Path, sha256: &str) -> Option<Verdict> {
        let entry = self.files.get(path.to_str()?)?;
        (entry.sha256 == sha256).then_some(entry.verdict)
    }

    pub(crate) fn insert(
        &mut self,
        path: &Path,
        sha256: &str,
        verdict: Verdict,
    ) -> Result<(), Failure> {
        let Some(name) = path.to_str() else {
            return Err(Failure::input(format!("{}: the name is not UTF-8", path.display())));
        };
        let entry = Entry { sha256: sha256.to_owned(), verdict };
        self.files.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// `agentloop/trusted.json` in the user's state folder.
fn place() -> Option<PathBuf> {
    let folder = |variable: &str, rest: &str| {
        // A relative path would be in a folder of someone else.
        let folder = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute())?;
        Some(folder.join(rest))
    };
    folder("XDG_STATE_HOME", "agentloop/trusted.json")
        .or_else(|| folder("HOME", ".local/state/agentloop/trusted.json"))
}

fn create_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(unix)]
fn is_private(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let me = rustix::process::geteuid().as_raw();
    file.metadata()
        .is_ok_and(|about| (about.uid() == me || about.uid() == 0) && about.mode() & 0o022 == 0)
}

#[cfg(not(unix))]
fn is_private(_: &File) -> bool {
    true
}
