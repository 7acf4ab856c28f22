//! Styled text.
//!
//! Only attributes and the eight basic colours are used, because every terminal theme makes these readable on its own background.

use super::width;

/// A basic colour. Its number is that of the escape sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Red = 31,
    Green = 32,
    Magenta = 35,
    Cyan = 36,
}

/// The style of a piece of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) dim: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) strike: bool,
    pub(crate) color: Option<Color>,
}

impl Style {
    pub(crate) const PLAIN: Self = Self {
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        strike: false,
        color: None,
    };
    pub(crate) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub(crate) const DIM: Self = Self { dim: true, ..Self::PLAIN };

    pub(crate) const fn colored(color: Color) -> Self {
        Self { color: Some(color), ..Self::PLAIN }
    }

    /// Returns a style with the attributes of both.
    pub(crate) fn and(self, more: Self) -> Self {
        Self {
            bold: self.bold || more.bold,
            dim: self.dim || more.dim,
            italic: self.italic || more.italic,
            underline: self.underline || more.underline,
            strike: self.strike || more.strike,
            color: more.color.or(self.color),
        }
    }

    /// Writes the escape sequence that starts the style. Returns whether there is one.
    fn start(self, has_colors: bool, out: &mut String) -> bool {
        let attributes = [
            (self.bold, "1"),
            (self.dim, "2"),
            (self.italic, "3"),
            (self.underline, "4"),
            (self.strike, "9"),
        ];
        let mut codes: Vec<String> =
            attributes.iter().filter(|(on, _)| *on).map(|(_, code)| (*code).to_owned()).collect();
        codes.extend(self.color.filter(|_| has_colors).map(|color| (color as u8).to_string()));
        if codes.is_empty() {
            return false;
        }
        out.push_str("\x1b[");
        out.push_str(&codes.join(";"));
        out.push('m');
        true
    }
}

/// A line of styled text.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Line {
    spans: Vec<(Style, String)>,
    columns: usize,
}

impl Line {
    pub(crate) fn new(text: &str, style: Style) -> Self {
        let mut line = Self::default();
        line.push(text, style);
        line
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    pub(crate) fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        self.columns += width::of_str(text);
        match self.spans.last_mut() {
            Some((last, span)) if *last == style => span.push_str(text),
            _ => self.spans.push((style, text.to_owned())),
        }
    }

    pub(crate) fn push_char(&mut self, character: char, style: Style) {
        self.push(character.encode_utf8(&mut [0; 4]), style);
    }

    pub(crate) fn push_spaces(&mut self, count: usize) {
        self.push(&" ".repeat(count), Style::PLAIN);
    }

    pub(crate) fn append(&mut self, line: &Self) {
        for (style, text) in &line.spans {
            self.push(text, *style);
        }
    }

    pub(crate) fn spans(&self) -> impl Iterator<Item = (Style, &str)> {
        self.spans.iter().map(|(style, text)| (*style, text.as_str()))
    }

    /// Writes the line with its escape sequences, truncated to this many columns.
    pub(crate) fn write(&self, has_colors: bool, mut columns: usize, out: &mut String) {
        for (style, text) in &self.spans {
            let shown = width::truncate(text, columns);
            let is_styled = style.start(has_colors, out);
            out.push_str(shown);
            if is_styled {
                out.push_str("\x1b[0m");
            }
            if shown.len() < text.len() {
                return;
            }
            columns = columns.saturating_sub(width::of_str(text));
        }
    }

    /// Returns the text without its style.
    #[cfg(test)]
    pub(crate) fn text(&self) -> String {
        self.spans.iter().map(|(_, text)| text.as_str()).collect()
    }
}
