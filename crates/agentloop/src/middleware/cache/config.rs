//! `[cache]` of `agentloop.toml`.

use serde::Deserialize;

use super::Cache;
use crate::error::{Error, ErrorKind, Result};
use crate::secret::Secret;
use crate::timeouts;

/// The table as it is in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CacheTable {
    /// The size of the cache in memory, or in the file of the command, in bytes. Default: 67108864 (64 MiB).
    max_bytes: Option<u64>,
    /// How long a response is kept, in seconds. Default: 300.
    ttl: Option<f64>,
    /// Separates responses from others in the same store. Default: none.
    namespace: Option<String>,
    /// The URL of a Redis server that several machines share, instead of `max_bytes`. It may contain a password. Needs the
    /// feature `redis`. Default: none.
    redis: Option<Secret>,
}

impl CacheTable {
    /// Creates the cache that the table describes. It connects with the first call.
    pub(crate) fn cache(self) -> Result<Cache> {
        let mut cache = Cache::new();
        cache = match (self.max_bytes, self.redis) {
            (Some(_), Some(_)) => {
                return Err(wrong("`max_bytes` and `redis` cannot be used together")
                    .with_hint("limit the memory with the setting `maxmemory` of Redis"));
            }
            (Some(max_bytes), None) => cache.max_bytes(max_bytes),
            (None, Some(url)) => {
                in_redis(cache, url.expose(), self.namespace.as_deref().unwrap_or_default())?
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
fn in_redis(cache: Cache, url: &str, namespace: &str) -> Result<Cache> {
    let store = super::RedisStore::new(url)
        .map_err(|error| wrong(&format!("redis: {}", error.message())))?;
    Ok(cache.store(if namespace.is_empty() {
        store
    } else {
        store.prefix(format!("agentloop:{namespace}:"))
    }))
}

#[cfg(not(feature = "redis"))]
fn in_redis(_: Cache, _: &str, _: &str) -> Result<Cache> {
    Err(wrong("redis: this program was built without Redis support")
        .with_hint("build it with the feature `redis` of agentloop"))
}

fn wrong(what: &str) -> Error {
    Error::new(ErrorKind::Config, format!("cache: {what}"))
}
