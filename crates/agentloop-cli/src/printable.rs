//! Makes text from outside harmless: providers, models, servers and files must not steer the terminal, hide what they
//! contain, or look like a line of this program.
//!
//! Everything that is written to a terminal passes one of these functions:
//!
//! | function | for | what it does |
//! |---|---|---|
//! | [`text`] | running text of models and servers | replaces what steers a terminal by U+FFFD; line breaks and tabs stay |
//! | [`name`] | names and values inside a line of ours | escapes everything that does not print, line breaks included |
//! | [`line`] | excerpts inside a line of ours | the same, but a backslash is not doubled |
//! | [`json`] | JSON | escapes everything that does not print as `\uXXXX`, so it stays the same JSON |

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_general_category::{GeneralCategory, get_general_category};

/// Begins each line of a question to the user. Text from outside cannot contain it.
pub(crate) const FRAME: char = '▌';

/// How many combining marks may follow each other. Real writing has at most four on one letter.
const MAX_MARKS: usize = 4;

/// Characters that have no look of their own, in categories that otherwise print: fillers, the blank of Braille, joiners
/// of marks, and the selectors of variations.
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

/// Makes running text harmless.
///
/// A carriage return before a line feed is dropped; a lone one would let later text overwrite earlier text. Joiners and
/// selectors stay, because emoji and many scripts need them.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    if !text.contains(steers) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            letter if steers(letter) => harmless.push('\u{fffd}'),
            letter => harmless.push(letter),
        }
    }
    Cow::Owned(harmless)
}

/// Makes a name or a value fit into a line of ours: nothing in it is invisible, and it cannot end the line.
pub(crate) fn name(text: &str) -> Cow<'_, str> {
    escaped(text, |out, letter| match letter {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\\' => out.push_str("\\\\"),
        letter => {
            // Writing to a string does not fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(letter));
        }
    })
}

/// Makes text fit into a line of ours like [`name`], for text that is only read: a backslash stays as it is.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |out, letter| match letter {
        '\\' => out.push('\\'),
        letter => out.push_str(&name(letter.encode_utf8(&mut [0; 4]))),
    })
}

/// Escapes what does not print in JSON. The result is JSON of the same value: outside of strings there is nothing to
/// escape except the line breaks of its layout, which stay.
pub(crate) fn json(text: &str) -> Cow<'_, str> {
    escaped(text, |out, letter| match letter {
        '\n' | '\\' => out.push(letter),
        letter => {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    })
}

fn escaped(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    let prints = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'\\';
    if text.bytes().all(prints) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + text.len() / 8);
    // Nothing is there yet that a mark could belong to.
    let mut marks = MAX_MARKS;
    for letter in text.chars() {
        let is_mark = !letter.is_ascii() && is_mark(letter);
        marks = match (is_mark, letter) {
            (true, _) => marks + 1,
            // A mark after a quote or a space would change a sign that is not part of the text.
            (false, '"' | ' ') => MAX_MARKS,
            (false, _) => 0,
        };
        if letter == '\\' || !is_visible(letter) || (is_mark && marks > MAX_MARKS) {
            escape(&mut shown, letter);
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Whether the character changes where or in which order others are shown, or is ours alone.
fn steers(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{61c}'
        | '\u{200e}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{206f}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        letter => letter.is_control() || letter == FRAME,
    }
}

/// Whether the character can be seen, and looks like what it is.
fn is_visible(letter: char) -> bool {
    use GeneralCategory as Is;
    if letter.is_ascii() {
        return !letter.is_ascii_control();
    }
    let hidden = matches!(
        get_general_category(letter),
        Is::Control
            | Is::Format
            | Is::Surrogate
            | Is::PrivateUse
            | Is::Unassigned
            | Is::LineSeparator
            | Is::ParagraphSeparator
            | Is::SpaceSeparator
    );
    !hidden && letter != FRAME && !BLANK.iter().any(|range| range.contains(&letter))
}

fn is_mark(letter: char) -> bool {
    use GeneralCategory as Is;
    let category = get_general_category(letter);
    matches!(category, Is::NonspacingMark | Is::EnclosingMark | Is::SpacingMark)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A character of each kind that hides something or steers a terminal.
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
    fn nothing_invisible_is_left_in_a_name_or_in_json() {
        for letter in HOSTILE {
            let raw = format!("a{letter}b");
            let shown = name(&raw);
            assert!(!shown.contains(letter), "{letter:?} in {shown}");
            let document = serde_json::to_string(&raw).unwrap();
            let shown = json(&document);
            assert!(!shown.contains(letter), "{letter:?} in {shown}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), raw, "{letter:?}");
        }
    }

    #[test]
    fn running_text_cannot_steer_a_terminal() {
        for letter in HOSTILE.iter().filter(|letter| steers(**letter)) {
            assert_eq!(text(&format!("a{letter}b")), "a\u{fffd}b", "{letter:?}");
        }
        assert_eq!(text("one\r\ntwo\tthree\n"), "one\ntwo\tthree\n");
        assert_eq!(text("safe\rrm -rf /"), "safe\u{fffd}rm -rf /");
        // Emoji and scripts that need joiners stay as they are.
        for plain in ["👩‍👩‍👧", "❤\u{fe0f}", "می\u{200c}خواهم", "café", "日本語", "ไม่"]
        {
            assert_eq!(text(plain), plain);
        }
    }

    #[test]
    fn every_character_of_unicode_is_either_shown_or_escaped_without_loss() {
        for letter in (0..=0x10_ffff).filter_map(char::from_u32) {
            let raw = serde_json::to_string(&letter.to_string()).unwrap();
            let shown = json(&raw);
            let back: String = serde_json::from_str(&shown).unwrap();
            assert!(back.chars().eq([letter]), "{letter:?}");
            assert!(!shown.chars().any(|c| c.is_control()), "{letter:?}");
        }
    }

    #[test]
    fn a_name_stays_on_its_line_and_cannot_be_mistaken_for_another() {
        assert_eq!(name("read_file"), "read_file");
        assert_eq!(name("x\nerror: y"), "x\\nerror: y");
        assert_ne!(name("a\u{202e}"), name(r"a\u{202e}"));
        assert_eq!(name("naïve"), "naïve");
    }

    #[test]
    fn floods_of_combining_marks_are_escaped() {
        let flood = format!("e{}", "\u{301}".repeat(50));
        assert_eq!(name(&flood).matches('\u{301}').count(), MAX_MARKS);
        // A mark at the beginning would sit on our own quote.
        assert_eq!(json("\"\u{301}\""), "\"\\u0301\"");
    }
}
