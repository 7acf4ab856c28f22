//! Word wrap by the width of the terminal.
//!
//! A line is broken at spaces, and between the characters of scripts that are written without spaces. A word that is longer than a
//! line is broken anywhere. At most one line and one word are kept, whatever the length of the text.

use super::style::{Line, Style};
use super::width;

/// Wraps one paragraph.
#[derive(Debug)]
pub(crate) struct Wrapper {
    width: usize,
    /// The start of each line after the first.
    indent: Line,
    /// The line so far, with its indent.
    line: Line,
    /// The columns of the line that are indent.
    indented: usize,
    /// The spaces between the line and the word.
    spaces: usize,
    space_style: Style,
    word: Line,
    last: Option<char>,
}

impl Wrapper {
    /// Starts a paragraph whose first line starts with `first` and whose other lines start with `indent`.
    pub(crate) fn new(width: usize, first: Line, indent: Line) -> Self {
        let indented = first.columns();
        Self {
            width,
            indent,
            line: first,
            indented,
            spaces: 0,
            space_style: Style::PLAIN,
            word: Line::default(),
            last: None,
        }
    }

    /// Adapts to a new width, from the current line on.
    pub(crate) fn resize(&mut self, width: usize) {
        self.width = width;
    }

    /// Adds text. Lines that are complete are added to `lines`.
    pub(crate) fn push(&mut self, text: &str, style: Style, lines: &mut Vec<Line>) {
        for character in text.chars() {
            if character == ' ' || character == '\t' {
                self.end_word(lines);
                self.spaces += 1;
                self.space_style = style;
            } else {
                if self.can_break_before(character) {
                    self.end_word(lines);
                }
                let columns = width::of_char(character);
                if self.word.columns() + columns > self.room() && columns > 0 {
                    self.break_word(lines);
                }
                self.word.push_char(character, style);
            }
            self.last = Some(character);
        }
    }

    /// Ends the paragraph.
    pub(crate) fn finish(mut self, lines: &mut Vec<Line>) {
        self.end_word(lines);
        lines.push(self.line);
    }

    /// Returns the line that is not complete.
    pub(crate) fn preview(&self) -> Line {
        let mut line = self.line.clone();
        if self.fits() {
            line.push(&" ".repeat(self.spaces), self.space_style);
            line.append(&self.word);
        }
        line
    }

    /// Returns the columns that a word can have at most.
    fn room(&self) -> usize {
        self.width.saturating_sub(self.indent.columns()).max(2)
    }

    fn fits(&self) -> bool {
        let is_start = self.line.columns() <= self.indented;
        is_start || self.line.columns() + self.spaces + self.word.columns() <= self.width
    }

    fn end_word(&mut self, lines: &mut Vec<Line>) {
        if self.word.is_empty() {
            return;
        }
        if !self.fits() {
            self.end_line(lines);
        }
        let is_start = self.line.columns() <= self.indented;
        // Spaces at the start of a paragraph are part of the text; those around a line break are not.
        if !is_start || self.spaces < self.width / 2 {
            self.line.push(&" ".repeat(self.spaces), self.space_style);
        }
        self.spaces = 0;
        let word = std::mem::take(&mut self.word);
        self.line.append(&word);
    }

    /// Breaks a word that does not fit into a line of its own.
    fn break_word(&mut self, lines: &mut Vec<Line>) {
        self.end_word(lines);
        self.end_line(lines);
    }

    fn end_line(&mut self, lines: &mut Vec<Line>) {
        self.indented = self.indent.columns();
        lines.push(std::mem::replace(&mut self.line, self.indent.clone()));
        self.spaces = 0;
    }

    /// Returns whether a line may be broken between the last character and this one.
    fn can_break_before(&self, character: char) -> bool {
        /// Joins what is before and after it.
        const JOINER: char = '\u{200d}';
        let Some(last) = self.last else { return false };
        if character.is_ascii() && last.is_ascii() {
            return false;
        }
        let is_wide = |c: char| width::of_char(c) == 2;
        (is_wide(last) || is_wide(character))
            && width::of_char(character) > 0
            && last != JOINER
            && !"、。，．・：；！？）」』】〕〉》”’%,.!?:;)]}".contains(character)
            && !"（「『【〔〈《“‘([{".contains(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(text: &str, width: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let indent = Line::new("  ", Style::PLAIN);
        let mut wrapper = Wrapper::new(width, Line::new("- ", Style::PLAIN), indent);
        wrapper.push(text, Style::PLAIN, &mut lines);
        wrapper.finish(&mut lines);
        lines.iter().map(Line::text).collect()
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("one two three", 9), ["- one two", "  three"]);
        assert_eq!(wrap("one two three", 80), ["- one two three"]);
        assert_eq!(wrap("a  b", 80), ["- a  b"]);
        assert_eq!(wrap("", 80), ["- "]);
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        assert_eq!(wrap("abcdefghijk", 6), ["- abcd", "  efgh", "  ijk"]);
        assert_eq!(wrap("x abcdefghijk", 6), ["- x", "  abcd", "  efgh", "  ijk"]);
        assert_eq!(wrap(&"x".repeat(100_000), 52).len(), 2_000);
    }

    #[test]
    fn scripts_without_spaces_are_broken_between_characters() {
        assert_eq!(wrap("日本語の文章。", 8), ["- 日本語", "  の文", "  章。"]);
        assert_eq!(wrap("e\u{301}e\u{301}e\u{301}", 4), ["- e\u{301}e\u{301}", "  e\u{301}"]);
        assert_eq!(wrap("👍👍👍", 6), ["- 👍👍", "  👍"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let text =
            "Ein Satz mit 日本語 und 👩\u{200d}👧 und einem_sehr_langen_wort_ohne_leerzeichen.";
        for width in 6..60 {
            for line in wrap(text, width) {
                assert!(width::of_str(&line) <= width, "{width}: {line}");
            }
        }
    }
}
