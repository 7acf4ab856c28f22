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

/// After how many bytes of a file without a known length the room on the disk is checked.
const STEP_BYTES: u64 = 16 << 20;

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
        // Another process may have completed or removed the file between opening and locking it. Writing to it would destroy a model.
        if !is_at(&file, &path) {
            return Err(in_use(target));
        }
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

    /// Adds bytes. If it is not known how many will follow, the disk must have room for some more after each [`STEP_BYTES`].
    pub(super) fn write(&mut self, bytes: &[u8], total: Option<u64>) -> Result<()> {
        let after = self.bytes + bytes.len() as u64;
        if total.is_none() && self.bytes / STEP_BYTES != after / STEP_BYTES {
            self.check_room(after.saturating_add(STEP_BYTES))?;
        }
        self.file.write_all(bytes).map_err(|error| on_disk(&self.path, &error))?;
        self.digest.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Returns the SHA-256 of what is there, in hexadecimal digits.
    pub(super) fn sha256(&self) -> String {
        digits(self.digest.clone())
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
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|_| in_use(target))
}

fn in_use(target: &Path) -> Error {
    let message = format!("another process is downloading {}", target.display());
    Error::new(ErrorKind::Conflict, message)
        .with_retryable(false)
        .with_hint("wait until it has ended, and run the command again")
}

/// Returns whether a file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    let (Ok(file), Ok(path)) = (file.metadata(), path.metadata()) else { return false };
    place(file) == place(path)
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256_of(path: &Path) -> Result<String> {
    let failed = |error: std::io::Error| {
        Error::new(ErrorKind::Other, format!("{} cannot be read: {error}", path.display()))
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut digest = Context::new(&SHA256);
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(digits(digest)),
            count => digest.update(&buffer[..count]),
        }
    }
}

fn digits(digest: Context) -> String {
    digest.finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(not(unix))]
fn lock(_: &File, _: &Path) -> Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Found by reading: a second process that opened the part before the first one renamed it, and locked it afterwards, made the
    /// complete model empty.
    #[test]
    fn a_file_that_was_renamed_or_removed_after_it_was_opened_is_not_the_part_any_more() {
        let folder = std::env::temp_dir().join(format!("agentloop-part-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (path, target) = (folder.join(".m.gguf.part"), folder.join("m.gguf"));
        let file = File::create(&path).unwrap();
        assert!(is_at(&file, &path));
        std::fs::rename(&path, &target).unwrap();
        assert!(!is_at(&file, &path));
        let other = File::create(&path).unwrap();
        assert!(is_at(&other, &path) && !is_at(&file, &path));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
