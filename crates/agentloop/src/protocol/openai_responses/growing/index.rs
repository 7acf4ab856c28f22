//! Finds items by what an event says of them, in constant time however many there are.

use std::collections::HashMap;
use std::mem::size_of;

/// What is known of an item when it is looked for. What is `None` may be anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Key {
    kind: Option<u32>,
    id: Option<u32>,
    index: Option<i64>,
}

/// Where the items are, by kind, id and index and by any of them alone.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Kinds and ids, as numbers.
    words: HashMap<String, u32>,
    items: HashMap<Key, Bucket>,
    /// The items that may be open, by kind, and whether only those without an id are meant; the latest last.
    open: HashMap<(Option<u32>, bool), Vec<usize>>,
}

/// The items of one key, in the order in which they came.
#[derive(Debug)]
struct Bucket {
    first: usize,
    others: Vec<usize>,
    /// How many at the beginning have ended, and how many the list at the end has named.
    ended: usize,
    named: usize,
}

/// What an item takes here beside its words: its eight keys, half of which it mostly has for itself.
pub(super) const PLACE_BYTES: usize =
    4 * (size_of::<Key>() + size_of::<Bucket>()) + 12 * size_of::<usize>();

impl Index {
    /// Adds an item and returns how many bytes its words take, as far as they are new.
    pub(super) fn add(&mut self, item: usize, kind: &str, id: &str, index: i64) -> usize {
        let known = self.words.len();
        let (kind_number, id_number) = (self.number(kind), self.number(id));
        let new = self.words.len() - known;
        for kind in [None, Some(kind_number)] {
            for id in [None, Some(id_number)] {
                for index in [None, Some(index)] {
                    let bucket = self.items.entry(Key { kind, id, index });
                    bucket.and_modify(|bucket| bucket.others.push(item)).or_insert(Bucket {
                        first: item,
                        others: Vec::new(),
                        ended: 0,
                        named: 0,
                    });
                }
            }
            self.open.entry((kind, false)).or_default().push(item);
            if id.is_empty() {
                self.open.entry((kind, true)).or_default().push(item);
            }
        }
        new * (id.len().max(kind.len()) + size_of::<(String, u32)>())
    }

    fn number(&mut self, word: &str) -> u32 {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let next = u32::try_from(self.words.len()).unwrap_or(u32::MAX);
        self.words.insert(word.to_owned(), next);
        next
    }

    /// Returns the key of such items; `None` if there can be none.
    pub(super) fn key(
        &self,
        kind: Option<&str>,
        id: Option<&str>,
        index: Option<i64>,
    ) -> Option<Key> {
        let number = |word: Option<&str>| match word {
            Some(word) => self.words.get(word).map(|number| Some(*number)),
            None => Some(None),
        };
        Some(Key { kind: number(kind)?, id: number(id)?, index })
    }

    pub(super) fn first(&self, key: Key) -> Option<usize> {
        self.items.get(&key).map(|bucket| bucket.first)
    }

    pub(super) fn last(&self, key: Key) -> Option<usize> {
        self.items.get(&key).map(|bucket| *bucket.others.last().unwrap_or(&bucket.first))
    }

    /// The first that has not ended. What has ended once is not looked at again.
    pub(super) fn first_open(
        &mut self,
        key: Key,
        has_ended: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let bucket = self.items.get_mut(&key)?;
        while bucket.at(bucket.ended).is_some_and(&has_ended) {
            bucket.ended += 1;
        }
        bucket.at(bucket.ended)
    }

    /// Returns the first that the list at the end has not named.
    pub(super) fn first_unnamed(
        &mut self,
        key: Key,
        is_named: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let bucket = self.items.get_mut(&key)?;
        while bucket.at(bucket.named).is_some_and(&is_named) {
            bucket.named += 1;
        }
        bucket.at(bucket.named)
    }

    /// The latest that has not ended, of a kind or of all; with `nameless` only of those without an id.
    pub(super) fn last_open(
        &mut self,
        kind: Option<&str>,
        nameless: bool,
        has_ended: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let kind = match kind {
            Some(kind) => Some(*self.words.get(kind)?),
            None => None,
        };
        let open = self.open.get_mut(&(kind, nameless))?;
        while open.last().copied().is_some_and(&has_ended) {
            open.pop();
        }
        open.last().copied()
    }
}

impl Bucket {
    fn at(&self, place: usize) -> Option<usize> {
        match place {
            0 => Some(self.first),
            _ => self.others.get(place - 1).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_all_that_is_known_of_them() {
        let mut places = Index::default();
        for (item, kind, id, index) in
            [(0, "a", "x", 0), (1, "b", "y", 1), (2, "a", "y", 1), (3, "a", "", 3)]
        {
            places.add(item, kind, id, index);
        }
        let key = |kind, id, index| places.key(kind, id, index).unwrap();
        assert_eq!(places.first(key(None, Some("y"), None)), Some(1));
        assert_eq!(places.last(key(None, Some("y"), Some(1))), Some(2));
        assert_eq!(places.last(key(Some("b"), Some("y"), Some(1))), Some(1));
        assert_eq!(places.last(key(None, None, Some(3))), Some(3));
        assert!(places.first(key(Some("b"), Some("x"), None)).is_none());
        assert!(places.key(None, Some("z"), None).is_none());
    }

    #[test]
    fn what_has_ended_is_passed_over() {
        let mut places = Index::default();
        for item in 0..4 {
            places.add(item, "a", "", 0);
        }
        let key = places.key(Some("a"), None, None).unwrap();
        assert_eq!(places.first_open(key, |item| item < 2), Some(2));
        assert_eq!(places.first_open(key, |_| true), None);
        assert_eq!(places.first_unnamed(key, |item| item == 0), Some(1));
        assert_eq!(places.last_open(Some("a"), true, |item| item == 3), Some(2));
        assert_eq!(places.last_open(None, false, |item| item > 1), Some(1));
        places.add(4, "b", "x", 0);
        assert_eq!(places.last_open(None, false, |_| false), Some(4));
        assert_eq!(places.last_open(Some("a"), false, |_| false), Some(3));
    }
}
