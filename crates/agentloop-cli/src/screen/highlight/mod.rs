//! Colours the code of responses.
//!
//! A small lexer knows the comments, strings, numbers and keywords of the common languages. It needs no grammar files, so it costs
//! nothing at the start of the command; the state between two lines is a few bytes, and the work grows in proportion to the text.

mod languages;
mod lexer;

use self::languages::Language;
use self::lexer::Lexer;
use super::style::{Color, Line, Style};

/// The longest line that is coloured, in bytes.
const MAX_LINE: usize = 4 * 1024;

const COMMENT: Style = Style::DIM;
const KEYWORD: Style = Style::colored(Color::Magenta);
const STRING: Style = Style::colored(Color::Green);
const NUMBER: Style = Style::colored(Color::Cyan);

/// Colours the lines of one block of code.
#[derive(Debug)]
pub(crate) struct Highlighter(Mode);

#[derive(Debug)]
enum Mode {
    /// The language is not known.
    Plain,
    Diff,
    Lexer(Lexer),
}

impl Highlighter {
    /// Creates a highlighter for a language, by its name or the extension of its files.
    pub(crate) fn new(language: &str) -> Self {
        let name = language.split([',', '{', ' ', ':']).next().unwrap_or("").to_ascii_lowercase();
        Self(match name.as_str() {
            "diff" | "patch" => Mode::Diff,
            name => {
                Language::find(name).map_or(Mode::Plain, |found| Mode::Lexer(Lexer::new(found)))
            }
        })
    }

    /// Returns the line with its colours.
    pub(crate) fn read_line(&mut self, text: &str) -> Line {
        if text.len() > MAX_LINE {
            return Line::new(text, Style::PLAIN);
        }
        match &mut self.0 {
            Mode::Plain => Line::new(text, Style::PLAIN),
            Mode::Diff => Line::new(text, style_of_diff(text)),
            Mode::Lexer(lexer) => lexer.read_line(text),
        }
    }
}

fn style_of_diff(line: &str) -> Style {
    match line.as_bytes().first() {
        _ if line.starts_with("+++") || line.starts_with("---") => Style::BOLD,
        Some(b'+') => Style::colored(Color::Green),
        Some(b'-') => Style::colored(Color::Red),
        Some(b'@') => Style::colored(Color::Cyan),
        _ => Style::PLAIN,
    }
}
