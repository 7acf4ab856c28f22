//! Responses of the cache, over all processes.

use std::time::Duration;

use agentloop::middleware::{CacheKey, CacheStore};
use agentloop::{BoxFuture, Error, ErrorKind};
use bytes::Bytes;
use rusqlite::{OptionalExtension as _, params};

use super::{Result, Shared, Store, StoreError, now};

/// Keeps cached responses in the user's file.
#[derive(Debug)]
pub(crate) struct FileCache {
    shared: Shared,
    max_bytes: u64,
}

impl FileCache {
    /// Keeps at most `max_bytes` bytes of responses.
    pub(crate) fn new(shared: &Shared, max_bytes: u64) -> Self {
        Self { shared: shared.clone(), max_bytes }
    }
}

impl CacheStore for FileCache {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, agentloop::Result<Option<Bytes>>> {
        let found = self.shared.with(|store| store.cached(key.as_bytes()));
        Box::pin(std::future::ready(found.map_err(|error| to_error(&error))))
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, agentloop::Result<()>> {
        let put =
            self.shared.with(|store| store.cache(key.as_bytes(), &value, ttl, self.max_bytes));
        Box::pin(std::future::ready(put.map_err(|error| to_error(&error))))
    }
}

/// The cache middleware continues without a store that fails.
fn to_error(error: &StoreError) -> Error {
    Error::new(ErrorKind::Config, error.to_string())
}

impl Store {
    /// Returns a cached value that has not expired.
    pub(super) fn cached(&self, key: &[u8]) -> Result<Option<Bytes>> {
        self.read(|connection| {
            let sql = "SELECT value FROM cache WHERE key = ?1 AND expires > ?2";
            let value: Option<Vec<u8>> =
                connection.query_row(sql, params![key, now()], |row| row.get(0)).optional()?;
            Ok(value.map(Bytes::from))
        })
    }

    /// Caches a value, and removes expired values and those that expire first, until all take no more than `max_bytes`.
    pub(super) fn cache(
        &mut self,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
        max_bytes: u64,
    ) -> Result<()> {
        let max_bytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
        let size = i64::try_from(value.len()).unwrap_or(i64::MAX);
        if size > max_bytes {
            return Ok(());
        }
        let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        self.transact(|connection| {
            let time = now();
            connection.execute("DELETE FROM cache WHERE expires <= ?1 OR key = ?2", params![time, key])?;
            let all = "SELECT coalesce(sum(size), 0) FROM cache";
            let mut total: i64 = connection.query_row(all, [], |row| row.get(0))?;
            while total.saturating_add(size) > max_bytes {
                let sql = "DELETE FROM cache WHERE key = (SELECT key FROM cache ORDER BY expires LIMIT 1) RETURNING size";
                let freed: Option<i64> = connection.query_row(sql, [], |row| row.get(0)).optional()?;
                match freed {
                    Some(freed) => total -= freed,
                    None => break,
                }
            }
            let sql = "INSERT INTO cache (key, value, size, expires) VALUES (?1, ?2, ?3, ?4)";
            connection.execute(sql, params![key, value, size, time.saturating_add(ttl)])?;
            Ok(())
        })
    }
}
