//! Tables: aligned columns that fit the terminal, or tab-separated columns in a pipe.

use std::io;

use crate::output::Output;
use crate::printable;
use crate::screen::width;

/// The space between columns.
const GAP: usize = 2;

/// Columns are shortened to this width before a column is left out.
const MIN_WIDTH: usize = 10;

/// A table. A row may have fewer cells than the head.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Whether the cells of a column are numbers, which are aligned on the right.
    are_numbers: fn(usize) -> bool,
    /// Whether the last column is shown even if others are not.
    keeps_last: bool,
}

impl Table {
    pub(crate) fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self {
            head: head.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            are_numbers: |_| false,
            keeps_last: false,
        }
    }

    /// Aligns columns on the right.
    pub(crate) fn with_numbers(mut self, are_numbers: fn(usize) -> bool) -> Self {
        self.are_numbers = are_numbers;
        self
    }

    /// Shows the last column even if the terminal is so narrow that others are left out.
    pub(crate) fn keeping_last(mut self) -> Self {
        self.keeps_last = true;
        self
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Writes the table: with a head and aligned to the width of the terminal, else as tab-separated columns without a head.
    ///
    /// On a terminal long cells are shortened, and the last columns are left out if the terminal is very narrow.
    pub(crate) fn write(&self, output: &mut Output) -> io::Result<()> {
        match output.width() {
            Some(width) => self.align(width).iter().try_for_each(|line| output.write_line(line)),
            None => self.rows.iter().try_for_each(|row| {
                let cells: Vec<String> =
                    row.iter().map(|cell| cell.replace(['\t', '\n', '\r'], " ")).collect();
                output.write_line(&cells.join("\t"))
            }),
        }
    }

    /// Returns the lines of a terminal with this many columns.
    fn align(&self, width: usize) -> Vec<String> {
        let shown = |row: &Vec<String>| -> Vec<String> {
            row.iter().map(|cell| printable::escape_line(cell).into_owned()).collect()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(&self.head).chain(&self.rows).map(shown).collect();
        let widths = fit(&natural_widths(&rows), width, self.keeps_last);
        let line = |row: &Vec<String>| {
            let mut line = String::new();
            for (at, width) in &widths {
                let Some(cell) = row.get(*at) else { continue };
                let cell = width::shorten(cell, *width);
                let free = width.saturating_sub(width::of_str(&cell));
                let before = if (self.are_numbers)(*at) { free } else { 0 };
                line.push_str(&" ".repeat(before));
                line.push_str(&cell);
                line.push_str(&" ".repeat(free - before + GAP));
            }
            line.truncate(line.trim_end().len());
            line
        };
        rows.iter().map(line).collect()
    }
}

fn natural_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = width::of_str(cell).max(*width);
        }
    }
    widths
}

/// Returns the columns that are shown in a line of `width` columns, and their widths.
fn fit(natural: &[usize], width: usize, keeps_last: bool) -> Vec<(usize, usize)> {
    let mut places: Vec<usize> = (0..natural.len()).collect();
    let mut widths = natural.to_vec();
    let sum = |widths: &[usize]| widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
    // Columns are left out only if shortening the others is not enough.
    while widths.len() > 1 {
        let least: Vec<usize> = widths.iter().map(|width| (*width).min(MIN_WIDTH)).collect();
        if sum(&least) <= width {
            break;
        }
        let left_out = widths.len() - 1 - usize::from(keeps_last);
        widths.remove(left_out);
        places.remove(left_out);
    }
    if widths.is_empty() {
        return Vec::new();
    }
    while sum(&widths) > width {
        let excess = sum(&widths) - width;
        // The widest column is shortened first, but not below the next one.
        let Some(widest) = widths.iter().copied().max() else { break };
        let next = widths.iter().copied().filter(|other| *other < widest).max().unwrap_or(0);
        let least = if widths.len() > 1 { next.max(MIN_WIDTH) } else { 1 };
        let to = widest.saturating_sub(excess).max(least.min(widest - 1)).max(1);
        match widths.iter_mut().rfind(|width| **width == widest) {
            Some(column) if to < widest => *column = to,
            _ => break,
        }
    }
    places.into_iter().zip(widths).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widths(natural: &[usize], width: usize) -> Vec<usize> {
        fit(natural, width, false).into_iter().map(|(_, width)| width).collect()
    }

    #[test]
    fn columns_fit_the_width() {
        assert_eq!(widths(&[5, 5], 80), [5, 5]);
        assert_eq!(widths(&[40, 60], 80), [40, 38]);
        assert_eq!(widths(&[8, 100, 12], 60), [8, 36, 12]);
        for width in 1..200 {
            let widths = widths(&[13, 40, 90, 20, 16], width);
            let sum = widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
            assert!(!widths.is_empty() && sum <= width, "{width}: {widths:?}");
        }
        assert_eq!(widths(&[], 80), [0_usize; 0]);
        assert_eq!(fit(&[20, 20, 20], 25, true), [(0, 13), (2, 10)]);
        assert_eq!(fit(&[20, 20, 20], 15, true), [(2, 15)]);
    }

    fn table(names: &[&str]) -> Table {
        let mut table = Table::new(["TEAM", "COST", "KEYS"]).with_numbers(|at| at == 1);
        for (number, name) in names.iter().enumerate() {
            table.push(vec![(*name).to_owned(), "1".repeat(number + 1), "ci".to_owned()]);
        }
        table
    }

    #[test]
    fn columns_begin_at_the_same_place_whatever_the_names_are() {
        let names = [
            "web",
            "Müller",
            "日本語",
            "👍🎉",
            "e\u{301}e\u{301}",
            "a\tb\u{1b}[2J\u{202e}",
            "Ωμέγα",
        ];
        let lines = table(&names).align(80);
        let place = |line: &String, word: &str| {
            let at = line.rfind(word).unwrap();
            width::of_str(&line[..at])
        };
        let place_of_keys = place(&lines[0], "KEYS");
        for (line, name) in lines[1..].iter().zip(names) {
            assert_eq!(place(line, "ci"), place_of_keys, "{name}: {lines:#?}");
            assert!(!line.contains(char::is_control), "{line:?}");
        }
        // A terminal agrees.
        let mut screen = vt100::Parser::new(20.try_into().unwrap(), 80.try_into().unwrap(), 0);
        screen.process(lines.join("\r\n").as_bytes());
        for row in 1..=names.len() {
            let row = u16::try_from(row).unwrap();
            let cell = screen.screen().cell(row, u16::try_from(place_of_keys).unwrap()).unwrap();
            assert_eq!(cell.contents(), "c", "{lines:#?}");
        }
        assert_eq!(
            table(&["Müller", "b"]).align(80),
            ["TEAM    COST  KEYS", "Müller     1  ci", "b         11  ci"]
        );
    }

    #[test]
    fn every_line_fits_and_hostile_cells_stay_in_their_line() {
        let emoji = "👩\u{200d}👧".repeat(9);
        let names = ["日本語日本語日本語日本語日本語", "two\nlines \u{1b}[2J", &emoji];
        for width in 1..80 {
            for table in [table(&names), table(&names).keeping_last()] {
                let lines = table.align(width);
                assert_eq!(lines.len(), 4);
                for line in &lines {
                    assert!(width::of_str(line) <= width, "{width}: {line}");
                    assert!(!line.contains('\u{1b}'));
                }
            }
        }
    }
}
