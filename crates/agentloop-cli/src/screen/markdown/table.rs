//! Tables.
//!
//! The width of a column is known only when all rows are, so the first rows are held back, up to [`MAX_HELD_ROWS`]. Later rows use
//! the widths of those.

use super::inline;
use crate::screen::style::{Line, Style};
use crate::screen::wrap::Wrapper;

/// How many rows are held back to measure the columns.
const MAX_HELD_ROWS: usize = 64;

/// The narrowest column. If the columns of a table do not fit, each row is shown as a list.
const MIN_COLUMN: usize = 6;

/// The most columns that are added to each column of a long table, for rows that are not known yet.
const MAX_SPARE: usize = 4;

/// The space between two columns.
const SEPARATOR: &str = " │ ";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Align {
    Left,
    Center,
    Right,
}

/// A cell: its text by lines.
type Cell = Vec<Line>;

/// A table that is being read.
#[derive(Debug)]
pub(super) struct Table {
    header: Vec<Cell>,
    aligns: Vec<Align>,
    rows: Vec<Vec<Cell>>,
    /// How it is shown, once that is decided.
    layout: Option<Layout>,
}

#[derive(Debug)]
enum Layout {
    /// The widths of the columns.
    Columns(Vec<usize>),
    /// Each row as a list of its cells, with their headers.
    List,
}

impl Table {
    /// Starts a table, if the second line is the line below a header.
    pub(super) fn start(header: &str, below: &str) -> Option<Self> {
        let aligns: Option<Vec<Align>> =
            split_cells(below).iter().map(|c| parse_align(c)).collect();
        let aligns = aligns.filter(|aligns| !aligns.is_empty())?;
        let header = split_cells(header);
        if header.len() != aligns.len() {
            return None;
        }
        let header = header.iter().map(|cell| read_cell(cell, Style::BOLD)).collect();
        Some(Self { header, aligns, rows: Vec::new(), layout: None })
    }

    /// Adds a row. Lines that can be shown are added to `lines`.
    pub(super) fn push(&mut self, row: &str, width: usize, lines: &mut Vec<Line>) {
        let mut cells: Vec<Cell> =
            split_cells(row).iter().map(|cell| read_cell(cell, Style::PLAIN)).collect();
        // Cells without a header are added to the last one, so that nothing is lost.
        while cells.len() > self.header.len() {
            let more = cells.pop().unwrap_or_default();
            if let Some(last) = cells.last_mut() {
                last.extend(more);
            }
        }
        cells.resize(self.header.len(), Vec::new());
        self.rows.push(cells);
        if self.layout.is_some() || self.rows.len() >= MAX_HELD_ROWS {
            self.show(width, lines);
        }
    }

    /// Describes the table while it is held back.
    pub(super) fn describe(&self) -> String {
        match self.rows.len() {
            0 => "table".to_owned(),
            1 => "table, 1 row".to_owned(),
            rows => format!("table, {rows} rows"),
        }
    }

    /// Ends the table.
    pub(super) fn finish(mut self, width: usize, lines: &mut Vec<Line>) {
        self.show(width, lines);
    }

    /// Shows the rows that are held back.
    fn show(&mut self, width: usize, lines: &mut Vec<Line>) {
        if self.layout.is_none() {
            let layout = self.decide_layout(width);
            if let Layout::Columns(widths) = &layout {
                self.show_row(&self.header, widths, lines);
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::new(&rule.join("─┼─"), Style::DIM));
            }
            self.layout = Some(layout);
        }
        for row in std::mem::take(&mut self.rows) {
            match &self.layout {
                Some(Layout::Columns(widths)) => self.show_row(&row, widths, lines),
                _ => self.show_list(&row, width, lines),
            }
        }
    }

    fn decide_layout(&self, width: usize) -> Layout {
        let columns = self.header.len();
        let natural: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = std::iter::once(&self.header).chain(&self.rows);
                let cells = cells.filter_map(|row| row.get(column));
                cells.flatten().map(Line::columns).max().unwrap_or(0).max(1)
            })
            .collect();
        let gaps = (columns - 1) * SEPARATOR.chars().count();
        let Some(room) = width.checked_sub(gaps) else { return Layout::List };
        // The widest columns are narrowed to a common limit.
        let total = |limit: usize| natural.iter().map(|width| *width.min(&limit)).sum::<usize>();
        let mut limit = natural.iter().max().copied().unwrap_or(1).min(room);
        while limit > MIN_COLUMN && total(limit) > room {
            limit -= 1;
        }
        if total(limit) > room {
            return Layout::List;
        }
        // Rows that are not known yet may need more than those that are.
        let spare = (room - total(limit)) / columns;
        let spare = if self.rows.len() < MAX_HELD_ROWS { 0 } else { spare.min(MAX_SPARE) };
        Layout::Columns(natural.iter().map(|width| *width.min(&limit) + spare).collect())
    }

    fn show_row(&self, row: &[Cell], widths: &[usize], lines: &mut Vec<Line>) {
        let wrapped: Vec<Vec<Line>> =
            row.iter().zip(widths).map(|(cell, width)| wrap_cell(cell, *width)).collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(1).max(1);
        for at in 0..height {
            let mut line = Line::default();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(SEPARATOR, Style::DIM);
                }
                let empty = Line::default();
                let piece = wrapped.get(column).and_then(|cell| cell.get(at)).unwrap_or(&empty);
                let free = width.saturating_sub(piece.columns());
                let before = match self.aligns.get(column) {
                    Some(Align::Right) => free,
                    Some(Align::Center) => free / 2,
                    _ => 0,
                };
                line.push_spaces(before);
                line.append(piece);
                if column + 1 < widths.len() {
                    line.push_spaces(free - before);
                }
            }
            lines.push(line);
        }
    }

    fn show_list(&self, row: &[Cell], width: usize, lines: &mut Vec<Line>) {
        for (header, cell) in self.header.iter().zip(row) {
            let mut wrapper = Wrapper::new(width, Line::default(), Line::new("  ", Style::PLAIN));
            let name = header.iter().flat_map(Line::spans);
            name.for_each(|(style, text)| wrapper.push(text, style, lines));
            wrapper.push(":", Style::BOLD, lines);
            for piece in cell {
                wrapper.push(" ", Style::PLAIN, lines);
                piece.spans().for_each(|(style, text)| wrapper.push(text, style, lines));
            }
            wrapper.finish(lines);
        }
        lines.push(Line::new(&"─".repeat(width.min(8)), Style::DIM));
    }
}

/// Splits a row at the bars that are not escaped and not within code.
fn split_cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut is_code = false;
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        let Some(cell) = cells.last_mut() else { break };
        match character {
            '\\' if next == Some('|') => {
                characters.next();
                cell.push('|');
            }
            '|' if !is_code => cells.push(String::new()),
            _ => {
                is_code ^= character == '`';
                cell.push(character);
            }
        }
    }
    if is_code && cells.len() == 1 {
        return row.split('|').map(|cell| cell.trim().to_owned()).collect();
    }
    // The bar at the end is not followed by a cell.
    if cells.len() > 1 && cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

fn parse_align(cell: &str) -> Option<Align> {
    let dashes = cell.trim_matches(':');
    if dashes.is_empty() || dashes.chars().any(|c| c != '-') {
        return None;
    }
    Some(match (cell.starts_with(':'), cell.ends_with(':')) {
        (true, true) => Align::Center,
        (_, true) => Align::Right,
        _ => Align::Left,
    })
}

fn read_cell(text: &str, style: Style) -> Cell {
    let text = text.replace("<br/>", "<br>").replace("<br />", "<br>");
    let pieces = text.split("<br>").map(|piece| {
        let mut line = Line::default();
        inline::show(piece.trim(), style, &mut |text, style| line.push(text, style));
        line
    });
    pieces.collect()
}

fn wrap_cell(cell: &Cell, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for piece in cell {
        let mut wrapper = Wrapper::new(width, Line::default(), Line::default());
        piece.spans().for_each(|(style, text)| wrapper.push(text, style, &mut lines));
        wrapper.finish(&mut lines);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[&str], width: usize) -> String {
        let mut table = Table::start(rows[0], rows[1]).unwrap();
        let mut lines = Vec::new();
        rows[2..].iter().for_each(|row| table.push(row, width, &mut lines));
        table.finish(width, &mut lines);
        lines.iter().map(|line| line.text().trim_end().to_owned() + "\n").collect()
    }

    const ROWS: [&str; 4] = [
        "| Name | Size | Note |",
        "|:-----|-----:|------|",
        "| `a\\|b` | 1 | **first** |",
        "| longer name | 1,000 | a note that needs more room than there is |",
    ];

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        assert_eq!(
            shown(&ROWS, 80),
            "\
Name        │  Size │ Note
────────────┼───────┼──────────────────────────────────────────
a|b         │     1 │ first
longer name │ 1,000 │ a note that needs more room than there is
"
        );
    }

    #[test]
    fn cells_wrap_where_the_table_is_too_wide() {
        assert_eq!(
            shown(&ROWS, 36),
            "\
Name        │  Size │ Note
────────────┼───────┼───────────────
a|b         │     1 │ first
longer name │ 1,000 │ a note that
            │       │ needs more
            │       │ room than
            │       │ there is
"
        );
    }

    #[test]
    fn a_narrow_terminal_shows_rows_as_lists() {
        assert_eq!(
            shown(&ROWS, 20),
            "\
Name: a|b
Size: 1
Note: first
────────
Name: longer name
Size: 1,000
Note: a note that
  needs more room
  than there is
────────
"
        );
    }

    #[test]
    fn a_row_with_more_cells_than_the_header_loses_nothing() {
        let text = shown(&["| a | b |", "|-|-|", "| 1 | 2 | 3 | 4 |", "| 5 |", "6"], 40);
        for word in ["1", "2", "3", "4", "5", "6"] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn a_long_table_is_shown_before_it_ends() {
        let mut table = Table::start("| a | b |", "|---|---|").unwrap();
        let mut lines = Vec::new();
        for row in 0..100_000 {
            table.push(&format!("| {row} | text |"), 80, &mut lines);
            assert!(table.rows.len() < MAX_HELD_ROWS);
        }
        table.finish(80, &mut lines);
        assert_eq!(lines.len(), 100_002);
    }

    #[test]
    fn lines_that_are_not_a_table_start_none() {
        assert!(Table::start("| a |", "| b |").is_none());
        assert!(Table::start("| a | b |", "|---|").is_none());
        assert!(Table::start("| a |", "").is_none());
        assert!(Table::start("|", "|").is_none());
    }
}
