//! The exact cache of a route: equal requests get the same response, and those in progress share one call.

mod canonical;
mod entry;
mod flight;
mod key;
#[cfg(feature = "redis")]
#[cfg(test)]
mod redis_tests;
mod source;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, Weak};
use std::time::Duration;

use agentloop::internal::lock;
use agentloop::limits::CACHE_STORE_DEADLINE;
use agentloop::middleware::{CacheKey, CacheStore, GuardedStore, MemoryStore};
use agentloop::{BoxFuture, Error, ErrorKind, GatewayConfig, Result, Secret};
use http::{HeaderName, Response};

pub(crate) use entry::{Entry, shared_headers};
use flight::Flight;
pub(crate) use flight::Seat;
pub(crate) use key::Identity;
pub use key::MAX_CACHED_REQUEST;
pub(crate) use source::{Following, Replaying};

use crate::record::Verdict;
use crate::stream::GatewayBody;

/// The most bytes of responses that the cache keeps in memory. The least recently used ones are removed first.
pub const MAX_CACHE_BYTES: u64 = 64 << 20;

/// The largest response that is cached, in bytes. In Redis it is 1 MiB.
pub const MAX_CACHED_BYTES: usize = 4 << 20;

/// The bytes of streams in progress that equal requests can still join. Above it, each stream keeps only the end of what it
/// sent, and is not cached.
pub const MAX_FLIGHT_BYTES: usize = 256 << 20;

/// The header that states what the cache did: `hit`, `miss` or `wait`.
pub(crate) const RESULT: HeaderName = HeaderName::from_static("x-agentloop-cache");

/// What the keys in Redis begin with.
#[cfg(feature = "redis")]
const PREFIX: &str = "agentloop:gateway:cache:";

/// The cached responses, and the calls in progress.
pub(crate) struct Cache {
    store: GuardedStore,
    /// The URL of the server, if responses are not in memory.
    url: Option<Secret>,
    flights: Mutex<HashMap<CacheKey, Weak<Flight>>>,
    /// The bytes that flights hold.
    held: AtomicUsize,
}

agentloop::shown! { Cache: self { store: self.store } }

/// What a request does among equal ones.
pub(crate) enum Boarded<T> {
    /// It makes the call.
    Lead(Seat),
    /// It waits for the call of another one.
    Follow(Seat, T),
}

impl Cache {
    /// Creates the cache of a configuration. It connects to Redis with the first request.
    ///
    /// # Errors
    ///
    /// When the URL of Redis is not there or cannot be used.
    pub(crate) fn open(
        config: &GatewayConfig,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Arc<Self>> {
        let name = config.redis.as_ref().and_then(|redis| redis.url_env.as_deref());
        let is_used = config.routes.values().any(|route| route.cache.is_some());
        match name.filter(|_| is_used) {
            None => {
                let store = Arc::new(MemoryStore::new(MAX_CACHE_BYTES));
                Ok(Self::with(store, CACHE_STORE_DEADLINE, None))
            }
            Some(name) => {
                let Some(url) = variable(name).filter(|url| !url.trim().is_empty()) else {
                    let message =
                        format!("gateway.redis: the environment variable {name} is not set");
                    return Err(Error::new(ErrorKind::Config, message)
                        .with_hint("set it to the URL of the server before the gateway starts"));
                };
                let url = Secret::new(url.trim().to_owned());
                Ok(Self::with(in_redis(&url)?, CACHE_STORE_DEADLINE, Some(url)))
            }
        }
    }

    fn with(store: Arc<dyn CacheStore>, deadline: Duration, url: Option<Secret>) -> Arc<Self> {
        let store = GuardedStore::new(store, deadline);
        let (flights, held) = (Mutex::default(), AtomicUsize::new(0));
        Arc::new(Self { store, url, flights, held })
    }

    /// Returns whether another cache keeps its responses in the same place.
    pub(crate) fn has_same_place(&self, other: &Self) -> bool {
        let url = |cache: &Self| cache.url.as_ref().map(|url| url.expose().to_owned());
        url(self) == url(other)
    }

    /// Returns the stored response.
    pub(crate) async fn load(&self, key: &CacheKey) -> Option<Entry> {
        Entry::read(key, self.store.get(key).await?)
    }

    /// Joins the call of an equal request, or begins one.
    pub(crate) fn board<T>(
        self: &Arc<Self>,
        key: CacheKey,
        ttl: Duration,
        load: T,
        begin: impl FnOnce(T, Arc<OnceLock<Verdict>>) -> BoxFuture<'static, Response<GatewayBody>>,
    ) -> Boarded<T> {
        let mut flights = self.flights();
        let known = flights.get(&key).and_then(Weak::upgrade);
        if let Some(flight) = known.as_ref().filter(|flight| flight.is_open()) {
            let seat = flight.join();
            // Before `known`: the last owner of a flight takes it out of the table.
            drop(flights);
            return Boarded::Follow(seat, load);
        }
        let flight = Flight::new(key, ttl, Arc::clone(self), |verdict| begin(load, verdict));
        flights.insert(key, Arc::downgrade(&flight));
        drop(flights);
        Boarded::Lead(flight.join())
    }

    /// Takes a flight that has ended out of the table, if it is still there.
    fn forget(&self, key: &CacheKey, flight: &Flight) {
        if let Place::Occupied(place) = self.flights().entry(*key)
            && std::ptr::eq(place.get().as_ptr(), flight)
        {
            place.remove();
        }
    }

    /// Counts bytes that a flight holds. Returns how many all hold.
    fn hold(&self, bytes: usize) -> usize {
        self.held.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    fn release(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn flights(&self) -> MutexGuard<'_, HashMap<CacheKey, Weak<Flight>>> {
        lock(&self.flights)
    }
}

#[cfg(feature = "redis")]
fn in_redis(url: &Secret) -> Result<Arc<dyn CacheStore>> {
    let store = agentloop::middleware::RedisStore::new(url.expose()).map_err(|error| {
        Error::new(ErrorKind::Config, format!("gateway.redis: {}", error.message()))
            .with_hint(error.hint().unwrap_or_default())
    })?;
    Ok(Arc::new(store.prefix(PREFIX)))
}

#[cfg(not(feature = "redis"))]
fn in_redis(_: &Secret) -> Result<Arc<dyn CacheStore>> {
    let message = "gateway.redis: this program was built without Redis support";
    Err(Error::new(ErrorKind::Config, message).with_hint("build it with the feature `redis`"))
}
