//! The requests in progress.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use agentloop::internal::lock;
use tokio::time::Instant;

use crate::record::Record;

/// The most requests in progress that can be listed. More are only counted.
const MAX_ENTRIES: usize = 20_000;

/// The number of parts of the list, each with a lock of its own, so that requests rarely wait for each other.
const SHARDS: usize = 16;

/// The requests in progress.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    shards: [Mutex<Shard>; SHARDS],
    next: AtomicUsize,
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shard {
    entries: Vec<Option<Arc<Entry>>>,
    free: Vec<usize>,
}

/// What is known of a request in progress.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) key: Option<String>,
    pub(crate) api: &'static str,
    pub(crate) call: &'static str,
    pub(crate) model: String,
    pub(crate) is_stream: bool,
    pub(crate) started: Instant,
    bytes: AtomicU64,
    /// The milliseconds until the first byte; the largest number before there is one.
    first_byte: AtomicU32,
    served: OnceLock<String>,
}

impl Entry {
    /// Returns the bytes that were sent.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the milliseconds until the first byte, if there is one.
    pub(crate) fn first_byte_ms(&self) -> Option<u32> {
        Some(self.first_byte.load(Ordering::Relaxed)).filter(|time| *time != u32::MAX)
    }

    /// Returns the model that responds, as `provider/model`.
    pub(crate) fn served(&self) -> Option<&str> {
        self.served.get().map(String::as_str)
    }
}

/// Keeps a request in the list until it is dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    registry: Arc<Registry>,
    entry: Arc<Entry>,
    /// The shard and the place in it, if the list was not full.
    place: Option<(usize, usize)>,
}

impl Registry {
    /// Lists a request.
    pub(crate) fn insert(self: &Arc<Self>, record: &Record) -> Ticket {
        let entry = Arc::new(Entry {
            id: record.id.clone(),
            key: record.key.clone(),
            api: record.api.name(),
            call: record.call,
            model: record.model.clone(),
            is_stream: record.is_stream,
            started: record.started,
            bytes: AtomicU64::new(0),
            first_byte: AtomicU32::new(u32::MAX),
            served: OnceLock::new(),
        });
        self.count.fetch_add(1, Ordering::Relaxed);
        let index = self.next.fetch_add(1, Ordering::Relaxed) % SHARDS;
        let mut shard = self.shard(index);
        let place = match shard.free.pop() {
            Some(place) => Some(place),
            None if shard.entries.len() < MAX_ENTRIES / SHARDS => {
                shard.entries.push(None);
                Some(shard.entries.len() - 1)
            }
            None => None,
        };
        if let Some(slot) = place.and_then(|place| shard.entries.get_mut(place)) {
            *slot = Some(Arc::clone(&entry));
        }
        drop(shard);
        let place = place.map(|place| (index, place));
        Ticket { registry: Arc::clone(self), entry, place }
    }

    /// Returns how many requests are in progress.
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Returns the requests in progress that began first, at most `most`.
    pub(crate) fn oldest(&self, most: usize) -> Vec<Arc<Entry>> {
        let mut all = Vec::new();
        for index in 0..SHARDS {
            all.extend(self.shard(index).entries.iter().flatten().cloned());
        }
        all.sort_by_key(|entry| entry.started);
        all.truncate(most);
        all
    }

    fn shard(&self, index: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[index % SHARDS])
    }
}

impl Ticket {
    /// Notes how many bytes were sent.
    pub(crate) fn saw_bytes(&self, bytes: usize) {
        self.entry.bytes.store(bytes as u64, Ordering::Relaxed);
    }

    /// Notes which model responds, and after which time.
    pub(crate) fn responds(&self, served: Option<&str>, first_byte: std::time::Duration) {
        let time = u32::try_from(first_byte.as_millis()).unwrap_or(u32::MAX - 1);
        self.entry.first_byte.store(time, Ordering::Relaxed);
        if let Some(served) = served {
            let _ = self.entry.served.set(served.to_owned());
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.registry.count.fetch_sub(1, Ordering::Relaxed);
        if let Some((index, place)) = self.place {
            let mut shard = self.registry.shard(index);
            if let Some(slot) = shard.entries.get_mut(place) {
                *slot = None;
                shard.free.push(place);
            }
        }
    }
}
