//! Splits command lines.

use crate::error::{Error, ErrorKind, Result};

/// Splits a command line into words. Quotes and backslashes have the meaning that they have in shells; nothing is expanded.
pub(crate) fn split_words(line: &str) -> Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = characters.next().ok_or_else(|| unfinished("backslash"))?;
                let word = word.get_or_insert_default();
                // In double quotes, a backslash before most characters is literal.
                if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                    word.push('\\');
                }
                word.push(next);
            }
            (None, character) if character.is_whitespace() => words.extend(word.take()),
            (_, character) => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(unfinished("quote"));
    }
    words.extend(word);
    Ok(words)
}

fn unfinished(what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("the command line ends inside a {what}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn a_command_line_is_split_as_shells_split_it() {
        let cases: [(&str, &[&str]); 6] = [
            ("npx -y server", &["npx", "-y", "server"]),
            ("  a   b ", &["a", "b"]),
            (r#"a "b c" 'd "e"' f\ g"#, &["a", "b c", "d \"e\"", "f g"]),
            (r#"a "" b"#, &["a", "", "b"]),
            (r#""C:\dir\x" "\"q\"" '\n'"#, &[r"C:\dir\x", "\"q\"", r"\n"]),
            ("pre\"mid dle\"post", &["premid dlepost"]),
        ];
        for (line, expected) in cases {
            assert_eq!(split_words(line).unwrap(), expected, "{line}");
        }
    }

    #[test]
    fn an_unclosed_quote_is_an_error() {
        for line in ["a 'b", "a \"b", "a \\"] {
            assert_eq!(split_words(line).unwrap_err().kind(), ErrorKind::Config, "{line}");
        }
    }
}
