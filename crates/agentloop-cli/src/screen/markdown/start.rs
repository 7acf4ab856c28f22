//! The start of a line, which decides what the line is.

/// How many quotes and list items can be nested on one line. Further markers are shown as text.
const MAX_NESTING: usize = 8;

/// What a line is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    Blank,
    Heading(usize),
    /// A line across the page.
    Rule,
    /// The start of code, with its marker, the length of it, and the language.
    Fence(char, usize, String),
    /// A row of a table, or a line that looks like one.
    Row,
    Text,
}

/// The start of a line.
#[derive(Debug, PartialEq)]
pub(super) struct LineStart {
    /// The number of quote markers.
    pub(super) quotes: usize,
    /// The list items that start on this line: the column of the marker, and the marker.
    pub(super) items: Vec<(usize, String)>,
    /// Whether the item is a task, and whether it is done.
    pub(super) task: Option<bool>,
    /// The column of the content. It does not count quote markers.
    pub(super) column: usize,
    pub(super) kind: Kind,
    /// Where the content starts.
    pub(super) content: usize,
}

/// More of the line is needed.
#[derive(Debug, PartialEq)]
pub(super) struct Undecided {
    /// Whether only the end of the line can decide.
    pub(super) needs_end: bool,
}

const MORE: Undecided = Undecided { needs_end: false };
const END: Undecided = Undecided { needs_end: true };

/// Reads the start of a line. If the line is not complete, the result does not depend on its rest.
pub(super) fn read(line: &str, is_complete: bool) -> Result<LineStart, Undecided> {
    let mut start = LineStart {
        quotes: 0,
        items: Vec::new(),
        task: None,
        column: 0,
        kind: Kind::Text,
        content: 0,
    };
    loop {
        let rest = &line[start.content..];
        let text = rest.trim_start_matches([' ', '\t']);
        let spaces = rest.len() - text.len();
        let indent: usize = rest[..spaces].chars().map(|c| if c == '\t' { 4 } else { 1 }).sum();
        let Some(first) = text.chars().next() else {
            if !is_complete {
                return Err(MORE);
            }
            start.kind = if start.items.is_empty() { Kind::Blank } else { Kind::Text };
            start.content = line.len();
            return Ok(start);
        };
        let is_nested = start.quotes + start.items.len() >= MAX_NESTING;
        if first == '>' && !is_nested && indent < 4 {
            // One space after the marker belongs to it.
            match text[1..].chars().next() {
                None if !is_complete => return Err(MORE),
                Some(' ') => start.content += spaces + 2,
                _ => start.content += spaces + 1,
            }
            start.quotes += 1;
            continue;
        }
        start.column += indent;
        start.content += spaces;
        if is_rule(text, is_complete)? {
            start.kind = Kind::Rule;
            return Ok(start);
        }
        if !is_nested && let Some(length) = read_marker(text, is_complete)? {
            start.items.push((start.column, text[..length].to_owned()));
            start.column += length;
            start.content += length;
            continue;
        }
        if !start.items.is_empty() && first == '[' {
            start.task = read_task(text, is_complete)?;
            start.content += if start.task.is_some() { TASK } else { 0 };
            return Ok(start);
        }
        start.kind = match first {
            '`' | '~' => read_fence(text, first, is_complete)?,
            '#' => read_heading(text, is_complete)?,
            '|' if is_complete => Kind::Row,
            '|' => return Err(END),
            _ => Kind::Text,
        };
        if let Kind::Heading(level) = start.kind {
            let content = text[level..].trim_start();
            start.content += text.len() - content.len();
        }
        return Ok(start);
    }
}

/// Returns whether a line consists of three or more of the same marker.
fn is_rule(text: &str, is_complete: bool) -> Result<bool, Undecided> {
    let Some(marker) = text.chars().next().filter(|c| "-*_".contains(*c)) else { return Ok(false) };
    if text.chars().any(|c| c != marker && c != ' ') {
        return Ok(false);
    }
    if is_complete { Ok(text.matches(marker).count() >= 3) } else { Err(MORE) }
}

/// Returns the length of the marker of a list item, without the space after it.
fn read_marker(text: &str, is_complete: bool) -> Result<Option<usize>, Undecided> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length = match text.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => 1,
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        None if !is_complete && (1..=9).contains(&digits) => return Err(MORE),
        _ => return Ok(None),
    };
    match text.as_bytes().get(length) {
        Some(b' ' | b'\t') => Ok(Some(length)),
        None if !is_complete => Err(MORE),
        None => Ok(Some(length)),
        _ => Ok(None),
    }
}

/// The length of the box of a task, with the space after it.
const TASK: usize = 4;

/// Returns whether the task of a list item is done, if it is one.
fn read_task(text: &str, is_complete: bool) -> Result<Option<bool>, Undecided> {
    let boxes = [("[ ] ", false), ("[x] ", true), ("[X] ", true)];
    if !is_complete && boxes.iter().any(|(start, _)| start.starts_with(text) && *start != text) {
        return Err(MORE);
    }
    Ok(boxes.iter().find(|(start, _)| text.starts_with(start)).map(|(_, is_done)| *is_done))
}

fn read_heading(text: &str, is_complete: bool) -> Result<Kind, Undecided> {
    let level = text.len() - text.trim_start_matches('#').len();
    if level > 6 {
        return Ok(Kind::Text);
    }
    let content = text[level..].trim_start_matches([' ', '\t']);
    match text.as_bytes().get(level) {
        // The spaces before the content are needed too.
        _ if content.is_empty() && !is_complete => Err(MORE),
        Some(b' ' | b'\t') | None => Ok(Kind::Heading(level)),
        _ => Ok(Kind::Text),
    }
}

fn read_fence(text: &str, marker: char, is_complete: bool) -> Result<Kind, Undecided> {
    let length = text.len() - text.trim_start_matches(marker).len();
    let info = &text[length..];
    if length < 3 {
        let is_decided = is_complete || !info.is_empty();
        return if is_decided { Ok(Kind::Text) } else { Err(MORE) };
    }
    if marker == '`' && info.contains('`') {
        return Ok(Kind::Text);
    }
    match is_complete {
        true => {
            let language = info.split_whitespace().next().unwrap_or("");
            Ok(Kind::Fence(marker, length, language.to_owned()))
        }
        // A tick can still make it code within text.
        false if marker == '`' => Err(MORE),
        false => Err(END),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(line: &str) -> Kind {
        read(line, true).unwrap().kind
    }

    #[test]
    fn the_start_of_a_line_decides_what_it_is() {
        assert_eq!(kind(""), Kind::Blank);
        assert_eq!(kind("  "), Kind::Blank);
        assert_eq!(kind("# A"), Kind::Heading(1));
        assert_eq!(kind("###### A"), Kind::Heading(6));
        assert_eq!(kind("#A"), Kind::Text);
        assert_eq!(kind("---"), Kind::Rule);
        assert_eq!(kind("* * *"), Kind::Rule);
        assert_eq!(kind("--"), Kind::Text);
        assert_eq!(kind("**a**"), Kind::Text);
        assert_eq!(kind("```rust,ignore"), Kind::Fence('`', 3, "rust,ignore".to_owned()));
        assert_eq!(kind("```a``` b"), Kind::Text);
        assert_eq!(kind("~~~~"), Kind::Fence('~', 4, String::new()));
        assert_eq!(kind("| a | b"), Kind::Row);
        assert_eq!(kind("text"), Kind::Text);
    }

    #[test]
    fn quotes_and_items_are_containers() {
        let start = read("> > 10. - text", true).unwrap();
        assert_eq!((start.quotes, start.column, start.content), (2, 6, 10));
        assert_eq!(start.items, [(0, "10.".to_owned()), (4, "-".to_owned())]);
        let deep = read(&"> ".repeat(1_000), true).unwrap();
        assert_eq!((deep.quotes, deep.kind), (MAX_NESTING, Kind::Text));
        assert_eq!(read("-5 degrees", true).unwrap().items, []);
        assert_eq!(read("1985 was", true).unwrap().items, []);
    }

    #[test]
    fn a_decision_does_not_depend_on_the_rest_of_the_line() {
        for line in [
            "> # A heading",
            "- [x] done",
            "- [link](x)",
            "- [ ]",
            "* * *",
            "***bold***",
            "- - -a",
            "```rust",
            "``` a ` b",
            "12) x",
            "12)x",
            "| a |",
            "~~~ x",
            "~~a~~",
            "--- a",
            "#hash",
            "#  x",
            "      code",
            ">quote",
            "> > > x",
            "1.",
            "-",
            "+ +",
            "\tx",
            "  - y",
            "1234567890. x",
        ] {
            let whole = read(line, true).unwrap();
            for (at, _) in line.char_indices() {
                if let Ok(early) = read(&line[..at], false) {
                    assert_eq!(early, whole, "{:?} of {line:?}", &line[..at]);
                }
            }
        }
    }
}
