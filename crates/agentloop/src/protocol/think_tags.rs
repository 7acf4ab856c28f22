//! Takes thoughts out of text in which a model wrote them between tags.

use std::borrow::Cow;

use crate::provider::ThinkTags;

/// The tags of a model.
#[derive(Clone, Copy, Debug)]
struct Tags {
    open: &'static str,
    close: &'static str,
    /// Whether white space beside a tag belongs to neither side.
    trims: bool,
}

/// A piece of the text of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
}

/// Splits a text that arrives in pieces, wherever they are cut.
///
/// - White space before the first tag, after an opening tag and after a closing tag belongs to neither side.
/// - What could be the beginning of a tag is held back until it is known.
/// - Thoughts that are never closed are thoughts to the end; a tag that is never completed is text.
/// - Between `<reasoning>` tags white space counts: Bedrock wraps every chunk of thoughts in tags of its own, so a
///   space after a tag separates two words (recording 8f1b8949).
#[derive(Clone, Debug)]
pub(crate) struct ThinkSplitter {
    tags: Tags,
    state: State,
    /// White space to leave out until something else comes.
    trimming: bool,
    /// What could become a tag, or white space that may be before one.
    held: String,
    /// How many bytes at the beginning of `held` are known to be white space, so each is looked at once.
    blank: usize,
}

/// How much white space may come before an opening tag. More is text.
const MAX_BLANK_BYTES: usize = 64 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing but white space so far.
    Before,
    Text,
    Thinking,
}

impl ThinkSplitter {
    /// Returns `None` when tags are just text.
    pub(crate) fn new(tags: ThinkTags) -> Option<Self> {
        let think = Tags { open: "<think>", close: "</think>", trims: true };
        let reasoning = Tags { open: "<reasoning>", close: "</reasoning>", trims: false };
        let tags = match tags {
            ThinkTags::None => return None,
            ThinkTags::Paired => think,
            ThinkTags::Reasoning => reasoning,
        };
        Some(Self { tags, state: State::Before, trimming: false, held: String::new(), blank: 0 })
    }

    /// Adds the next piece of text, and passes on the pieces that are certain.
    pub(crate) fn push(&mut self, text: &str, mut take: impl FnMut(Piece<'_>)) {
        if self.held.is_empty() {
            return self.split(text, &mut take);
        }
        self.held.push_str(text);
        if self.state == State::Before && self.may_open() {
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.split(&held, &mut take);
    }

    /// Returns whether the held-back text can still become an opening tag.
    fn may_open(&mut self) -> bool {
        let rest = &self.held[self.blank..];
        let word = rest.trim_start();
        self.blank += rest.len() - word.len();
        let open = self.tags.open;
        let may = word.len() < open.len() && open.starts_with(word);
        if self.blank > MAX_BLANK_BYTES {
            self.state = State::Text;
        }
        may && self.state == State::Before
    }

    /// Returns the held-back text as it is, because the text ends or something else follows.
    pub(crate) fn flush(&mut self) -> Option<Piece<'static>> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        self.blank = 0;
        if self.state == State::Thinking {
            return Some(Piece::Thinking(Cow::Owned(held)));
        }
        self.state = State::Text;
        Some(Piece::Text(Cow::Owned(held)))
    }

    fn split(&mut self, mut rest: &str, take: &mut impl FnMut(Piece<'_>)) {
        loop {
            if self.trimming {
                rest = rest.trim_start();
                if rest.is_empty() {
                    return;
                }
                self.trimming = false;
            }
            let Tags { open, close, trims } = self.tags;
            let tag = if self.state == State::Thinking { close } else { open };
            if self.state == State::Before {
                let trimmed = rest.trim_start();
                if trimmed.len() < tag.len() && tag.starts_with(trimmed) {
                    rest.clone_into(&mut self.held);
                    self.blank = rest.len() - trimmed.len();
                    return;
                }
                if let Some(after) = trimmed.strip_prefix(tag) {
                    (self.state, self.trimming) = (State::Thinking, trims);
                    rest = after;
                    continue;
                }
                // No thoughts first: white space and all else is text, in which thoughts may still come.
                self.state = State::Text;
            }
            match rest.find(tag) {
                Some(at) => {
                    self.hand_on(&rest[..at], take);
                    rest = &rest[at + tag.len()..];
                    self.state = match self.state {
                        State::Thinking => State::Text,
                        _ => State::Thinking,
                    };
                    self.trimming = trims;
                }
                None => {
                    let keep = beginning_of(tag, rest);
                    self.hand_on(&rest[..rest.len() - keep], take);
                    rest[rest.len() - keep..].clone_into(&mut self.held);
                    return;
                }
            }
        }
    }

    fn hand_on(&self, text: &str, take: &mut impl FnMut(Piece<'_>)) {
        if text.is_empty() {
            return;
        }
        take(match self.state {
            State::Thinking => Piece::Thinking(Cow::Borrowed(text)),
            State::Before | State::Text => Piece::Text(Cow::Borrowed(text)),
        });
    }
}

/// Returns how many bytes at the end of `text` could be the beginning of `tag`.
fn beginning_of(tag: &str, text: &str) -> usize {
    (1..tag.len().min(text.len() + 1))
        .rev()
        .find(|length| text.as_bytes().ends_with(&tag.as_bytes()[..*length]))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns both sides, joined, for a text that is cut into pieces of `size` characters.
    fn split(tags: ThinkTags, text: &str, size: usize) -> (String, String) {
        let mut splitter = ThinkSplitter::new(tags).unwrap();
        let (mut thinking, mut plain) = (String::new(), String::new());
        let mut take = |piece: Piece<'_>| match piece {
            Piece::Text(text) => plain.push_str(&text),
            Piece::Thinking(text) => thinking.push_str(&text),
        };
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            splitter.push(&piece.iter().collect::<String>(), &mut take);
        }
        splitter.flush().map(&mut take);
        (thinking, plain)
    }

    #[test]
    fn thoughts_are_split_from_text_however_they_are_cut() {
        for (text, thinking, plain) in [
            ("<think>a</think>b", "a", "b"),
            ("\n <think>\na\n</think>\n\nb", "a\n", "b"),
            ("<think></think>b", "", "b"),
            ("<think>a", "a", ""),
            ("<think>a</thin", "a</thin", ""),
            ("a < b <", "", "a < b <"),
            ("a<think>b</think>c<think>d</think>e", "bd", "ace"),
            ("  plain", "", "  plain"),
            ("<thinking>x", "", "<thinking>x"),
            ("é<think>ü</think>ß", "ü", "éß"),
            ("<think>a < b</think>c", "a < b", "c"),
        ] {
            for size in 1..=text.chars().count() {
                assert_eq!(
                    split(ThinkTags::Paired, text, size),
                    (thinking.to_owned(), plain.to_owned()),
                    "{text:?} by {size}"
                );
            }
        }
    }

    #[test]
    fn white_space_that_arrives_piece_by_piece_is_scanned_once() {
        let mut splitter = ThinkSplitter::new(ThinkTags::Paired).unwrap();
        let mut pieces = Vec::new();
        let blanks = 200_000;
        let counted = allocation_counter::measure(|| {
            for _ in 0..blanks {
                splitter.push(" ", |piece| pieces.push(format!("{piece:?}").len()));
            }
        });
        // The held-back text is emitted as text, and white space is not copied more often than a buffer grows.
        assert!(counted.bytes_total < 1_000 * blanks, "{counted:?}");
        assert!(!pieces.is_empty());
        let mut thinking = String::new();
        splitter.push("<think>a", |piece| thinking.push_str(&format!("{piece:?}")));
        assert_eq!(thinking, r#"Thinking("a")"#);
    }

    #[test]
    fn white_space_between_reasoning_tags_is_part_of_the_thoughts() {
        let text = "<reasoning>a b</reasoning><reasoning> c</reasoning> d";
        for size in 1..=text.len() {
            assert_eq!(
                split(ThinkTags::Reasoning, text, size),
                ("a b c".to_owned(), " d".to_owned()),
                "by {size}"
            );
        }
        let other = "<think>a</think>";
        assert_eq!(split(ThinkTags::Reasoning, other, 3), (String::new(), other.to_owned()));
    }
}
