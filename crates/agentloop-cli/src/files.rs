//! Files that only the user may read, that are written whole or not at all, and that one process uses at a time.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for a file beside another.
const MAX_NAMES: u32 = 100;

/// How often a lock is taken again that was given up in the same moment.
#[cfg(unix)]
const MAX_LOCKS: u32 = 100;

/// Replaces a file as a whole: whoever reads it sees the old content or the new one, also after a crash.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (beside, mut file) = beside(path)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, path))
        .inspect_err(|_| drop(fs::remove_file(&beside)));
    written?;
    // The new name is in the folder, which has to reach the disk too. Not every file system can be asked for that.
    #[cfg(unix)]
    if let Ok(folder) = File::open(folder_of(path)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// Creates a file that was not there, for its owner alone. A link of that name is not followed, wherever it leads.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let process = std::process::id();
    for number in 0..MAX_NAMES {
        let beside = with_ending(path, format!(".{process}-{number}.tmp"));
        match create(&beside) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (beside, file)),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "too many unfinished files are beside it"))
}

/// Appends to the name of a file.
pub(crate) fn with_ending(path: &Path, ending: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Holds a file for this process. The lock ends with the process, however that ends: a crash leaves at most an empty
/// file behind, which locks nothing.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    _file: Option<File>,
}

impl Lock {
    /// Locks the file at `path`, which need not exist; `None` if another process has it.
    #[cfg(unix)]
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt as _;

        use rustix::fs::{FlockOperation, Mode, OFlags};

        // A file of its own, because the file itself is replaced while it is locked.
        let path = with_ending(path, ".lock");
        for _ in 0..MAX_LOCKS {
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = File::from(rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?);
            match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
                // A file system without locks: what was written meanwhile is noticed when the file is replaced.
                Err(_) => return Ok(Some(Self { path, _file: None })),
            }
            // The process that had it may have removed the file after it was opened here.
            let (here, there) = (file.metadata()?, fs::symlink_metadata(&path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
                return Ok(Some(Self { path, _file: Some(file) }));
            }
        }
        Ok(None)
    }

    /// Without locks of the system, what was written meanwhile is noticed when the file is replaced.
    #[cfg(not(unix))]
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        Ok(Some(Self { path: with_ending(path, ".lock"), _file: None }))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked: the next process makes a new one.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that fails, fails")]

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("agentloop-files-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_lock_is_held_once_and_a_file_that_a_crash_left_holds_nothing() {
        let folder = folder("lock");
        let path = folder.join("talk.json");
        // Left behind by a process that was killed.
        fs::write(folder.join("talk.json.lock"), "").unwrap();
        let held = Lock::take(&path).unwrap().unwrap();
        assert!(Lock::take(&path).unwrap().is_none());
        drop(held);
        assert!(!folder.join("talk.json.lock").exists());
        assert!(Lock::take(&path).unwrap().is_some());
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_link_in_place_of_a_new_file_is_not_followed() {
        let folder = folder("link");
        let (link, target) = (folder.join("link"), folder.join("target"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(create(&link).is_err());
        std::os::unix::fs::symlink(&target, folder.join("x.lock")).unwrap();
        assert!(Lock::take(&folder.join("x")).is_err());
        // What is replaced is the link, and not what it leads to.
        replace(&link, b"new").unwrap();
        assert!(!target.exists());
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        fs::remove_dir_all(folder).unwrap();
    }
}
