//! Lines of a terminal that are final, and the last one, which may still change.

use super::style::Line;

/// The last line on the screen. It is rewritten as text arrives; the lines above it are never touched again.
#[derive(Debug)]
pub(crate) struct LiveLine {
    has_colors: bool,
    /// The open line as it is on the screen.
    shown: String,
}

impl LiveLine {
    pub(crate) fn new(has_colors: bool) -> Self {
        Self { has_colors, shown: String::new() }
    }

    /// Writes a line that does not change any more.
    pub(crate) fn commit(&mut self, line: &Line, out: &mut String) {
        let mut text = String::new();
        line.write(self.has_colors, usize::MAX, &mut text);
        self.replace(&text, out);
        out.push('\n');
        self.shown.clear();
    }

    /// Writes a line that may still change. It is truncated, because a line that wraps cannot be rewritten.
    pub(crate) fn preview(&mut self, line: &Line, columns: usize, out: &mut String) {
        let mut text = String::new();
        line.write(self.has_colors, columns.saturating_sub(1), &mut text);
        self.replace(&text, out);
        self.shown = text;
    }

    /// Ends the open line as it is.
    pub(crate) fn abandon(&mut self, out: &mut String) {
        if !self.shown.is_empty() {
            out.push('\n');
            self.shown.clear();
        }
    }

    pub(crate) fn has_colors(&self) -> bool {
        self.has_colors
    }

    /// Returns whether the cursor is within a line.
    #[cfg(test)]
    pub(crate) fn is_open(&self) -> bool {
        !self.shown.is_empty()
    }

    fn replace(&self, text: &str, out: &mut String) {
        match text.strip_prefix(self.shown.as_str()) {
            Some(more) => out.push_str(more),
            None => {
                out.push_str("\r\x1b[K");
                out.push_str(text);
            }
        }
    }
}
