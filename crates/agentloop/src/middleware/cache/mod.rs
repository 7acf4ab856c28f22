//! Returns stored responses to equal requests.

#[cfg(feature = "config")]
pub(super) mod config;
mod flight;
mod guarded;
mod key;
#[cfg(test)]
mod key_tests;
mod memory;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod store;
mod value;

use std::sync::Arc;
use std::time::Duration;

pub use guarded::GuardedStore;
pub use key::CacheKey;
pub use memory::MemoryStore;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use store::CacheStore;

use self::flight::{Flights, Seat};
use self::record::{Recording, Ticket};
use crate::chat::CacheMode;
use crate::error::Result;
use crate::limits::{
    CACHE_MAX_BYTES, CACHE_MAX_LEADERS, CACHE_STORE_DEADLINE, CACHE_TTL, CACHE_WAIT,
};
use crate::middleware::{Middleware, Next, Request, Response};
use crate::stream::ChatStream;
use crate::timeouts::Timeouts;
use crate::transport::BoxFuture;

/// Returns the stored response to a request that was made before, without calling the provider.
///
/// - The key contains everything that shapes the response: every field of the request, the provider with its settings, the model
///   and the URL, after resolution. It does not contain timeouts, API keys, and whether the response is streamed.
/// - Only complete, successful responses are stored. Errors and responses that were truncated, filtered or dropped are not.
/// - A stored response is returned as a copy with [`cached`](crate::ChatResponse::cached) set and a cost of zero. `stream` returns it
///   as events.
/// - Of equal requests at the same time one is sent, and the others wait for its response. If that one fails or is dropped, the next one
///   is sent.
/// - A store that fails or stalls delays one call by no more than the [deadline](Self::store_deadline). Then it is not used for
///   [a while](crate::limits::CACHE_STORE_REST). It never makes a call fail.
/// - [`ChatRequest::cache`](crate::ChatRequest::cache) makes one request [bypass](CacheMode::Bypass) or
///   [refresh](CacheMode::Refresh) the cache.
///
/// A high temperature does not prevent caching. To get another response to the same request, set another `seed` or bypass the
/// cache.
///
/// Clones share the stored responses.
///
/// ```
/// use std::time::Duration;
///
/// use agentloop::{AgentLoop, middleware::Cache};
///
/// let ai = AgentLoop::builder()
///     .layer(Cache::new().max_bytes(16 << 20).ttl(Duration::from_secs(3600)))
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Cache {
    store: Arc<GuardedStore>,
    flights: Flights,
    ttl: Duration,
    wait: Duration,
    namespace: Arc<str>,
    memory: Option<u64>,
}

impl Cache {
    /// Creates a cache in memory of 64 MiB that keeps each response for five minutes.
    pub fn new() -> Self {
        let store = Arc::new(MemoryStore::new(CACHE_MAX_BYTES));
        Self {
            store: Arc::new(GuardedStore::new(store, CACHE_STORE_DEADLINE)),
            flights: Flights::default(),
            ttl: CACHE_TTL,
            wait: CACHE_WAIT,
            namespace: Arc::from(""),
            memory: Some(CACHE_MAX_BYTES),
        }
    }

    /// Keeps at most `max_bytes` bytes of responses in memory.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        Self { memory: Some(max_bytes), ..self.store(MemoryStore::new(max_bytes)) }
    }

    /// Returns how many bytes of responses are kept in memory at most; `None` if they are in another [store](Self::store).
    pub fn memory_bytes(&self) -> Option<u64> {
        self.memory
    }

    /// Keeps responses in another store.
    pub fn store(self, store: impl CacheStore + 'static) -> Self {
        let store = Arc::new(GuardedStore::new(Arc::new(store), CACHE_STORE_DEADLINE));
        Self { store, flights: Flights::default(), memory: None, ..self }
    }

    /// Sets how long an operation of the store may take, if not [`CACHE_STORE_DEADLINE`]. Set the store first.
    pub fn store_deadline(self, deadline: Duration) -> Self {
        Self { store: Arc::new(self.store.with_deadline(deadline)), ..self }
    }

    /// Sets how long a response is kept.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// Sets how long a call waits for the response to an equal call that is under way, before it is sent too. The default is a minute. A
    /// call with a shorter timeout waits no longer than that.
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Separates the responses from those of other namespaces in the same store.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into().into(), flights: Flights::default(), ..self }
    }

    async fn handle(&self, request: Request, next: Next) -> Result<Response> {
        let mode = request.cache_mode();
        let Ok((key, wanted)) = key::of(&self.namespace, &next, &request) else {
            return next.run(request).await;
        };
        let store = Arc::clone(&self.store);
        let (next, witness) = next.witnessed();
        let mut ticket = Ticket { store, key, ttl: self.ttl, wanted, witness, lead: None };
        if mode == CacheMode::Use {
            let timeouts = request.timeouts().unwrap_or(next.timeouts());
            let limits = [Some(self.wait), timeouts.first_content, timeouts.total];
            let wait = limits.into_iter().flatten().min().unwrap_or(self.wait);
            match self.look(key, &request, wait).await {
                Found::Response(response) => return Ok(response),
                Found::Nothing(lead) => ticket.lead = lead,
            }
        }
        match next.run(request).await? {
            Response::Events(events) => {
                Ok(Response::Events(ChatStream::new(Recording::new(events, ticket))))
            }
            Response::Embedding(response) => {
                if let Some(bytes) = ticket.of_vectors(&response) {
                    ticket.keep(bytes).await;
                }
                Ok(Response::Embedding(response))
            }
            other @ (Response::Task(_) | Response::TaskStream(_)) => Ok(other),
        }
    }

    /// Looks in the store, and waits for equal calls that are under way.
    async fn look(&self, key: CacheKey, request: &Request, wait: Duration) -> Found {
        let waiting = async {
            for _ in 0..CACHE_MAX_LEADERS {
                match self.flights.board(key) {
                    Seat::Lead(lead) => {
                        // The leader checks the store for all waiting calls, so none checks it between a response and its storing.
                        if let Some(bytes) = self.store.get(&key).await
                            && let Some(response) = value::response(request, &bytes)
                        {
                            lead.share(bytes);
                            return Found::Response(response);
                        }
                        return Found::Nothing(Some(lead));
                    }
                    Seat::Follow(follow) => {
                        if let Some(bytes) = follow.response().await
                            && let Some(response) = value::response(request, &bytes)
                        {
                            return Found::Response(response);
                        }
                    }
                }
            }
            Found::Nothing(None)
        };
        tokio::time::timeout(wait, waiting).await.unwrap_or(Found::Nothing(None))
    }
}

/// The result of looking for a response.
enum Found {
    /// A stored or shared response.
    Response(Response),
    /// No response: the call must be sent, for other calls too if it leads.
    Nothing(Option<flight::Lead>),
}

impl Request {
    fn cache_mode(&self) -> CacheMode {
        let mode = match self {
            Self::Chat(request) | Self::Stream(request) => request.cache,
            Self::Embed(request) => request.cache,
            // Images and speech differ each time, and what they contain is large. The other modalities have no key yet.
            Self::Task(_) | Self::TaskStream(_) => Some(CacheMode::Bypass),
        };
        mode.unwrap_or_default()
    }

    fn timeouts(&self) -> Option<Timeouts> {
        match self {
            Self::Chat(request) | Self::Stream(request) => request.timeouts,
            Self::Embed(request) => request.timeouts,
            Self::Task(task) | Self::TaskStream(task) => task.timeouts(),
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware for Cache {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        if !self.applies_to(&request) {
            return Box::pin(async move { next.run(request).await });
        }
        Box::pin(self.handle(request, next))
    }

    fn applies_to(&self, request: &Request) -> bool {
        request.cache_mode() != CacheMode::Bypass
    }

    fn needs_events(&self) -> bool {
        false
    }
}

shown! { Cache: self { namespace: self.namespace, ttl: self.ttl } }
