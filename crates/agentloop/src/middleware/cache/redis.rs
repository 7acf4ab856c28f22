//! Stores responses in Redis.

use std::time::Duration;

use ::redis::cmd;
use bytes::Bytes;

use super::{CacheKey, CacheStore};
use crate::error::Result;
use crate::limits::{CACHE_MAX_REDIS_VALUE_BYTES, CACHE_MAX_TTL};
use crate::middleware::redis::Server;
use crate::transport::BoxFuture;

/// Stores responses in Redis, so that several machines share them (feature `redis`).
///
/// - Each response is one string under `agentloop:` and its key, which Redis removes after its time. Redis's own settings limit
///   the memory (`maxmemory` with a policy like `allkeys-lru`).
/// - Connections are made when they are needed, and a few are kept. Nothing runs beside the calls.
/// - A response of more than 1 MiB is not stored.
///
/// ```
/// use agentloop::middleware::{Cache, RedisStore};
///
/// let cache = Cache::new().store(RedisStore::new("redis://localhost:6379/0")?);
/// # Ok::<(), agentloop::Error>(())
/// ```
pub struct RedisStore {
    server: Server,
    prefix: String,
}

impl RedisStore {
    /// Creates a store at a URL: `redis://[[user]:password@]host[:port][/database]`, or `unix:///path/to.sock`. It connects with the first
    /// call.
    ///
    /// # Errors
    ///
    /// Returns an error if it is not such a URL. `rediss://` is not supported.
    pub fn new(url: &str) -> Result<Self> {
        Ok(Self { server: Server::new(url)?, prefix: "agentloop:".to_owned() })
    }

    setters! {
        /// Sets the prefix of each key in Redis, which is `agentloop:` by default.
        prefix(self, prefix: impl Into<String>) => self.prefix = prefix.into();
    }

    fn name(&self, key: &CacheKey) -> String {
        format!("{}{key}", self.prefix)
    }
}

impl CacheStore for RedisStore {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
        Box::pin(async move {
            // At most one byte more is read than a response has: others can write to the server too.
            let mut command = cmd("GETRANGE");
            command.arg(self.name(key)).arg(0).arg(CACHE_MAX_REDIS_VALUE_BYTES);
            let found: Vec<u8> = self.server.run(&command).await?;
            let is_one = (1..=CACHE_MAX_REDIS_VALUE_BYTES).contains(&found.len());
            Ok(is_one.then(|| Bytes::from(found)))
        })
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let milliseconds =
                u64::try_from(ttl.min(CACHE_MAX_TTL).as_millis()).unwrap_or(u64::MAX);
            if value.len() > CACHE_MAX_REDIS_VALUE_BYTES || milliseconds == 0 {
                return Ok(());
            }
            let mut command = cmd("SET");
            command.arg(self.name(key)).arg(&value[..]).arg("PX").arg(milliseconds);
            self.server.run(&command).await
        })
    }
}

shown! { RedisStore: self { prefix: self.prefix } }
