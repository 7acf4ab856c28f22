//! Files that are read completely where a small one is expected.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Opens a regular file. A pipe is refused, because it could wait for ever, and so is a device, because it could be endless.
///
/// The null device is an empty file, and the pipes that shells make for `<(command)` are those of a program that runs.
///
/// # Errors
///
/// Also if it is a folder, with the kind `IsADirectory`.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let about = fs::metadata(path)?;
    let is_of_shell = ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder));
    let is_named =
        is_of_shell || ["/dev/null", "/dev/stdin"].iter().any(|name| path == Path::new(name));
    if about.is_file() || (is_named && !about.is_dir()) {
        return File::open(path);
    }
    Err(if about.is_dir() {
        io::ErrorKind::IsADirectory.into()
    } else {
        io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a regular file")
    })
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
///
/// As [`open_regular`], and with the kind `FileTooLarge`.
pub fn read_regular(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // The length is not asked for: the file may grow, and those of `/proc` have none.
    open_regular(path)?.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        let message = format!("it is larger than the limit of {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(bytes)
}

/// Reads a regular file of at most `limit` bytes of UTF-8 text.
///
/// # Errors
///
/// As [`read_regular`], and with the kind `InvalidData`.
pub fn read_regular_text(path: &Path, limit: usize) -> io::Result<String> {
    String::from_utf8(read_regular(path, limit)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("it is not UTF-8 text: invalid byte at offset {at}");
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn kind(path: &str) -> io::ErrorKind {
        read_regular(Path::new(path), 8).unwrap_err().kind()
    }

    #[test]
    fn only_regular_files_are_read_and_only_small_ones() {
        let folder = std::env::temp_dir().join(format!("agentloop-regular-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        fs::write(path("small"), "12345678").unwrap();
        fs::write(path("large"), "123456789").unwrap();
        fs::write(path("bytes"), [b'a', 0xff]).unwrap();
        for (name, target) in [("link", path("small").as_str()), ("zero", "/dev/zero")] {
            std::os::unix::fs::symlink(target, path(name)).unwrap();
        }
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());

        assert_eq!(read_regular(Path::new(&path("small")), 8).unwrap(), b"12345678");
        assert_eq!(read_regular_text(Path::new(&path("link")), 8).unwrap(), "12345678");
        assert_eq!(kind(&path("large")), io::ErrorKind::FileTooLarge);
        assert_eq!(kind(&path("absent")), io::ErrorKind::NotFound);
        assert_eq!(kind(&path("")), io::ErrorKind::IsADirectory);
        for refused in [path("pipe"), path("zero"), "/dev/zero".to_owned()] {
            assert_eq!(kind(&refused), io::ErrorKind::InvalidInput, "{refused}");
        }
        let error = read_regular_text(Path::new(&path("bytes")), 8).unwrap_err();
        assert_eq!(error.to_string(), "it is not UTF-8 text: invalid byte at offset 1");
        // Nothing, and what a shell gives a program to read.
        assert_eq!(read_regular(Path::new("/dev/null"), 8).unwrap(), b"");
        let (reader, mut writer) = io::pipe().unwrap();
        io::Write::write_all(&mut writer, b"piped").unwrap();
        drop(writer);
        let name = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
        assert_eq!(read_regular(Path::new(&name), 8).unwrap(), b"piped");
        fs::remove_dir_all(&folder).unwrap();
    }
}
