//! Lists and quotes: where a line is placed.

use super::start::{Kind, LineStart};
use crate::screen::style::{Line, Style};
use crate::screen::width;

/// The bullets of nested lists.
const BULLETS: [&str; 3] = ["•", "◦", "▪"];

/// The list items that are open.
#[derive(Debug, Default)]
pub(super) struct Lists {
    items: Vec<Item>,
}

#[derive(Debug)]
struct Item {
    /// The column of the marker in the text.
    source: usize,
    /// The column of the content on the screen.
    content: usize,
}

impl Lists {
    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Returns what a line starts with on the screen, and what the lines start with that it wraps into.
    pub(super) fn place(&mut self, start: &LineStart, width: usize) -> (Line, Line) {
        let mut first = Line::default();
        // Half of the width is left for text, however deeply it is nested.
        let quotes = start.quotes.min(width / 6);
        (0..quotes).for_each(|_| first.push("│ ", Style::DIM));
        let mut indent = first.clone();
        if start.kind == Kind::Blank {
            return (first, indent);
        }
        if start.items.is_empty() {
            self.items.truncate(self.count_around(start.column));
            let content = self.items.last().map_or(0, |item| item.content);
            first.push_spaces(content);
            indent.push_spaces(content);
            return (first, indent);
        }
        let mut column = 0;
        for (at, (source, marker)) in start.items.iter().enumerate() {
            let task = start.task.filter(|_| at + 1 == start.items.len());
            // A column of difference is not a level.
            self.items.truncate(self.count_around(source.saturating_sub(1)));
            let from = self.items.last().map_or(0, |item| item.content);
            let depth = self.items.len();
            let shown = match marker.as_bytes().last() {
                _ if task == Some(true) => "☑",
                _ if task == Some(false) => "☐",
                Some(b'-' | b'*' | b'+') => BULLETS[depth.min(BULLETS.len() - 1)],
                _ => marker,
            };
            first.push_spaces(from.saturating_sub(column));
            first.push(shown, Style::PLAIN);
            first.push(" ", Style::PLAIN);
            column = from.max(column) + width::of_str(shown) + 1;
            let content = column.min(width / 3);
            self.items.push(Item { source: *source, content });
        }
        indent.push_spaces(self.items.last().map_or(0, |item| item.content));
        (first, indent)
    }

    /// Returns how many items contain a line that starts at this column.
    fn count_around(&self, column: usize) -> usize {
        self.items.iter().take_while(|item| item.source < column).count()
    }
}
