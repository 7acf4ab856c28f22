//! The interface of a store of responses.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::CacheKey;
use crate::error::Result;
use crate::transport::BoxFuture;

/// Stores responses as bytes under keys.
///
/// The [`Cache`](super::Cache) gives each operation a deadline, stops using a store that fails for a while, and continues without
/// it. A store may remove anything at any time.
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Mutex;
/// use std::time::Duration;
///
/// use agentloop::middleware::{Cache, CacheKey, CacheStore};
/// use agentloop::{AgentLoop, BoxFuture, Result};
/// use bytes::Bytes;
///
/// /// Keeps everything.
/// #[derive(Default)]
/// struct KeepAll(Mutex<HashMap<CacheKey, Bytes>>);
///
/// impl CacheStore for KeepAll {
///     fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
///         Box::pin(async move { Ok(self.0.lock().unwrap().get(key).cloned()) })
///     }
///
///     fn put<'a>(&'a self, key: &'a CacheKey, value: Bytes, _: Duration) -> BoxFuture<'a, Result<()>> {
///         Box::pin(async move {
///             self.0.lock().unwrap().insert(*key, value);
///             Ok(())
///         })
///     }
/// }
///
/// let ai = AgentLoop::builder().layer(Cache::new().store(KeepAll::default())).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
pub trait CacheStore: Send + Sync {
    /// Returns the value under `key`, unless it has expired or was removed.
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>>;

    /// Stores `value` under `key` for no longer than `ttl`, and replaces an earlier value.
    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>>;
}

impl<S: CacheStore + ?Sized> CacheStore for Arc<S> {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
        (**self).get(key)
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>> {
        (**self).put(key, value, ttl)
    }
}
