//! Finds the fenced code blocks of a text, as CommonMark defines them.
//!
//! - A fence has at least three backticks or tildes. It ends with a fence of the same character that is at least as long.
//! - A fence is indented by at most three spaces, within its list item or quotation. Its own indentation is removed from the code.
//! - A block that is not closed ends with its list item, its quotation or the text.

/// Which block is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    First,
    Last,
}

/// A code block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    /// The lines between the fences, as they are.
    pub(crate) code: String,
    /// Whether the text has the closing fence.
    pub(crate) is_closed: bool,
}

/// Returns the first or the last code block of a text.
pub(crate) fn find(text: &str, which: Which) -> Option<Block> {
    let mut reader = Reader::default();
    let mut found = None;
    for line in text.split_inclusive('\n') {
        if let Some(block) = reader.read(line) {
            match which {
                Which::First => return Some(block),
                Which::Last => found = Some(block),
            }
        }
    }
    let unclosed = reader.open.map(|open| Block { code: open.code, is_closed: false });
    match which {
        Which::First => unclosed,
        Which::Last => unclosed.or(found),
    }
}

/// A block whose end has not been read.
#[derive(Debug)]
struct Open {
    mark: char,
    length: usize,
    /// How many columns are removed from each line.
    indent: usize,
    /// The column of the list item that contains the block. A line that starts before it ends the block.
    item: usize,
    is_quoted: bool,
    code: String,
}

#[derive(Debug, Default)]
struct Reader {
    open: Option<Open>,
    /// The column at which the text of the current list item starts.
    item: usize,
}

impl Reader {
    /// Reads a line, and returns the block that it ends.
    fn read(&mut self, line: &str) -> Option<Block> {
        let ended = match self.open.as_mut() {
            Some(open) => {
                let inside = if open.is_quoted { strip_quote(line) } else { Some(line) };
                let is_inside = inside
                    .is_some_and(|line| line.trim().is_empty() || indent_of(line) >= open.item);
                match inside.filter(|_| is_inside) {
                    Some(line) if closes(line, open) => {
                        return self
                            .open
                            .take()
                            .map(|open| Block { code: open.code, is_closed: true });
                    }
                    Some(line) => {
                        open.code.push_str(remove_indent(line, open.indent));
                        return None;
                    }
                    // The list item or the quotation has ended, and the block with it.
                    None => {
                        self.open.take().map(|open| Block { code: open.code, is_closed: false })
                    }
                }
            }
            None => None,
        };
        self.start(line);
        ended
    }

    /// Reads a line outside of blocks.
    fn start(&mut self, line: &str) {
        let (line, is_quoted) = match strip_quote(line) {
            Some(inside) => (inside, true),
            None => (line, false),
        };
        if line.trim().is_empty() {
            return;
        }
        let mut indent = indent_of(line);
        if indent < self.item {
            self.item = 0;
        }
        let mut rest = line.trim_start_matches(' ');
        // A line can start several list items: `- 1. text`.
        while let Some(width) = marker_width(rest) {
            indent += width;
            self.item = indent;
            rest = rest.get(width..).unwrap_or_default();
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            indent += spaces;
            rest = rest.trim_start_matches(' ');
        }
        if indent < self.item + 4 {
            let (item, fence) = (self.item, opening(rest));
            self.open = fence.map(|(mark, length)| Open {
                mark,
                length,
                indent,
                item,
                is_quoted,
                code: String::new(),
            });
        }
    }
}

/// Returns the character and the length of an opening fence.
fn opening(text: &str) -> Option<(char, usize)> {
    let mark = text.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let info = text.trim_start_matches(mark);
    let length = text.len() - info.len();
    // Backticks after the fence make it a code span.
    let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
    is_fence.then_some((mark, length))
}

fn closes(line: &str, open: &Open) -> bool {
    let text = line.trim_start_matches(' ');
    let rest = text.trim_start_matches(open.mark);
    let length = text.len() - rest.len();
    indent_of(line) < open.item + 4 && length >= open.length && rest.trim().is_empty()
}

/// Returns the line without the mark of a quotation.
fn strip_quote(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches(' ');
    let inside = rest.strip_prefix('>').filter(|_| line.len() - rest.len() < 4)?;
    Some(inside.strip_prefix(' ').unwrap_or(inside))
}

/// Returns the number of spaces at the start of a line.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Removes at most `most` spaces from the start of a line.
fn remove_indent(line: &str, most: usize) -> &str {
    line.get(indent_of(line).min(most)..).unwrap_or(line)
}

/// Returns the width of the mark of a list item and the space after it: `- `, `12. `.
fn marker_width(text: &str) -> Option<usize> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 => text.starts_with(['-', '*', '+']),
        1..=9 => text.get(digits..).is_some_and(|rest| rest.starts_with(['.', ')'])),
        _ => false,
    };
    let has_space = text.get(digits + 1..).is_some_and(|rest| rest.starts_with(' '));
    (mark && has_space).then_some(digits + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn first(text: &str) -> Option<(String, bool)> {
        find(text, Which::First).map(|block| (block.code, block.is_closed))
    }

    fn closed(code: &str) -> Option<(String, bool)> {
        Some((code.to_owned(), true))
    }

    #[test]
    fn the_first_or_the_last_block_is_found() {
        let text = "Text\n```rust\nfn a() {}\n```\nmore\n~~~\nb\n~~~\n";
        assert_eq!(first(text), closed("fn a() {}\n"));
        let last = find(text, Which::Last).map(|block| block.code);
        assert_eq!(last.as_deref(), Some("b\n"));
        assert_eq!(first("no block, only `code` and ``` text"), None);
        assert_eq!(first("```\n```\n"), closed(""));
        assert_eq!(first("```sh\r\nls\r\n```\r\n"), closed("ls\r\n"));
    }

    #[test]
    fn a_fence_ends_only_with_its_own_kind() {
        assert_eq!(first("````md\n```\nx\n```\n````\n"), closed("```\nx\n```\n"));
        assert_eq!(first("~~~\n```\n~~~\n"), closed("```\n"));
        assert_eq!(first("```\n``` x\n`````\n"), closed("``` x\n"));
        assert_eq!(first("``\nx\n``\n"), None);
        assert_eq!(first("``` a`b\nx\n```\n"), Some((String::new(), false)));
        assert_eq!(first("    ```\n    x\n"), None, "indented code");
        assert_eq!(first("~~~ a`b ~\nx\n~~~\n"), closed("x\n"));
    }

    #[test]
    fn a_block_that_is_not_closed_goes_to_the_end() {
        assert_eq!(first("```\na\nb"), Some(("a\nb".to_owned(), false)));
        assert_eq!(first("```py\n"), Some((String::new(), false)));
        let last = find("```\na\n```\n```\nb", Which::Last);
        assert_eq!(last, Some(Block { code: "b".to_owned(), is_closed: false }));
    }

    #[test]
    fn indentation_of_the_fence_is_removed() {
        assert_eq!(first("  ```\n  a\n   b\nc\n  ```\n"), closed("a\n b\nc\n"));
        assert_eq!(first("1. Do\n   ```\n   a\n     b\n   ```\n"), closed("a\n  b\n"));
        assert_eq!(
            first("- x\n    - y\n      ```\n      a\n\n      b\n      ```\n"),
            closed("a\n\nb\n")
        );
        assert_eq!(first("- ```\n  a\n  ```\n"), closed("a\n"));
        assert_eq!(first("- ```\n  a\nText"), Some(("a\n".to_owned(), false)));
        assert_eq!(first("> ```\n> a\n> ```\n"), closed("a\n"));
        assert_eq!(first("> ```\n> a\nText\n"), Some(("a\n".to_owned(), false)));
    }

    proptest! {
        #[test]
        fn any_text_is_read_and_code_is_part_of_it(text in "[ `~>\\-1.a\u{e4}\n\r]{0,60}") {
            for which in [Which::First, Which::Last] {
                for line in find(&text, which).iter().flat_map(|block| block.code.lines()) {
                    prop_assert!(text.contains(line));
                }
            }
        }

        #[test]
        fn code_in_a_fence_that_is_longer_than_its_own_comes_back(code in "([ `a\u{e4}]{0,8}\n){0,5}") {
            let fence = "`".repeat(12);
            let text = format!("Text\n\n{fence}\n{code}{fence}\n");
            prop_assert_eq!(first(&text), closed(&code));
        }
    }
}
