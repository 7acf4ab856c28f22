//! A table that fits the terminal.

use crate::printable;

/// The width that is assumed if the terminal does not report one.
const DEFAULT_WIDTH: usize = 80;

/// The narrowest last column.
const MIN_LAST: usize = 16;

/// Formats rows as columns. The last column takes what is left of the line and is shortened to it. Columns are left out from the right,
/// except the last, if the line is too narrow.
pub(super) fn format(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let escaped: Vec<Vec<String>> =
        std::iter::once(header.iter().map(|cell| (*cell).to_owned()).collect())
            .chain(rows.iter().map(|row| {
                row.iter().map(|cell| printable::escape_line(cell).into_owned()).collect()
            }))
            .collect();
    let Some(last) = header.len().checked_sub(1) else { return String::new() };
    let widths: Vec<usize> = (0..last)
        .map(|at| {
            escaped
                .iter()
                .filter_map(|row| row.get(at))
                .map(|cell| columns(cell))
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut shown = last;
    while shown > 1
        && widths[..shown].iter().map(|width| width + 2).sum::<usize>() + MIN_LAST > width
    {
        shown -= 1;
    }
    let used: usize = widths[..shown].iter().map(|width| width + 2).sum();
    let mut text = String::new();
    for row in &escaped {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths[..shown]) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - columns(cell).min(*width)));
        }
        if let Some(cell) = row.get(last) {
            line.push_str(&shorten(cell, width.saturating_sub(used).max(MIN_LAST)));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Shortens a cell to a width.
fn shorten(cell: &str, width: usize) -> String {
    if columns(cell) <= width {
        return cell.to_owned();
    }
    let mut used = 1;
    let kept = cell.chars().take_while(|c| {
        used += columns_of(*c);
        used <= width
    });
    let mut short: String = kept.collect();
    short.push('…');
    short
}

/// Returns how many columns a text takes at most: characters beyond Latin, Greek and Cyrillic count as two.
fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

fn columns_of(c: char) -> usize {
    if c < '\u{1100}' || c == '…' { 1 } else { 2 }
}

/// Returns the width of the terminal of stdout.
pub(super) fn width() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    DEFAULT_WIDTH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_the_width_and_hostile_cells_stay_in_their_line() {
        let rows = vec![
            vec!["01".to_owned(), "model".to_owned(), "日本語日本語日本語日本語日本語".to_owned()],
            vec!["02".to_owned(), "m".to_owned(), "two\nlines \u{1b}[2J".to_owned()],
        ];
        for width in [10, 20, 24, 40, 80] {
            let text = format(&["ID", "MODEL", "TITLE"], &rows, width);
            assert_eq!(text.lines().count(), 3, "{text}");
            assert!(
                text.lines().all(|line| columns(line) <= width.max(MIN_LAST + 4)),
                "{width}: {text}"
            );
            assert!(!text.contains('\u{1b}'));
        }
        assert_eq!(
            format(&["ID", "MODEL", "TITLE"], &rows, 40).lines().nth(2),
            Some("02  m      two\\nlines \\u{1b}[2J")
        );
    }
}
