//! A little of what may be long, on one line.

/// Signs that are not seen and change how others are read: with them a call could look like another.
const UNSEEN: [std::ops::RangeInclusive<char>; 4] = [
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{feff}'..='\u{feff}',
];

/// The beginning of a text, on one line.
pub(super) fn beginning(text: &str, chars: usize) -> String {
    // As many words as could be shown: the rest need not be looked at.
    let words: Vec<&str> = text.split_whitespace().take(chars).collect();
    let line = words.join(" ");
    match line.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Arguments as they are, up to a length that is named, with no sign that is not seen.
pub(super) fn whole(arguments: &str, chars: usize) -> String {
    let seen = arguments.replace(
        |c: char| c.is_control() || UNSEEN.iter().any(|unseen| unseen.contains(&c)),
        "\u{fffd}",
    );
    match seen.char_indices().nth(chars) {
        Some((at, _)) => {
            let more = seen[at..].chars().count();
            format!("{}… and {more} more characters", &seen[..at])
        }
        None => seen,
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
    }

    #[test]
    fn arguments_are_shown_as_they_are_and_never_as_others() {
        assert_eq!(whole(r#"{"path":"a  b"}"#, 99), r#"{"path":"a  b"}"#);
        assert_eq!(whole("a\u{202e}b\u{1b}c\nd", 99), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(whole("abcdef", 4), "abcd… and 2 more characters");
    }
}
