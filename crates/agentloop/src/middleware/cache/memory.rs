//! Stores responses in memory.

use std::time::Duration;

use bytes::Bytes;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};
use tokio::time::Instant;

use super::{CacheKey, CacheStore};
use crate::error::Result;
use crate::transport::BoxFuture;

/// The memory that a response takes beside its own bytes, for its key and its entry.
const PLACE_BYTES: u64 = 160;

/// The expected size of a response, from which the initial size of the table follows.
const EXPECTED_BYTES: u64 = 4096;

/// Stores responses in memory up to a number of bytes. The least recently used ones are removed first.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::middleware::{Cache, MemoryStore};
///
/// let store = MemoryStore::new(16 << 20);
/// assert_eq!(store.bytes(), 0);
/// let ai = AgentLoop::builder().layer(Cache::new().store(store)).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
pub struct MemoryStore(Cache<CacheKey, Kept, Weight>);

#[derive(Clone)]
struct Kept {
    value: Bytes,
    /// When it expires; `None` is never.
    until: Option<Instant>,
}

#[derive(Clone)]
struct Weight;

impl Weighter<CacheKey, Kept> for Weight {
    fn weight(&self, _: &CacheKey, kept: &Kept) -> u64 {
        kept.value.len() as u64 + PLACE_BYTES
    }
}

impl MemoryStore {
    /// Creates a store of at most `max_bytes`. A larger response is not stored.
    pub fn new(max_bytes: u64) -> Self {
        let items = usize::try_from(max_bytes / EXPECTED_BYTES).unwrap_or(usize::MAX);
        // One shard, so that one response may take all the bytes. The calls that a cache saves are far slower than a lock.
        let options = OptionsBuilder::new()
            .shards(1)
            .estimated_items_capacity(items.clamp(16, 1 << 16))
            .weight_capacity(max_bytes)
            .build();
        Self(match options {
            Ok(options) => Cache::with_options(
                options,
                Weight,
                DefaultHashBuilder::default(),
                DefaultLifecycle::default(),
            ),
            Err(_) => Cache::with_weighter(16, max_bytes, Weight),
        })
    }

    /// Returns how many bytes are in use.
    pub fn bytes(&self) -> u64 {
        self.0.weight()
    }
}

impl CacheStore for MemoryStore {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
        let now = Instant::now();
        let found = self.0.get(key);
        let fresh = found.filter(|kept| kept.until.is_none_or(|until| now < until));
        if fresh.is_none() {
            self.0.remove_if(key, |kept| kept.until.is_some_and(|until| until <= now));
        }
        Box::pin(std::future::ready(Ok(fresh.map(|kept| kept.value))))
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>> {
        self.0.insert(*key, Kept { value, until: Instant::now().checked_add(ttl) });
        Box::pin(std::future::ready(Ok(())))
    }
}

shown! { MemoryStore: self { bytes: self.bytes() } }
