//! Finds items by the fields of an event, in constant time.

use std::collections::HashMap;
use std::mem::size_of;

/// How many items are searched one by one. Most responses have fewer, for which tables would cost more than the search.
const FEW: usize = 8;

/// The known fields of an item to look for. `None` matches anything.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted<'a> {
    pub(super) kind: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) index: Option<i64>,
}

/// Where an item is in its response.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) kind: String,
    pub(super) id: String,
    /// The index in the response: from the provider, or by the order of arrival.
    pub(super) index: i64,
}

/// Where the items are, by kind, id and index and by any of them alone.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: Vec<Place>,
    /// Once there are more than a few.
    tables: Option<Box<Tables>>,
}

/// What an item takes here beside its words: its eight keys, half of which it mostly has for itself.
pub(super) const PLACE_BYTES: usize = size_of::<Place>()
    + 4 * (size_of::<Key>() + size_of::<Bucket>())
    + 12 * size_of::<usize>()
    + 2 * size_of::<(String, u32)>();

impl Index {
    /// Adds the next item.
    pub(super) fn add(&mut self, kind: &str, id: &str, index: i64) {
        let item = self.places.len();
        self.places.push(Place { kind: kind.to_owned(), id: id.to_owned(), index });
        match &mut self.tables {
            Some(tables) => tables.add(item, kind, id, index),
            None if self.places.len() > FEW => {
                let tables = self.tables.insert(Box::default());
                for (item, place) in self.places.iter().enumerate() {
                    tables.add(item, &place.kind, &place.id, place.index);
                }
            }
            None => {}
        }
    }

    /// Returns all places, in the order in which the items came.
    pub(super) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(super) fn first(&self, wanted: Wanted<'_>) -> Option<usize> {
        match &self.tables {
            Some(tables) => tables.first(tables.key(wanted)?),
            None => self.places.iter().position(|place| wanted.fits(place)),
        }
    }

    pub(super) fn last(&self, wanted: Wanted<'_>) -> Option<usize> {
        match &self.tables {
            Some(tables) => tables.last(tables.key(wanted)?),
            None => self.places.iter().rposition(|place| wanted.fits(place)),
        }
    }

    /// Returns the first that has not ended. What has ended once stays so.
    pub(super) fn first_open(
        &mut self,
        wanted: Wanted<'_>,
        has_ended: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        match &mut self.tables {
            Some(tables) => tables.first_open(tables.key(wanted)?, has_ended),
            None => wanted.first_of(&self.places, has_ended),
        }
    }

    /// Returns the first that the list at the end has not named. What it has named once stays so.
    pub(super) fn first_unnamed(
        &mut self,
        wanted: Wanted<'_>,
        is_named: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        match &mut self.tables {
            Some(tables) => tables.first_unnamed(tables.key(wanted)?, is_named),
            None => wanted.first_of(&self.places, is_named),
        }
    }

    /// Returns the latest that has not ended, of a kind or of all; with `nameless` only of those without an id.
    pub(super) fn last_open(
        &mut self,
        kind: Option<&str>,
        nameless: bool,
        has_ended: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        if let Some(tables) = &mut self.tables {
            return tables.last_open(kind, nameless, has_ended);
        }
        let wanted = Wanted { kind, id: nameless.then_some(""), index: None };
        let mut items = self.places.iter().enumerate().rev();
        items.find(|(at, place)| wanted.fits(place) && !has_ended(*at)).map(|(at, _)| at)
    }
}

impl Wanted<'_> {
    fn fits(&self, place: &Place) -> bool {
        self.kind.is_none_or(|kind| kind == place.kind)
            && self.id.is_none_or(|id| id == place.id)
            && self.index.is_none_or(|index| index == place.index)
    }

    /// Returns the first that fits and is not over.
    fn first_of(&self, places: &[Place], is_over: impl Fn(usize) -> bool) -> Option<usize> {
        let mut items = places.iter().enumerate();
        items.find(|(at, place)| self.fits(place) && !is_over(*at)).map(|(at, _)| at)
    }
}

/// The numbers of the kind and the id, and the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Key {
    kind: Option<u32>,
    id: Option<u32>,
    index: Option<i64>,
}

/// The items by their keys.
#[derive(Debug, Default)]
struct Tables {
    /// Kinds and ids, as numbers.
    words: HashMap<String, u32>,
    items: HashMap<Key, Bucket>,
    /// The items that may be open, by kind, and whether only those without an id are meant; the latest last.
    open: HashMap<(Option<u32>, bool), Vec<usize>>,
}

/// The items of one key, in the order of arrival.
#[derive(Debug)]
struct Bucket {
    first: usize,
    others: Vec<usize>,
    /// How many at the beginning have ended, and how many the list at the end has named.
    ended: usize,
    named: usize,
}

impl Tables {
    fn add(&mut self, item: usize, kind: &str, id: &str, index: i64) {
        let (kind_number, id_number) = (self.number(kind), self.number(id));
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
    fn key(&self, wanted: Wanted<'_>) -> Option<Key> {
        let number = |word: Option<&str>| match word {
            Some(word) => self.words.get(word).map(|number| Some(*number)),
            None => Some(None),
        };
        Some(Key { kind: number(wanted.kind)?, id: number(wanted.id)?, index: wanted.index })
    }

    fn first(&self, key: Key) -> Option<usize> {
        self.items.get(&key).map(|bucket| bucket.first)
    }

    fn last(&self, key: Key) -> Option<usize> {
        self.items.get(&key).map(|bucket| *bucket.others.last().unwrap_or(&bucket.first))
    }

    /// Returns the first open item. Closed items are not checked again.
    fn first_open(&mut self, key: Key, has_ended: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = self.items.get_mut(&key)?;
        while bucket.at(bucket.ended).is_some_and(&has_ended) {
            bucket.ended += 1;
        }
        bucket.at(bucket.ended)
    }

    fn first_unnamed(&mut self, key: Key, is_named: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = self.items.get_mut(&key)?;
        while bucket.at(bucket.named).is_some_and(&is_named) {
            bucket.named += 1;
        }
        bucket.at(bucket.named)
    }

    /// Returns the latest open item, of one kind or of all. With `nameless`, only of those without an id.
    fn last_open(
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

    fn wanted<'a>(kind: Option<&'a str>, id: Option<&'a str>, index: Option<i64>) -> Wanted<'a> {
        Wanted { kind, id, index }
    }

    /// Few items are searched, and many are in tables: both find the same.
    fn with_others(check: impl Fn(&mut Index)) {
        for others in [0, FEW] {
            let mut places = Index::default();
            (0..others).for_each(|_| places.add("other", "other", 100));
            check(&mut places);
        }
    }

    #[test]
    fn items_are_found_by_all_that_is_known_of_them() {
        with_others(|places| {
            let none = places.places().len();
            for (kind, id, index) in [("a", "x", 0), ("b", "y", 1), ("a", "y", 1), ("a", "", 3)] {
                places.add(kind, id, index);
            }
            let item = |at: usize| Some(none + at);
            assert_eq!(places.first(wanted(None, Some("y"), None)), item(1));
            assert_eq!(places.last(wanted(None, Some("y"), Some(1))), item(2));
            assert_eq!(places.last(wanted(Some("b"), Some("y"), Some(1))), item(1));
            assert_eq!(places.last(wanted(None, None, Some(3))), item(3));
            assert!(places.first(wanted(Some("b"), Some("x"), None)).is_none());
            assert!(places.first(wanted(None, Some("z"), None)).is_none());
        });
    }

    #[test]
    fn what_has_ended_is_passed_over() {
        with_others(|places| {
            let none = places.places().len();
            (0..4).for_each(|_| places.add("a", "", 0));
            let item = |at: usize| Some(none + at);
            let all = wanted(Some("a"), None, None);
            assert_eq!(places.first_open(all, |item| item < none + 2), item(2));
            assert_eq!(places.first_open(all, |_| true), None);
            assert_eq!(places.first_unnamed(all, |item| item == none), item(1));
            assert_eq!(places.last_open(Some("a"), true, |item| item == none + 3), item(2));
            assert_eq!(places.last_open(None, false, |item| item > none + 1), item(1));
            places.add("b", "x", 0);
            assert_eq!(places.last_open(None, false, |_| false), item(4));
            assert_eq!(places.last_open(Some("a"), false, |item| item == none + 3), item(2));
        });
    }
}
