//! Places in texts: bytes → characters, without a walk through the text for each.

use std::cell::Cell;

/// The texts of a response, with an index to find positions in them quickly.
#[derive(Debug)]
pub(in crate::protocol) struct Texts<'a> {
    texts: Vec<&'a str>,
    /// The start of each text in their concatenation, in bytes.
    begins: Vec<usize>,
    /// Of each text, how many characters come before each step of so many bytes.
    steps: Vec<Vec<u32>>,
    /// How many more bytes may be looked through for words that are not where they should be.
    left: Cell<usize>,
}

/// How far apart the bytes are whose characters are counted in advance.
const STEP: usize = 256;

/// How often all text may be looked through for words that are not where they should be.
const MAX_SEARCHES: usize = 16;

/// How much may be looked through however short the text is, in bytes.
const FREE_SEARCH: usize = 1 << 20;

impl<'a> Texts<'a> {
    pub(in crate::protocol) fn new(texts: Vec<&'a str>) -> Self {
        let mut begin = 0;
        let begins = texts.iter().map(|text| {
            begin += text.len();
            begin - text.len()
        });
        Self {
            begins: begins.collect(),
            steps: texts.iter().map(|text| steps(text)).collect(),
            left: Cell::new(MAX_SEARCHES * begin + FREE_SEARCH),
            texts,
        }
    }

    pub(in crate::protocol) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(in crate::protocol) fn get(&self, at: usize) -> Option<&'a str> {
        self.texts.get(at).copied()
    }

    /// Returns the text in which a byte of all texts, put end to end, is, and where in it.
    pub(in crate::protocol) fn in_all(&self, byte: usize) -> (usize, usize) {
        // Of texts that start at the same byte, all but the last are empty.
        let at = self.begins.partition_point(|begin| *begin <= byte).saturating_sub(1);
        (at, byte - self.begins.get(at).copied().unwrap_or(0))
    }

    /// Returns how many characters come before a byte of a text, or of what the text has of it.
    pub(in crate::protocol) fn characters(&self, at: usize, byte: usize) -> u64 {
        let (Some(text), Some(steps)) = (self.texts.get(at), self.steps.get(at)) else { return 0 };
        let byte = byte.min(text.len());
        let step = byte / STEP;
        let before = steps.get(step).copied().unwrap_or(0);
        u64::from(before) + count(&text.as_bytes()[step * STEP..byte]) as u64
            - u64::from(!text.is_char_boundary(byte))
    }

    /// Returns whether so many bytes may be looked through.
    pub(in crate::protocol) fn may_look(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Returns the position of a text in the first part that contains it. Returns `None` after too many searches of
    /// long texts.
    pub(in crate::protocol) fn find(&self, words: &str) -> Option<(usize, usize)> {
        self.texts.iter().enumerate().find_map(|(at, text)| {
            let may = self.may_look(text.len() + 1);
            may.then(|| text.find(words).map(|from| (at, from))).flatten()
        })
    }
}

/// Returns how many characters start in these bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count()
}

fn steps(text: &str) -> Vec<u32> {
    let mut sum = 0u32;
    let counts = text.as_bytes().chunks(STEP).map(|chunk| {
        let more = u32::try_from(count(chunk)).unwrap_or(u32::MAX);
        let before = sum;
        sum = sum.saturating_add(more);
        before
    });
    let mut steps: Vec<u32> = counts.collect();
    // The end of a text that is a whole number of steps.
    steps.push(sum);
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn characters_are_counted_as_a_walk_counts_them(text in "(ä|b|語|🦀){0,300}", byte in 0usize..1300) {
            let texts = Texts::new(vec![&text]);
            let end = text.floor_char_boundary(byte);
            prop_assert_eq!(texts.characters(0, byte), text[..end].chars().count() as u64);
        }

        #[test]
        fn a_byte_of_all_texts_is_found_as_a_walk_finds_it(list in proptest::collection::vec("b{0,3}", 1..6), byte in 0usize..20) {
            let texts = Texts::new(list.iter().map(String::as_str).collect());
            let mut from = byte;
            let mut walked = (list.len() - 1, 0);
            for (at, text) in list.iter().enumerate() {
                if from < text.len() || at + 1 == list.len() {
                    walked = (at, from);
                    break;
                }
                from -= text.len();
            }
            prop_assert_eq!(texts.in_all(byte), walked);
        }
    }

    #[test]
    fn long_texts_are_not_looked_through_without_end() {
        let long = "a".repeat(FREE_SEARCH);
        let texts = Texts::new(vec![&long, "words"]);
        assert_eq!(texts.find("words"), Some((1, 0)));
        (0..MAX_SEARCHES).for_each(|_| assert!(texts.find("nothing").is_none()));
        assert_eq!(texts.find("words"), None);
    }
}
