//! Keeps a store from slowing calls down.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, timeout};

use super::{CacheKey, CacheStore};
use crate::error::Result;
use crate::limits::CACHE_STORE_REST;
use crate::lock::lock;

/// A store whose operations have a deadline. It is not used for [a while](CACHE_STORE_REST) after it fails or misses one.
///
/// After that pause one operation finds out whether the store works again, while the others continue without it.
/// [`Cache`](super::Cache) guards its store itself; this type is for programs that use a store for something else.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// use agentloop::middleware::{CacheKey, GuardedStore, MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let store = GuardedStore::new(Arc::new(MemoryStore::new(1 << 20)), Duration::from_millis(50));
/// let key = CacheKey::new([7; 32]);
/// store.put(&key, "value".into(), Duration::from_secs(60)).await;
/// assert_eq!(store.get(&key).await.unwrap(), "value");
/// # }
/// ```
pub struct GuardedStore {
    store: Arc<dyn CacheStore>,
    deadline: Duration,
    resting_until: Mutex<Option<Instant>>,
}

impl GuardedStore {
    /// Guards a store. `deadline` is how long an operation may take.
    pub fn new(store: Arc<dyn CacheStore>, deadline: Duration) -> Self {
        Self { store, deadline, resting_until: Mutex::new(None) }
    }

    /// Returns the store with another deadline.
    pub(super) fn with_deadline(&self, deadline: Duration) -> Self {
        Self::new(Arc::clone(&self.store), deadline)
    }

    /// Returns the value under `key`, or `None` if there is none or the store cannot be used.
    pub async fn get(&self, key: &CacheKey) -> Option<Bytes> {
        self.attempt(|| self.store.get(key)).await.flatten()
    }

    /// Stores `value` under `key` for no longer than `ttl`, if the store can be used.
    pub async fn put(&self, key: &CacheKey, value: Bytes, ttl: Duration) {
        self.attempt(|| self.store.put(key, value, ttl)).await;
    }

    async fn attempt<T, F>(&self, operation: impl FnOnce() -> F) -> Option<T>
    where
        F: Future<Output = Result<T>>,
    {
        if !self.may_ask() {
            return None;
        }
        let outcome = timeout(self.deadline, operation()).await.ok().and_then(Result::ok);
        let rest = if outcome.is_some() { None } else { Some(Instant::now() + CACHE_STORE_REST) };
        *self.resting_until() = rest;
        outcome
    }

    fn may_ask(&self) -> bool {
        let mut resting_until = self.resting_until();
        match *resting_until {
            None => true,
            Some(until) if Instant::now() < until => false,
            Some(_) => {
                *resting_until = Some(Instant::now() + CACHE_STORE_REST);
                true
            }
        }
    }

    fn resting_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        lock(&self.resting_until)
    }
}

shown! { GuardedStore: self { deadline: self.deadline } }
