//! A command line, in words.

use crate::error::{Error, ErrorKind, Result};

/// Cuts a command line into words, with quotes and backslashes as shells read them. Nothing is expanded.
pub(super) fn words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or_else(|| unfinished("backslash"))?;
                let word = word.get_or_insert_default();
                // In double quotes a backslash stands for itself before most letters.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err(unfinished("quote"));
    }
    words.extend(word);
    Ok(words)
}

fn unfinished(what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("the command line ends within a {what}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_command_line_is_cut_as_shells_cut_it() {
        let cases: [(&str, &[&str]); 6] = [
            ("npx -y server", &["npx", "-y", "server"]),
            ("  a   b ", &["a", "b"]),
            (r#"a "b c" 'd "e"' f\ g"#, &["a", "b c", "d \"e\"", "f g"]),
            (r#"a "" b"#, &["a", "", "b"]),
            (r#""C:\dir\x" "\"q\"" '\n'"#, &[r"C:\dir\x", "\"q\"", r"\n"]),
            ("pre\"mid dle\"post", &["premid dlepost"]),
        ];
        for (line, expected) in cases {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_finished_is_an_error() {
        for line in ["a 'b", "a \"b", "a \\"] {
            assert_eq!(words(line).unwrap_err().kind(), ErrorKind::Config, "{line}");
        }
    }
}
