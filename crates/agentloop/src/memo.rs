//! Caches of what was worked out before, limited in bytes.

use std::hash::Hash;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, Equivalent, OptionsBuilder, Weighter};

/// The number of entries that a cache first has room for.
const EXPECTED_ENTRIES: usize = 64;

/// What was worked out before, by what it was worked out from. When the bytes are used up, what is used stays.
pub(crate) struct Memo<K, V>(Cache<K, V, Bytes<K, V>>);

/// Estimates the bytes of an entry.
struct Bytes<K, V>(fn(&K, &V) -> usize);

impl<K, V> Clone for Bytes<K, V> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<K, V> Weighter<K, V> for Bytes<K, V> {
    fn weight(&self, key: &K, value: &V) -> u64 {
        (self.0)(key, value) as u64
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// Creates a cache of at most `max_bytes`, of which an entry takes as much as `bytes` returns. A larger entry is not kept.
    pub(crate) fn new(max_bytes: usize, bytes: fn(&K, &V) -> usize) -> Self {
        // One shard, so that one entry may take all the bytes.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(EXPECTED_ENTRIES)
            .weight_capacity(max_bytes as u64)
            .build();
        Self(match options {
            Ok(options) => Cache::with_options(
                options,
                Bytes(bytes),
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            Err(_) => Cache::with_weighter(EXPECTED_ENTRIES, max_bytes as u64, Bytes(bytes)),
        })
    }

    pub(crate) fn get<Q: Hash + Equivalent<K> + ?Sized>(&self, key: &Q) -> Option<V> {
        self.0.get(key)
    }

    pub(crate) fn insert(&self, key: K, value: V) {
        self.0.insert(key, value);
    }
}

/// Two texts in place of a key that owns them.
#[derive(Hash)]
pub(crate) struct Pair<'a>(pub(crate) &'a str, pub(crate) &'a str);

impl Equivalent<(String, String)> for Pair<'_> {
    fn equivalent(&self, key: &(String, String)) -> bool {
        self.0 == key.0 && self.1 == key.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_limited_in_bytes_and_used_ones_stay() {
        let memo: Memo<String, usize> = Memo::new(1_000, |key, _| key.len() + 7);
        memo.insert("key".to_owned(), 0);
        for number in 1..10_000_usize {
            memo.insert(format!("{number:03}"), number);
            assert_eq!(memo.get("key"), Some(0), "{number}");
            assert!(memo.0.len() <= 100 && memo.0.weight() <= 1_000);
        }
        memo.insert("long".repeat(1_000), 1);
        assert_eq!(memo.get("long".repeat(1_000).as_str()), None);
    }

    #[test]
    fn a_pair_finds_what_was_inserted_under_its_texts() {
        let memo: Memo<(String, String), u8> = Memo::new(1_000, |_, _| 1);
        memo.insert(("a".to_owned(), "bc".to_owned()), 1);
        assert_eq!((memo.get(&Pair("a", "bc")), memo.get(&Pair("ab", "c"))), (Some(1), None));
    }
}
