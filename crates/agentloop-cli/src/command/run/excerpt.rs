//! Shortens texts for messages.

use crate::printable;

/// Returns the first `chars` characters of a text on one line. Invisible characters are escaped.
pub(super) fn shorten(text: &str, chars: usize) -> String {
    // More words than this cannot be shown.
    let words: Vec<&str> = text.split_whitespace().take(chars).collect();
    let line = words.join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", printable::escape_line(&line[..at])),
        None => printable::escape_line(&line).into_owned(),
    }
}

/// Returns arguments unchanged up to `chars` characters, and reports how many are left out. Invisible characters are escaped.
pub(super) fn quote_arguments(arguments: &str, chars: usize) -> String {
    match arguments.char_indices().nth(chars) {
        Some((at, _)) => {
            let more = arguments[at..].chars().count();
            format!("{}… and {more} more characters", printable::escape_line(&arguments[..at]))
        }
        None => printable::escape_line(arguments).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortened_text_is_one_line() {
        assert_eq!(shorten("a\n  b\tc", 10), "a b c");
        assert_eq!(shorten("ääää", 3), "äää…");
        assert_eq!(shorten("", 3), "");
        assert_eq!(shorten("a\u{202e}b", 9), "a\\u{202e}b");
    }

    #[test]
    fn arguments_are_shown_unchanged_and_unambiguously() {
        assert_eq!(quote_arguments(r#"{"path":"a  b\n"}"#, 99), r#"{"path":"a  b\n"}"#);
        assert_eq!(quote_arguments("a\u{202e}b\u{1b}c\nd", 99), "a\\u{202e}b\\u{1b}c\\nd");
        assert_eq!(quote_arguments("abcdef", 4), "abcd… and 2 more characters");
    }
}
