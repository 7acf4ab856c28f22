//! Blocks of code.
//!
//! Code is not indented and not wrapped by this program, so that it can be copied from the terminal.

use super::start::LineStart;
use crate::screen::highlight::Highlighter;
use crate::screen::style::{Line, Style};
use crate::screen::width;

/// The length of the lines before and after code.
const RULE: usize = 40;

/// How many columns a tab takes.
const TAB: &str = "    ";

/// A block of code that is open.
#[derive(Debug)]
pub(super) struct Code {
    marker: char,
    length: usize,
    /// The spaces before the marker, which are removed from each line.
    column: usize,
    quotes: usize,
    /// What each line starts with on the screen.
    indent: Line,
    /// The length of the lines before and after the code.
    rule: usize,
    highlighter: Highlighter,
}

impl Code {
    /// Starts a block with this marker of this length. Returns it with the line to show before the code.
    pub(super) fn start(
        marker: (char, usize),
        language: &str,
        start: &LineStart,
        (mut first, indent): (Line, Line),
        width: usize,
    ) -> (Self, Line) {
        let rule = RULE.min(width.saturating_sub(first.columns()));
        let language = width::truncate(language, rule.saturating_sub(5));
        if !language.is_empty() {
            first.push(&format!("── {language} "), Style::DIM);
        }
        let rest = (indent.columns() + rule).saturating_sub(first.columns());
        first.push(&"─".repeat(rest), Style::DIM);
        let (column, quotes) = (start.column, start.quotes);
        let highlighter = Highlighter::new(language);
        let (marker, length) = marker;
        (Self { marker, length, column, quotes, indent, rule, highlighter }, first)
    }

    /// Returns the line after the code.
    pub(super) fn end(&self) -> Line {
        let mut line = self.indent.clone();
        line.push(&"─".repeat(self.rule), Style::DIM);
        line
    }

    /// Returns whether this line ends the code.
    pub(super) fn is_end(&self, line: &str) -> bool {
        let line = self.strip(line).trim();
        line.len() >= self.length && line.chars().all(|c| c == self.marker)
    }

    /// Adds a line of code.
    pub(super) fn push(&mut self, line: &str, lines: &mut Vec<Line>) {
        let text = self.strip(line).replace('\t', TAB);
        let mut shown = self.indent.clone();
        shown.append(&self.highlighter.read_line(&text));
        lines.push(shown);
    }

    /// Returns the line that is open.
    pub(super) fn preview(&self, line: &str) -> Line {
        let text = self.strip(line);
        if text.trim_start().starts_with(self.marker) || text.is_empty() {
            return Line::default();
        }
        let mut shown = self.indent.clone();
        shown.push(&text.replace('\t', TAB), Style::PLAIN);
        shown
    }

    /// Removes what belongs to the containers of the code.
    fn strip<'a>(&self, mut line: &'a str) -> &'a str {
        for _ in 0..self.quotes {
            let Some(rest) = line.trim_start().strip_prefix('>') else { break };
            line = rest.strip_prefix(' ').unwrap_or(rest);
        }
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.column)..]
    }
}
