//! `[cache]` of `agentloop.toml`.

use serde::Deserialize;

use super::Cache;
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;
use crate::timeouts;

/// The table, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CacheTable {
    /// In memory.
    max_bytes: Option<u64>,
    /// Seconds.
    ttl: Option<f64>,
    namespace: Option<String>,
    /// An address, perhaps with a password in it.
    redis: Option<Secret>,
}

impl CacheTable {
    /// The cache that the table describes. Nothing is connected yet.
    pub(crate) fn cache(self) -> Result<Cache> {
        let mut cache = Cache::new();
        cache = match (self.max_bytes, self.redis) {
            (Some(_), Some(_)) => {
                return Err(wrong("`max_bytes` and `redis` exclude each other")
                    .with_hint("Redis has its own bound, `maxmemory`"));
            }
            (Some(max_bytes), None) => cache.max_bytes(max_bytes),
            (None, Some(address)) => {
                in_redis(cache, address.expose(), self.namespace.as_deref().unwrap_or_default())?
            }
            (None, None) => cache,
        };
        if let Some(seconds) = self.ttl {
            let ttl =
                timeouts::seconds(seconds).map_err(|error| wrong(&format!("ttl: {error}")))?;
            cache = cache.ttl(ttl);
        }
        Ok(match self.namespace {
            Some(namespace) => cache.namespace(namespace),
            None => cache,
        })
    }
}

#[cfg(feature = "redis")]
fn in_redis(cache: Cache, address: &str, namespace: &str) -> Result<Cache> {
    let store = super::RedisStore::new(address)
        .map_err(|error| wrong(&format!("redis: {}", error.message())))?;
    Ok(cache.store(if namespace.is_empty() {
        store
    } else {
        store.prefix(format!("agentloop:{namespace}:"))
    }))
}

#[cfg(not(feature = "redis"))]
fn in_redis(_: Cache, _: &str, _: &str) -> Result<Cache> {
    Err(wrong("redis: this program was built without it")
        .with_hint("build it with the feature `redis` of agentloop"))
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("cache: {what}"))
}
