//! Tables: aligned columns that fit the terminal, or tab-separated columns in a pipe.

use std::io;

use crate::output::Output;
use crate::printable;

/// The space between columns.
const GAP: usize = 2;

/// Columns are shortened to this width before a column is left out.
const MIN_WIDTH: usize = 10;

/// A table. A row may have fewer cells than the head.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<T: Into<String>>(head: impl IntoIterator<Item = T>) -> Self {
        Self { head: head.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Writes the table: with a head and aligned to the width of the terminal, else as tab-separated columns without a head.
    ///
    /// On a terminal long cells are shortened, and the last columns are left out if the terminal is very narrow.
    pub(crate) fn write(&self, output: &mut Output) -> io::Result<()> {
        match output.width() {
            Some(width) => self.write_aligned(width, output),
            None => self.rows.iter().try_for_each(|row| {
                let cells: Vec<String> =
                    row.iter().map(|cell| cell.replace(['\t', '\n', '\r'], " ")).collect();
                output.write_line(&cells.join("\t"))
            }),
        }
    }

    fn write_aligned(&self, width: usize, output: &mut Output) -> io::Result<()> {
        let shown = |row: &Vec<String>| -> Vec<String> {
            row.iter().map(|cell| printable::escape_name(cell).into_owned()).collect()
        };
        let rows: Vec<Vec<String>> =
            std::iter::once(&self.head).chain(&self.rows).map(shown).collect();
        let widths = fit(&natural_widths(&rows), width);
        for row in &rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                let cell = shorten(cell, *width);
                line.push_str(&cell);
                line.push_str(&" ".repeat(width - columns(&cell) + GAP));
            }
            output.write_line(line.trim_end())?;
        }
        Ok(())
    }
}

fn natural_widths(rows: &[Vec<String>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            match widths.get_mut(at) {
                Some(width) => *width = columns(cell).max(*width),
                None => widths.push(columns(cell)),
            }
        }
    }
    widths
}

/// Returns the widths of the columns that are shown in a line of `width` columns.
fn fit(natural: &[usize], width: usize) -> Vec<usize> {
    let mut widths = natural.to_vec();
    let sum = |widths: &[usize]| widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
    // Columns are left out only if shortening the others is not enough.
    while widths.len() > 1 {
        let least: Vec<usize> = widths.iter().map(|width| (*width).min(MIN_WIDTH)).collect();
        if sum(&least) <= width {
            break;
        }
        widths.pop();
    }
    if widths.is_empty() {
        return widths;
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
    widths
}

/// Shortens a cell to a width, and marks it with `…`.
fn shorten(cell: &str, width: usize) -> String {
    if columns(cell) <= width {
        return cell.to_owned();
    }
    let mut shortened = String::new();
    let mut used = 1;
    for character in cell.chars() {
        used += width_of(character);
        if used > width {
            break;
        }
        shortened.push(character);
    }
    shortened + "…"
}

/// Counts the columns of a text.
fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// Returns the columns of a character. Beyond ASCII and the ellipsis it is assumed to be wide.
fn width_of(character: char) -> usize {
    if character.is_ascii() || character == '…' { 1 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_the_width() {
        assert_eq!(fit(&[5, 5], 80), [5, 5]);
        assert_eq!(fit(&[40, 60], 80), [40, 38]);
        assert_eq!(fit(&[8, 100, 12], 60), [8, 36, 12]);
        for width in 1..200 {
            let widths = fit(&[13, 40, 90, 20, 16], width);
            let sum = widths.iter().map(|width| width + GAP).sum::<usize>() - GAP;
            assert!(!widths.is_empty() && sum <= width, "{width}: {widths:?}");
        }
        assert_eq!(fit(&[], 80), [0_usize; 0]);
    }

    #[test]
    fn a_long_cell_is_shortened_and_marked() {
        assert_eq!(shorten("abcdef", 6), "abcdef");
        assert_eq!(shorten("abcdefg", 6), "abcde…");
        assert_eq!(shorten("äöüäöü", 6), "äö…");
        assert_eq!(shorten("abc", 1), "…");
    }
}
