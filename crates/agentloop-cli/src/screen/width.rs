//! The number of terminal columns that text takes.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Makes the character before it wide: emoji presentation.
const EMOJI_SELECTOR: char = '\u{fe0f}';

/// Returns the columns of a character. Control characters take none.
pub(crate) fn of_char(character: char) -> usize {
    match character {
        ' '..='~' => 1,
        character => character.width().unwrap_or(0),
    }
}

/// Returns the columns of a text, as an upper bound.
///
/// Terminals disagree about sequences of emoji: some draw one picture, others draw each character. Assuming the larger width
/// breaks a line too early at worst, and never lets it run over the edge.
pub(crate) fn of_str(text: &str) -> usize {
    if text.is_ascii() {
        return text.chars().filter(|c| !c.is_ascii_control()).count();
    }
    let sum: usize = text.chars().map(of_char).sum();
    if text.contains(EMOJI_SELECTOR) { sum.max(text.width()) } else { sum }
}

/// Returns the most columns that any terminal gives a character: some draw those that are wide in East Asia only as wide, and marks apart.
pub(crate) fn most_of_char(character: char) -> usize {
    match character {
        ' '..='~' => 1,
        character => character.width_cjk().unwrap_or(2).max(1),
    }
}

/// Returns the longest start of the text that fits into this many columns.
pub(crate) fn truncate(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, character) in text.char_indices() {
        used += match character {
            EMOJI_SELECTOR => 1,
            character => of_char(character),
        };
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// Shortens a text to this many columns. An ellipsis shows that something is missing.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    let start = truncate(text, columns);
    if start.len() == text.len() {
        return text.to_owned();
    }
    format!("{}…", truncate(text, columns.saturating_sub(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        for (text, columns) in
            [("", 0), ("abc", 3), ("日本", 4), ("e\u{301}", 1), ("❤\u{fe0f}", 2), ("👍", 2)]
        {
            assert_eq!(of_str(text), columns, "{text}");
        }
        assert!(of_str("👩\u{200d}👧") >= 2);
    }

    #[test]
    fn no_terminal_gives_a_character_more_columns_than_the_most() {
        for character in ('\0'..=char::MAX).filter(|c| !c.is_control()) {
            assert!(most_of_char(character) >= of_char(character).max(1), "{character:?}");
        }
        assert_eq!(['a', 'ä', '日', '\u{301}', '…'].map(most_of_char), [1, 1, 2, 1, 2]);
    }

    #[test]
    fn a_shortened_text_fits() {
        assert_eq!(shorten("hello", 5), "hello");
        assert_eq!(shorten("hello!", 5), "hell…");
        assert_eq!(shorten("日本語", 5), "日本…");
        assert_eq!(shorten("日本語", 4), "日…");
        assert_eq!(shorten("ab", 0), "…");
    }
}
