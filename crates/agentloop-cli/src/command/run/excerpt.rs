//! A little of what may be long, on one line.

use crate::printable;

/// Returns the beginning of a text, on one line and with everything visible that does not print.
pub(super) fn beginning(text: &str, chars: usize) -> String {
    // As many words as could be shown: the rest need not be looked at.
    let words: Vec<&str> = text.split_whitespace().take(chars).collect();
    let line = words.join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", printable::line(&line[..at])),
        None => printable::line(&line).into_owned(),
    }
}

/// Returns arguments as they are, up to a length that is named, with everything visible that does not print.
pub(super) fn whole(arguments: &str, chars: usize) -> String {
    match arguments.char_indices().nth(chars) {
        Some((at, _)) => {
            let more = arguments[at..].chars().count();
            format!("{}… and {more} more characters", printable::line(&arguments[..at]))
        }
        None => printable::line(arguments).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_one_line() {
        assert_eq!(beginning("a\n  b\tc", 10), "a b c");
        assert_eq!(beginning("ääää", 3), "äää…");
        assert_eq!(beginning("", 3), "");
        assert_eq!(beginning("a\u{202e}b", 9), "a\\u{202e}b");
    }

    #[test]
    fn arguments_are_shown_as_they_are_and_never_as_others() {
        assert_eq!(whole(r#"{"path":"a  b\n"}"#, 99), r#"{"path":"a  b\n"}"#);
        assert_eq!(whole("a\u{202e}b\u{1b}c\nd", 99), "a\\u{202e}b\\u{1b}c\\nd");
        assert_eq!(whole("abcdef", 4), "abcd… and 2 more characters");
    }
}
