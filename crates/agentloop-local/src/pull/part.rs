//! The file of a download that is not complete.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use agentloop::{Error, ErrorKind, Result};
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use super::on_disk;

/// How much room is left on the disk beside the file.
const SPARE_BYTES: u64 = 64 << 20;

/// What is known of the file of which a part is there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    pub(super) url: String,
    pub(super) etag: Option<String>,
    pub(super) total: Option<u64>,
}

/// A file that grows, its digest, and a second file that states where it comes from.
pub(super) struct Part {
    pub(super) path: PathBuf,
    notes: PathBuf,
    file: File,
    digest: Context,
    pub(super) bytes: u64,
    pub(super) origin: Origin,
}

impl std::fmt::Debug for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut f = f.debug_struct("Part");
        f.field("path", &self.path).field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Part {
    /// Opens the part of a file, and reads what is there of it.
    pub(super) fn open(target: &Path) -> Result<Self> {
        let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let path = target.with_file_name(format!(".{name}.part"));
        let notes = target.with_file_name(format!(".{name}.part.json"));
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        let file = options.open(&path).map_err(|error| on_disk(&path, &error))?;
        lock(&file, target)?;
        let origin = std::fs::read(&notes).ok();
        let origin = origin.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let origin: Origin = origin.unwrap_or_default();
        let mut part = Self { path, notes, file, digest: Context::new(&SHA256), bytes: 0, origin };
        if part.origin == Origin::default() {
            part.restart(Origin::default())?;
        }
        part.read()?;
        Ok(part)
    }

    /// Adds the bytes of the file to the digest.
    fn read(&mut self) -> Result<()> {
        let mut buffer = vec![0; 1 << 20];
        loop {
            let count = self.file.read(&mut buffer).map_err(|error| on_disk(&self.path, &error))?;
            if count == 0 {
                return Ok(());
            }
            self.digest.update(&buffer[..count]);
            self.bytes += count as u64;
        }
    }

    /// Removes what is there, and notes where the rest will come from.
    pub(super) fn restart(&mut self, origin: Origin) -> Result<()> {
        self.file.set_len(0).map_err(|error| on_disk(&self.path, &error))?;
        self.digest = Context::new(&SHA256);
        self.bytes = 0;
        self.note(origin)
    }

    pub(super) fn note(&mut self, origin: Origin) -> Result<()> {
        let text = serde_json::to_vec(&origin).unwrap_or_default();
        std::fs::write(&self.notes, text).map_err(|error| on_disk(&self.notes, &error))?;
        self.origin = origin;
        Ok(())
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|error| on_disk(&self.path, &error))?;
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Returns the SHA-256 of what is there, in hexadecimal digits.
    pub(super) fn sha256(&self) -> String {
        let digest = self.digest.clone().finish();
        digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Gives the file its name.
    pub(super) fn rename(self, target: &Path) -> Result<()> {
        self.file.sync_all().map_err(|error| on_disk(&self.path, &error))?;
        std::fs::rename(&self.path, target).map_err(|error| on_disk(target, &error))?;
        drop(std::fs::remove_file(&self.notes));
        Ok(())
    }

    /// Removes the files.
    pub(super) fn remove(self) {
        drop(std::fs::remove_file(&self.path));
        drop(std::fs::remove_file(&self.notes));
    }

    /// Checks that the disk has room for the rest of a file with so many bytes.
    pub(super) fn check_room(&self, total: u64) -> Result<()> {
        let needed = total.saturating_sub(self.bytes).saturating_add(SPARE_BYTES);
        match free_bytes(&self.path) {
            Some(free) if free < needed => Err(Error::new(
                ErrorKind::TooLarge,
                format!("the disk has {free} free bytes, but the download needs {needed}"),
            )
            .with_hint("free some space, or set another folder with AGENTLOOP_MODELS")),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    stat.f_bavail.checked_mul(stat.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Keeps two processes from writing to the same file.
#[cfg(unix)]
fn lock(file: &File, target: &Path) -> Result<()> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        let message = format!("another process is downloading {}", target.display());
        Error::new(ErrorKind::Conflict, message).with_retryable(false)
    })
}

#[cfg(not(unix))]
fn lock(_: &File, _: &Path) -> Result<()> {
    Ok(())
}
