//! Makes untrusted text safe to print on a terminal.
//!
//! Text of providers, models, servers and files must not control the terminal, hide parts of itself, or imitate a line of
//! this program. Everything that is written to a terminal passes one of these functions:
//!
//! | function | used for | effect |
//! |---|---|---|
//! | [`sanitize_text`] | running text of models and servers | replaces control characters by U+FFFD; keeps line breaks and tabs |
//! | [`Sanitizer`] | such text in pieces | as above |
//! | [`escape_name`] | names and values inside a message | escapes invisible characters, line breaks and backslashes |
//! | [`escape_line`] | excerpts inside a message | escapes invisible characters and line breaks; keeps backslashes |
//! | [`escape_json`] | JSON | escapes invisible characters as `\uXXXX`, which does not change the JSON value |

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::screen::width;

/// Starts each line of a question to the user. It is removed from untrusted text.
pub(crate) const FRAME: char = '▌';

/// The maximum number of consecutive combining marks. Real scripts use at most four on one letter.
const MAX_MARKS: usize = 4;

/// Invisible characters in categories that are otherwise visible: fillers, the blank Braille pattern, joiners of marks and
/// variation selectors.
const BLANK: [std::ops::RangeInclusive<char>; 10] = [
    '\u{34f}'..='\u{34f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fffc}'..='\u{fffc}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Replaces the characters of running text that control a terminal.
///
/// A carriage return before a line feed is removed; a lone one would let later text overwrite earlier text. Joiners and
/// variation selectors are kept, because emoji and many scripts need them.
pub(crate) fn sanitize_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut sanitized = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            character if is_unsafe(character) => sanitized.push('\u{fffd}'),
            character => sanitized.push(character),
        }
    }
    Cow::Owned(sanitized)
}

/// The maximum number of consecutive characters without a width in text on a terminal. Emoji and marks need fewer.
const MAX_ZERO_WIDTH: usize = 8;

/// Sanitizes running text that arrives in pieces. The result does not depend on how the text is split.
///
/// A flood of marks on one letter is truncated, because it would cover the lines above and below.
#[derive(Debug, Default)]
pub(crate) struct Sanitizer {
    has_return: bool,
    marks: usize,
}

impl Sanitizer {
    /// Returns the piece with the characters replaced that control a terminal.
    pub(crate) fn push(&mut self, text: &str) -> String {
        let mut sanitized = String::with_capacity(text.len());
        for character in text.chars() {
            if std::mem::take(&mut self.has_return) && character != '\n' {
                sanitized.push('\u{fffd}');
            }
            match character {
                '\r' => self.has_return = true,
                ' '..='~' | '\n' | '\t' => {
                    self.marks = 0;
                    sanitized.push(character);
                }
                character if is_unsafe(character) => sanitized.push('\u{fffd}'),
                character => {
                    let is_mark = width::of_char(character) == 0;
                    self.marks = if is_mark { self.marks + 1 } else { 0 };
                    if self.marks <= MAX_ZERO_WIDTH {
                        sanitized.push(character);
                    }
                }
            }
        }
        sanitized
    }
}

/// Escapes a name or a value for use inside a message. The result has no invisible characters and no line breaks.
pub(crate) fn escape_name(text: &str) -> Cow<'_, str> {
    escape(text, |out, character| match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        character => {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
        }
    })
}

/// Escapes text for use inside a message like [`escape_name`], but keeps backslashes. Use it for text that is not compared.
pub(crate) fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, |out, character| match character {
        '\\' => out.push('\\'),
        character => out.push_str(&escape_name(character.encode_utf8(&mut [0; 4]))),
    })
}

/// Escapes the invisible characters of JSON. The result has the same value: outside of strings, valid JSON contains no
/// invisible characters except the line breaks of its layout, which are kept.
pub(crate) fn escape_json(text: &str) -> Cow<'_, str> {
    escape(text, |out, character| match character {
        '\n' | '\\' => out.push(character),
        character => {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

fn escape(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let prints = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\';
    if text.bytes().all(prints) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    // A mark at the start has no letter to belong to.
    let mut marks = MAX_MARKS;
    for character in text.chars() {
        let is_mark = !character.is_ascii() && is_mark(character);
        marks = match (is_mark, character) {
            (true, _) => marks + 1,
            // A mark after a quote or a space would combine with a character that is not part of the text.
            (false, '"' | ' ') => MAX_MARKS,
            (false, _) => 0,
        };
        if character == '\\' || !is_visible(character) || (is_mark && marks > MAX_MARKS) {
            escape(&mut shown, character);
        } else {
            shown.push(character);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether the character changes the position or order of others, or is [`FRAME`].
fn is_unsafe(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        character => character.is_control() || character == FRAME,
    }
}

/// Returns whether the character is visible and cannot be confused with a space.
fn is_visible(character: char) -> bool {
    use GeneralCategory as Is;
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    let hidden = matches!(
        get_general_category(character),
        Is::Control
            | Is::Format
            | Is::Surrogate
            | Is::PrivateUse
            | Is::Unassigned
            | Is::LineSeparator
            | Is::ParagraphSeparator
            | Is::SpaceSeparator
    );
    !hidden && character != FRAME && !BLANK.iter().any(|range| range.contains(&character))
}

fn is_mark(character: char) -> bool {
    use GeneralCategory as Is;
    let category = get_general_category(character);
    matches!(category, Is::NonspacingMark | Is::EnclosingMark | Is::SpacingMark)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One character of each kind that hides text or controls a terminal.
    const HOSTILE: [char; 28] = [
        '\0',
        '\u{7}',
        '\u{8}',
        '\r',
        '\u{1b}',
        '\u{7f}',
        '\u{80}',
        '\u{85}',
        '\u{9b}',
        '\u{9d}',
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{180e}',
        '\u{200b}',
        '\u{200e}',
        '\u{202e}',
        '\u{2028}',
        '\u{2029}',
        '\u{2066}',
        '\u{3164}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{e000}',
        '\u{e0041}',
        '\u{e0100}',
        FRAME,
    ];

    #[test]
    fn names_and_json_contain_no_invisible_characters() {
        for character in HOSTILE {
            let raw = format!("a{character}b");
            let shown = escape_name(&raw);
            assert!(!shown.contains(character), "{character:?} in {shown}");
            let document = serde_json::to_string(&raw).unwrap();
            let shown = escape_json(&document);
            assert!(!shown.contains(character), "{character:?} in {shown}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), raw, "{character:?}");
        }
    }

    #[test]
    fn running_text_cannot_control_a_terminal() {
        for character in HOSTILE.iter().filter(|character| is_unsafe(**character)) {
            assert_eq!(sanitize_text(&format!("a{character}b")), "a\u{fffd}b", "{character:?}");
        }
        assert_eq!(sanitize_text("one\r\ntwo\tthree\n"), "one\ntwo\tthree\n");
        assert_eq!(sanitize_text("safe\rrm -rf /"), "safe\u{fffd}rm -rf /");
        // Emoji and scripts that need joiners are unchanged.
        for plain in ["👩‍👩‍👧", "❤\u{fe0f}", "می\u{200c}خواهم", "café", "日本語", "ไม่"]
        {
            assert_eq!(sanitize_text(plain), plain);
        }
    }

    #[test]
    fn pieces_are_sanitized_as_the_whole_text() {
        let text = "a\r\nb\rc\u{1b}[2J\u{202e}\r\r\n👩\u{200d}👧 e\u{301}\tx";
        let whole = Sanitizer::default().push(text);
        assert_eq!(whole, "a\nb\u{fffd}c\u{fffd}[2J\u{fffd}\u{fffd}\n👩\u{200d}👧 e\u{301}\tx");
        let mut pieces = Sanitizer::default();
        let split: String = text.chars().map(|c| pieces.push(&c.to_string())).collect();
        assert_eq!(split, whole);
        let flood = format!("e{}x", "\u{301}".repeat(1_000));
        assert_eq!(Sanitizer::default().push(&flood).chars().count(), 2 + MAX_ZERO_WIDTH);
    }

    #[test]
    fn every_unicode_character_is_shown_or_escaped_without_loss() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let raw = serde_json::to_string(&character.to_string()).unwrap();
            let shown = escape_json(&raw);
            let back: String = serde_json::from_str(&shown).unwrap();
            assert!(back.chars().eq([character]), "{character:?}");
            assert!(!shown.chars().any(|c| c.is_control()), "{character:?}");
        }
    }

    #[test]
    fn an_escaped_name_has_no_line_breaks_and_is_unambiguous() {
        assert_eq!(escape_name("read_file"), "read_file");
        assert_eq!(escape_name("x\nerror: y"), "x\\nerror: y");
        assert_ne!(escape_name("a\u{202e}"), escape_name(r"a\u{202e}"));
        assert_eq!(escape_name("naïve"), "naïve");
    }

    #[test]
    fn floods_of_combining_marks_are_escaped() {
        let flood = format!("e{}", "\u{301}".repeat(50));
        assert_eq!(escape_name(&flood).matches('\u{301}').count(), MAX_MARKS);
        // A mark at the start would combine with the opening quote.
        assert_eq!(escape_json("\"\u{301}\""), "\"\\u0301\"");
    }
}
