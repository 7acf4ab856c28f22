//! Tools that read and change files of one folder and its subfolders only.

mod diff;
pub(in crate::command::run) mod edit;
#[cfg(test)]
mod edit_tests;
pub(super) mod list;
pub(super) mod read;
pub(super) mod search;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Component, Path, PathBuf};

use agentloop::agent::ToolError;

use crate::failure::Failure;

/// The folder that the tools may use.
#[derive(Clone, Debug)]
pub(in crate::command::run) struct Root(PathBuf);

impl Root {
    /// Opens the folder. Fails if it does not exist or is not a folder.
    pub(in crate::command::run) fn open(folder: &Path) -> Result<Self, Failure> {
        let fail = |why: &str| Failure::input(format!("--root {}: {why}", folder.display()));
        let root = folder.canonicalize().map_err(|error| fail(&error.to_string()))?;
        if root.is_dir() { Ok(Self(root)) } else { Err(fail("this is not a folder")) }
    }

    /// Resolves `path` and all symbolic links. Fails if the result is outside the folder.
    ///
    /// A path that leaves the folder is refused before the file system is read, so the error does not reveal whether such a file
    /// exists. A race with a process that changes links in the folder is not a threat, because that process can read the files itself.
    fn find(&self, path: &str) -> Result<PathBuf, ToolError> {
        let within = self.check_within(path)?;
        let found =
            self.0.join(within).canonicalize().map_err(|error| describe_io_error(path, &error))?;
        if found.starts_with(&self.0) { Ok(found) } else { Err(is_outside(path)) }
    }

    /// Resolves the path of a file that does not exist yet. The folders of the path that exist must be in the folder.
    fn find_new(&self, path: &str) -> Result<PathBuf, ToolError> {
        let within = self.check_within(path)?;
        let is_plain = |component| matches!(component, Component::Normal(_) | Component::CurDir);
        if !within.components().all(is_plain) || within.file_name().is_none() {
            return Err(ToolError::new(format!("`{path}` cannot be the path of a new file")));
        }
        let place = self.0.join(within);
        if place.symlink_metadata().is_ok() {
            let message = format!("`{path}` exists; give the passage to replace in old_text");
            return Err(ToolError::new(message));
        }
        let existing = place.ancestors().skip(1).find(|folder| folder.symlink_metadata().is_ok());
        let resolved = existing.and_then(|folder| folder.canonicalize().ok());
        if resolved.is_some_and(|folder| folder.starts_with(&self.0) && folder.is_dir()) {
            Ok(place)
        } else {
            Err(is_outside(path))
        }
    }

    /// Returns the path relative to the folder. Fails if its text leads out of the folder.
    fn check_within<'a>(&self, path: &'a str) -> Result<&'a Path, ToolError> {
        let requested = Path::new(path);
        let within = if requested.is_absolute() {
            requested.strip_prefix(&self.0).map_err(|_| is_outside(path))?
        } else {
            requested
        };
        let mut depth = 0_usize;
        for component in within.components() {
            depth = match component {
                Component::CurDir => depth,
                Component::Normal(_) => depth + 1,
                Component::ParentDir => depth.checked_sub(1).ok_or_else(|| is_outside(path))?,
                Component::RootDir | Component::Prefix(_) => return Err(is_outside(path)),
            };
        }
        Ok(within)
    }

    /// Returns whether the target of a link is outside the folder or does not exist.
    fn is_outside(&self, link: &Path) -> bool {
        !link.canonicalize().is_ok_and(|place| place.starts_with(&self.0))
    }
}

fn is_outside(path: &str) -> ToolError {
    ToolError::new(format!("`{path}` is outside the folder"))
}

fn describe_io_error(path: &str, error: &io::Error) -> ToolError {
    ToolError::new(match error.kind() {
        io::ErrorKind::PermissionDenied => format!("permission to read `{path}` is denied"),
        _ => format!("`{path}` does not exist"),
    })
}

/// Runs work that waits for a disk on a thread of its own.
async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await?
}
