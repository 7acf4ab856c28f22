//! Keys that a program prints (`credential_process` in a profile).

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::keys::{Keys, read_printed};
use crate::credential::Environment;
use crate::credential::program::{self, Program};
use crate::credential::refresh::Fetched;
use crate::error::{Error, ErrorKind, Result};

/// A program with its arguments, and the profile that names it.
pub(super) struct Process {
    profile: String,
    path: PathBuf,
    arguments: Vec<String>,
}

impl Process {
    /// Reads the command line of a profile.
    ///
    /// # Errors
    ///
    /// When it names no program, or one in a folder that depends on where this program was started.
    pub(super) fn new(line: &str, profile: &str, environment: Environment<'_>) -> Result<Self> {
        let failed = |why: &str| {
            let message = format!(
                "`credential_process` of the AWS profile `{profile}` cannot be used: {why}"
            );
            Error::new(ErrorKind::MissingKey, message)
                .with_hint("write the program with its whole path")
        };
        let words = if cfg!(windows) { split_as_windows(line) } else { split(line) };
        let mut words = words.ok_or_else(|| failed("a quotation is not closed"))?.into_iter();
        let name = words.next().filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| failed("it is empty"))?;
        let path = Path::new(&name);
        let path = match path.components().count() {
            _ if path.is_absolute() => Some(path.to_owned()),
            1 => program::find(&name, environment),
            _ => return Err(failed("its path is relative")),
        };
        let path = path.ok_or_else(|| failed("there is no such program"))?;
        Ok(Self { profile: profile.to_owned(), path, arguments: words.collect() })
    }

    /// Starts the program, and reads the keys that it prints.
    pub(super) async fn run(self) -> Result<Fetched<Keys>> {
        let name = format!("the program of the AWS profile `{}`", self.profile);
        let program = Program {
            name: &name,
            hint: "run `credential_process` of the profile in a terminal, and check that it prints keys",
            path: self.path,
            arguments: self.arguments.iter().map(OsStr::new).collect(),
            variables: &[],
        };
        read_printed(&program.run().await?, &name)
    }
}

/// Splits a command line as a POSIX shell does, without anything else that a shell does: `shlex.split` of Python, which Amazon's
/// programs use. Returns `None` if a quotation is not closed.
fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(letters.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '"' => break,
                        '\\' if matches!(letters.peek(), Some('"' | '\\')) => {
                            word.extend(letters.next());
                        }
                        letter => word.push(letter),
                    }
                }
            }
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Splits a command line as programs on Windows do: a backslash is a letter, except before a quotation mark.
fn split_as_windows(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    let mut backslashes = 0;
    for letter in line.chars().chain([' ']) {
        if letter == '\\' {
            backslashes += 1;
            continue;
        }
        let escapes = letter == '"';
        if backslashes > 0 {
            let count = if escapes { backslashes / 2 } else { backslashes };
            word.get_or_insert_default().extend(std::iter::repeat_n('\\', count));
        }
        let is_escaped = escapes && backslashes % 2 == 1;
        backslashes = 0;
        match letter {
            '"' if !is_escaped => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' | '\t' if !is_quoted => words.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    (!is_quoted).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_split_as_a_shell_splits_it_and_nothing_is_run() {
        for (line, words) in [
            ("/bin/a b  c", &["/bin/a", "b", "c"][..]),
            (r#"a "b c" 'd "e' f\ g"#, &["a", "b c", "d \"e", "f g"]),
            (r#"a"b"'c' "" '' "\"\\\n""#, &["abc", "", "", "\"\\\\n"]),
            (
                "a $(id) `id` $HOME ~ | b > c ; d #e",
                &["a", "$(id)", "`id`", "$HOME", "~", "|", "b", ">", "c", ";", "d", "#e"],
            ),
            ("", &[]),
            (" \t", &[]),
        ] {
            assert_eq!(split(line).unwrap(), words, "{line}");
        }
        for line in ["'a", "\"a", "a\\", "\"a\\\""] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn a_command_line_is_split_as_windows_splits_it() {
        for (line, words) in [
            ("", &[][..]),
            (r#"C:\a\b.exe "c d""#, &[r"C:\a\b.exe", "c d"]),
            ("a \"\" \\", &["a", "", "\\"]),
            // Examples of Microsoft's documentation of command lines in C.
            (r#""abc" d e"#, &["abc", "d", "e"]),
            (r#"a\\b d"e f"g h"#, &[r"a\\b", "de fg", "h"]),
            (r#"a\\\"b c d"#, &[r#"a\"b"#, "c", "d"]),
            (r#"a\\\\"b c" d e"#, &[r"a\\b c", "d", "e"]),
        ] {
            assert_eq!(split_as_windows(line).unwrap(), words, "{line}");
        }
        assert_eq!(split_as_windows("\"a "), None);
    }
}
