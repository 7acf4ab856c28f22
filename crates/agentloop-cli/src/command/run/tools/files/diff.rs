//! Formats a change of a file for the user.

use crate::printable;

/// How many unchanged lines are shown before and after a change.
const CONTEXT: usize = 3;

/// A change of a file.
#[derive(Debug)]
pub(super) struct Change<'a> {
    pub(super) path: &'a str,
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

/// Formats a change as the lines that are removed and added, with lines around them. Invisible characters are escaped.
///
/// An edit replaces one passage, so everything between the first and the last line that differ is shown as one change.
pub(super) fn format(change: &Change<'_>) -> Vec<String> {
    let before: Vec<&str> = change.before.split_inclusive('\n').collect();
    let after: Vec<&str> = change.after.split_inclusive('\n').collect();
    let same_start = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let most = before.len().min(after.len()) - same_start;
    let same_end =
        before.iter().rev().zip(after.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let (removed, added) =
        (same_start..before.len() - same_end, same_start..after.len() - same_end);
    let name = printable::escape_line(change.path);
    let mut lines = vec![if before.is_empty() {
        format!("  new file {name}")
    } else {
        format!("  {name}, line {}", same_start + 1)
    }];
    let mut push = |sign: char, line: &str| {
        let shown = printable::escape_line(line.strip_suffix('\n').unwrap_or(line)).into_owned();
        lines.push(format!("  {sign} {shown}"));
        if !line.ends_with('\n') {
            lines.push("    (no line end at the end of the file)".to_owned());
        }
    };
    let first = removed.start.saturating_sub(CONTEXT);
    before[first..removed.start].iter().for_each(|line| push(' ', line));
    before[removed.clone()].iter().for_each(|line| push('-', line));
    after[added].iter().for_each(|line| push('+', line));
    let last = before.len().min(removed.end + CONTEXT);
    before[removed.end..last].iter().for_each(|line| push(' ', line));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(before: &str, after: &str) -> String {
        format(&Change { path: "a.txt", before, after }).join("\n")
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        assert_eq!(
            show("1\n2\n3\n4\nold\n5\n6\n7\n8\n", "1\n2\n3\n4\nnew\nmore\n5\n6\n7\n8\n"),
            "  a.txt, line 5\n    2\n    3\n    4\n  - old\n  + new\n  + more\n    5\n    6\n    7"
        );
    }

    #[test]
    fn a_new_file_and_a_missing_line_end_are_shown() {
        assert_eq!(
            show("", "one\ntwo"),
            "  new file a.txt\n  + one\n  + two\n    (no line end at the end of the file)"
        );
        assert_eq!(show("a\na\n", "a\na\na\n"), "  a.txt, line 3\n    a\n    a\n  + a");
        assert_eq!(show("x\n", ""), "  a.txt, line 1\n  - x");
    }

    #[test]
    fn a_line_cannot_hide_or_imitate_another() {
        let shown = show("a\n", "a\u{202e}b\r\u{1b}[2Kc\n");
        assert!(shown.contains("+ a\\u{202e}b\\r\\u{1b}[2Kc"), "{shown}");
    }
}
