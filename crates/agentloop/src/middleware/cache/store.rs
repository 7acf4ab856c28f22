//! Where answers are kept.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::CacheKey;
use crate::error::Result;
use crate::transport::BoxFuture;

/// Keeps answers, as bytes under keys.
///
/// The [`Cache`](super::Cache) looks after the rest: it gives each operation a deadline, leaves a store that fails alone
/// for a while, and goes on without it. A store may forget anything at any time.
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
/// /// Never forgets.
/// #[derive(Default)]
/// struct Elephant(Mutex<HashMap<CacheKey, Bytes>>);
///
/// impl CacheStore for Elephant {
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
/// let ai = AgentLoop::builder().layer(Cache::new().store(Elephant::default())).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
pub trait CacheStore: Send + Sync {
    /// What was put under `key`, unless it is too old or forgotten.
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>>;

    /// Keeps `value` under `key`, in place of what is there, for no longer than `ttl`.
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
