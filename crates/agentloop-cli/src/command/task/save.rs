//! Writes images and audio: to the file that is named, to stdout, or to a new file of the current folder.

use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::files;
use crate::output::Output;

/// How many names are tried for a new file.
const MAX_NAMES: u32 = 10_000;

/// Where the result of a command is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A new file of the current folder, with the first unused name.
    New,
    /// Standard output.
    Stdout,
    /// This file, which is replaced if it exists.
    File(PathBuf),
}

impl Place {
    /// Returns the place that an option names; `-` is stdout.
    ///
    /// # Errors
    ///
    /// Fails if stdout is named and is a terminal, which would show bytes as text, and if a file is named that cannot be written.
    pub(crate) fn of(option: Option<&Path>) -> Result<Self, Failure> {
        match option {
            None => Ok(Self::New),
            Some(path) if path == Path::new("-") => {
                if io::stdout().is_terminal() {
                    Err(Failure::input_with_hint(
                        "stdout is a terminal, which cannot show these bytes",
                        "name a file with --output, or redirect stdout to a file or a program",
                    ))
                } else {
                    Ok(Self::Stdout)
                }
            }
            Some(path) => {
                files::check_output(path).map_err(|error| Failure::file(path, error))?;
                Ok(Self::File(path.to_owned()))
            }
        }
    }

    /// Returns the place of one of several results: `cat.png` becomes `cat-2.png` for the second.
    pub(crate) fn numbered(&self, number: usize, of: usize) -> Self {
        match self {
            Self::File(path) if of > 1 => {
                let mut name = path.file_stem().unwrap_or_default().to_owned();
                name.push(format!("-{number}"));
                if let Some(extension) = path.extension() {
                    name.push(".");
                    name.push(extension);
                }
                Self::File(path.with_file_name(name))
            }
            other => other.clone(),
        }
    }

    /// Writes the bytes, and prints the path of a file on stdout. `kind` and `extension` make the name of a new file.
    pub(crate) fn write(&self, bytes: &[u8], kind: &str, extension: &str) -> Result<(), Failure> {
        let path = match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())?;
                return Ok(());
            }
            Self::File(path) => {
                files::write_output(path, bytes).map_err(|error| Failure::file(path, error))?;
                path.clone()
            }
            Self::New => write_new(bytes, kind, extension)?,
        };
        let mut output = Output::new();
        output.write_untrusted(&path.display().to_string())?;
        output.write_line("")?;
        Ok(output.flush()?)
    }
}

/// Writes a file under the first unused name. Existing files and symbolic links are not touched.
fn write_new(bytes: &[u8], kind: &str, extension: &str) -> Result<PathBuf, Failure> {
    for number in 1..MAX_NAMES {
        let path = PathBuf::from(format!("{kind}-{number}.{extension}"));
        match File::create_new(&path) {
            Ok(mut file) => {
                let written = file.write_all(bytes);
                // A file with a part of the content is of no use.
                let written = written.inspect_err(|_| drop(std::fs::remove_file(&path)));
                return written.map(|()| path.clone()).map_err(|error| Failure::file(&path, error));
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::file(&path, error)),
        }
    }
    Err(Failure::input_with_hint(
        format!("all names up to {kind}-{}.{extension} are in use", MAX_NAMES - 1),
        "name a file with --output",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_results_get_numbers_before_their_extension() {
        let place = Place::File("pictures/cat.png".into());
        assert_eq!(place.numbered(1, 1), place);
        assert_eq!(place.numbered(2, 3), Place::File("pictures/cat-2.png".into()));
        assert_eq!(Place::File("cat".into()).numbered(1, 2), Place::File("cat-1".into()));
        assert_eq!(Place::New.numbered(2, 3), Place::New);
    }
}
