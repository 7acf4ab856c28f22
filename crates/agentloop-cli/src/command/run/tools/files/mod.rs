//! Files below one folder, and no others.

pub(super) mod list;
pub(super) mod read;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Component, Path, PathBuf};

use agentloop::agent::ToolError;

use crate::failure::Failure;

/// The folder that files are read from.
#[derive(Clone, Debug)]
pub(super) struct Root(PathBuf);

impl Root {
    /// The folder, if it is one.
    pub(super) fn open(folder: &Path) -> Result<Self, Failure> {
        let wrong = |why: &str| Failure::input(format!("--root {}: {why}", folder.display()));
        let root = folder.canonicalize().map_err(|error| wrong(&error.to_string()))?;
        match root.is_dir() {
            true => Ok(Self(root)),
            false => Err(wrong("it is not a folder")),
        }
    }

    /// Where `path` really is, if that is within the folder.
    ///
    /// What leads out is refused before anything is looked at, so that nothing is learnt of what is outside; links are
    /// followed, and then what they lead to must be within. Whoever can change the folder meanwhile could read the
    /// other files as well.
    fn find(&self, path: &str) -> Result<PathBuf, ToolError> {
        let outside = || ToolError::new(format!("`{path}` is outside of the folder"));
        let asked = Path::new(path);
        let within = match asked.is_absolute() {
            true => asked.strip_prefix(&self.0).map_err(|_| outside())?,
            false => asked,
        };
        let mut depth = 0_usize;
        for component in within.components() {
            depth = match component {
                Component::CurDir => depth,
                Component::Normal(_) => depth + 1,
                Component::ParentDir => depth.checked_sub(1).ok_or_else(outside)?,
                Component::RootDir | Component::Prefix(_) => return Err(outside()),
            };
        }
        let found = self.0.join(within).canonicalize().map_err(|error| missing(path, &error))?;
        match found.starts_with(&self.0) {
            true => Ok(found),
            false => Err(outside()),
        }
    }

    /// Whether a link leads out of the folder, or nowhere.
    fn leads_out(&self, link: &Path) -> bool {
        !link.canonicalize().is_ok_and(|place| place.starts_with(&self.0))
    }
}

fn missing(path: &str, error: &io::Error) -> ToolError {
    ToolError::new(match error.kind() {
        io::ErrorKind::PermissionDenied => format!("`{path}` may not be read"),
        _ => format!("there is no `{path}`"),
    })
}

/// Runs what waits for a disk where it holds nothing else up.
async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await?
}
