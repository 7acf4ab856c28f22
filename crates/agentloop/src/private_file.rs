//! Files and folders that only the user can read, and files that are replaced as a whole.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How many names are tried for a temporary file.
const MAX_NAMES: u32 = 100;

/// Returns the options for a file that only its owner may read if it is created.
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Creates a new file that only its owner may read. Fails if the name exists, also as a symbolic link.
pub fn create(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Creates a folder that only its owner may read, and the folders above it.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Replaces a file atomically: a reader sees either the old or the new content, also after a crash.
///
/// # Errors
///
/// Fails also if the path is a folder, a device or a pipe: root could replace `/dev/null` by a file.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = Replacement::begin(path)?;
    file.write_all(bytes)?;
    file.commit()
}

/// A file that takes the place of another one when it is complete. If it is dropped before, nothing of it is left.
#[derive(Debug)]
pub struct Replacement {
    file: BufWriter<File>,
    temporary: PathBuf,
    path: PathBuf,
}

impl Replacement {
    /// Creates a file beside the one that it replaces. A symbolic link is replaced, not its target.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let is_replaced = |about: fs::Metadata| about.is_file() || about.is_symlink();
        if !fs::symlink_metadata(path).map_or(true, is_replaced) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
        }
        let process = std::process::id();
        for number in 0..MAX_NAMES {
            let temporary = append_suffix(path, format!(".{process}-{number}.tmp"));
            match create(&temporary) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = BufWriter::new(created?);
                    return Ok(Self { file, temporary, path: path.to_owned() });
                }
            }
        }
        let message = "too many temporary files in its folder";
        Err(io::Error::new(io::ErrorKind::AlreadyExists, message))
    }

    /// Gives the file these permissions instead of those of a private file.
    pub fn set_permissions(&self, permissions: fs::Permissions) -> io::Result<()> {
        self.file.get_ref().set_permissions(permissions)
    }

    /// Puts the file in its place.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        fs::rename(&self.temporary, &self.path)?;
        // The rename is durable only after the folder is synced. Not every file system supports that.
        #[cfg(unix)]
        if let Ok(folder) = File::open(parent_folder(&self.path)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Replacement {
    /// After [`commit`](Self::commit) the file has another name.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary);
    }
}

/// Appends a suffix to the name of a file.
pub fn append_suffix(path: &Path, suffix: impl AsRef<OsStr>) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the folder of a file.
pub fn parent_folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("agentloop-private-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            create_folder(&path.join("below")).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_and_folders_are_private() {
        let folder = Folder::new("modes");
        assert_eq!((mode(&folder.0), mode(&folder.0.join("below"))), (0o700, 0o700));
        let path = folder.0.join("x");
        replace(&path, b"one").unwrap();
        assert_eq!(mode(&path), 0o600);
        replace(&path, b"two").unwrap();
        assert_eq!((mode(&path), fs::read(&path).unwrap()), (0o600, b"two".to_vec()));
        assert!(create(&path).is_err());
        assert_eq!(folder.names(), ["below", "x"]);
    }

    #[test]
    fn a_symbolic_link_is_not_followed_and_other_things_are_not_replaced() {
        let folder = Folder::new("links");
        let (link, target) = (folder.0.join("link"), folder.0.join("target"));
        symlink(&target, &link).unwrap();
        assert!(create(&link).is_err());
        // A temporary file that another program has put there as a link is left alone.
        let first = append_suffix(&link, format!(".{}-0.tmp", std::process::id()));
        symlink(&target, &first).unwrap();
        replace(&link, b"new").unwrap();
        assert!(!target.exists());
        assert_eq!(fs::read(&link).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_file());
        for path in [folder.0.join("below"), "/dev/null".into()] {
            assert!(replace(&path, b"x").is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_is_not_completed_leaves_nothing() {
        let folder = Folder::new("part");
        let path = folder.0.join("x");
        let mut part = Replacement::begin(&path).unwrap();
        part.write_all(b"a part").unwrap();
        assert_eq!(folder.names().len(), 2);
        drop(part);
        assert_eq!(folder.names(), ["below"]);
    }
}
