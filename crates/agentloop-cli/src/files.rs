//! Private files: readable by their owner only, written atomically, and locked while a process uses them.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentloop::internal::files::parent_folder;
pub(crate) use agentloop::internal::files::{
    Replacement, append_suffix, create, create_folder, open_regular, read_regular,
    read_regular_text, replace,
};

use crate::failure::Failure;

/// How many times, and how long each time, to wait for another process that changes a file.
const WAITS: u32 = 50;
const WAIT: Duration = Duration::from_millis(20);

/// How many attempts are made to take a lock that another process releases at the same moment.
const MAX_LOCKS: u32 = 100;

/// Returns the folder of this program in the one that a variable names, else in `in_home` of the home folder. Returns `None` if neither
/// is known.
pub(crate) fn user_folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    // A relative path would depend on the current folder, which another user may control.
    let folder = |variable: &str| {
        std::env::var_os(variable).map(PathBuf::from).filter(|folder| folder.is_absolute())
    };
    let has_local = cfg!(windows) && variable == "XDG_DATA_HOME";
    folder(variable)
        .or_else(|| folder("LOCALAPPDATA").filter(|_| has_local))
        .or_else(|| Some(folder("HOME")?.join(in_home)))
        .map(|folder| folder.join("agentloop"))
}

/// Checks that [`write_output`] can write to a path, as far as that is known before a call is paid for.
pub(crate) fn check_output(path: &Path) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|about| about.is_dir()) {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    fs::metadata(parent_folder(path)).map(drop)
}

/// Writes the result of a command to the path that the user named. A file is replaced atomically, also through a symbolic link. A device or a
/// pipe is written to.
pub(crate) fn write_output(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => replace(&fs::canonicalize(path)?, bytes),
        Ok(about) if about.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(_) => OpenOptions::new().write(true).open(path)?.write_all(bytes),
        Err(_) => replace(path, bytes),
    }
}

/// Reads a regular file, and refuses one that is larger than `limit`.
pub(crate) fn read_at_most(path: &Path, limit: usize) -> Result<Vec<u8>, Failure> {
    read_regular(path, limit).map_err(|error| Failure::file(path, error))
}

/// Reads a regular file of text, and refuses one that is larger than `limit`.
pub(crate) fn read_text_at_most(path: &Path, limit: usize) -> Result<String, Failure> {
    read_regular_text(path, limit).map_err(|error| Failure::file(path, error))
}

/// Returns whether the file belongs to this user or to root, and others have none of these permissions.
#[cfg(unix)]
pub(crate) fn is_mine(file: &File, permissions: u32) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    let me = rustix::process::geteuid().as_raw();
    file.metadata().is_ok_and(|about| {
        (about.uid() == me || about.uid() == 0) && about.mode() & permissions == 0
    })
}

#[cfg(not(unix))]
pub(crate) fn is_mine(_: &File, _: u32) -> bool {
    true
}

/// Locks a file that other processes hold only for a moment. Waits for them for about a second.
pub(crate) fn wait_for_lock(path: &Path) -> Result<Lock, Failure> {
    let fail = |error: io::Error| Failure::file(path, error);
    (0..WAITS)
        .find_map(|_| match Lock::take(path) {
            Ok(None) => {
                std::thread::sleep(WAIT);
                None
            }
            taken => Some(taken),
        })
        .unwrap_or(Ok(None))
        .map_err(fail)?
        .ok_or_else(|| Failure::file(path, "another process is using this file; try again"))
}

/// A lock on a file, held by this process. The lock ends with the process: a crash leaves at most an empty lock file, which
/// does not lock anything.
#[derive(Debug)]
pub(crate) struct Lock {
    #[cfg_attr(not(unix), expect(dead_code, reason = "the file is not removed"))]
    path: PathBuf,
    _file: Option<File>,
}

impl Lock {
    /// Locks the file at `path`, which need not exist. Returns `None` if another process holds the lock.
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        // The lock is a separate file, because the file itself is replaced while it is locked.
        let path = append_suffix(path, ".lock");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        }
        for _ in 0..MAX_LOCKS {
            let file = options.open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                // The file system has no locks. A concurrent write is detected when the file is replaced.
                Err(TryLockError::Error(_)) => return Ok(Some(Self { path, _file: None })),
            }
            if is_at(&file, &path)? {
                return Ok(Some(Self { path, _file: Some(file) }));
            }
        }
        Ok(None)
    }
}

/// Returns whether the file still has its name: the previous owner of a lock may have removed it after it was opened.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let (here, there) = (file.metadata()?, fs::symlink_metadata(path));
    Ok(there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())))
}

/// The files of locks are not removed here.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on Unix")]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(unix)]
impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed before it is unlocked, so the next process creates a new one.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;
    use crate::folder::Folder;

    #[test]
    fn a_lock_is_exclusive_and_a_lock_file_left_by_a_crash_is_ignored() {
        let folder = Folder::new();
        let path = folder.join("talk.json");
        // Left behind by a process that was killed.
        folder.write("talk.json.lock", "");
        let held = Lock::take(&path).unwrap().unwrap();
        assert!(Lock::take(&path).unwrap().is_none());
        drop(held);
        assert!(!folder.join("talk.json.lock").exists());
        assert!(Lock::take(&path).unwrap().is_some());
    }

    #[test]
    fn a_symbolic_link_in_place_of_a_lock_is_not_followed() {
        let folder = Folder::new();
        std::os::unix::fs::symlink(folder.join("target"), folder.join("x.lock")).unwrap();
        assert!(Lock::take(&folder.join("x")).is_err());
        assert!(!folder.join("target").exists());
    }
}
