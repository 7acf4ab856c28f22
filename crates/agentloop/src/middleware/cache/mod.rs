//! Answers what was asked before.

mod config;
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

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use config::CacheTable;
pub use key::CacheKey;
pub use memory::MemoryStore;
#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use store::CacheStore;

use self::flight::{Flights, Seat};
use self::guarded::Guarded;
use self::record::{Recording, Ticket};
use crate::chat::CacheMode;
use crate::error::Result;
use crate::limits::{
    CACHE_MAX_BYTES, CACHE_MAX_LEADERS, CACHE_STORE_DEADLINE, CACHE_TTL, CACHE_WAIT,
};
use crate::middleware::{Answer, Middleware, Next, Request};
use crate::stream::ChatStream;
use crate::timeouts::Timeouts;
use crate::transport::BoxFuture;

/// Answers a question that was asked before, without asking again.
///
/// - The key is all that shapes the answer: every field of the request, the provider with the settings of its row, the
///   model and the address, after resolution. How long to wait, keys, and whether the answer is wanted whole or as a
///   stream are no part of it.
/// - Only whole, successful answers are stored: no failure, no answer that was cut, filtered or dropped half way.
/// - A stored answer is a copy with [`cached`](crate::ChatResponse::cached) set and a cost of zero. To `stream` it comes as
///   events.
/// - Equal questions at the same time are asked once; the others wait for the answer. If the one that asks fails or is
///   dropped, another one asks.
/// - A store that fails or stalls costs a call no more than the [deadline](Self::store_deadline), once; then it is left
///   alone for [a while](crate::limits::CACHE_STORE_REST). It never makes a call fail.
/// - [`ChatRequest::cache`](crate::ChatRequest::cache) says for one request that it shall
///   [not be used](CacheMode::Bypass), or [be filled anew](CacheMode::Refresh).
///
/// It caches what it is given, also at a high temperature: who wants another answer to the same question gives the
/// request another `seed`, or goes past the cache.
///
/// A clone shares the answers.
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
    store: Arc<Guarded>,
    flights: Flights,
    ttl: Duration,
    wait: Duration,
    namespace: Arc<str>,
}

impl Cache {
    /// A cache in memory, of [`CACHE_MAX_BYTES`] and with [`CACHE_TTL`].
    pub fn new() -> Self {
        let store = Arc::new(MemoryStore::new(CACHE_MAX_BYTES));
        Self {
            store: Arc::new(Guarded::new(store, CACHE_STORE_DEADLINE)),
            flights: Flights::default(),
            ttl: CACHE_TTL,
            wait: CACHE_WAIT,
            namespace: Arc::from(""),
        }
    }

    /// Keeps at most so many bytes, in memory.
    pub fn max_bytes(self, max_bytes: u64) -> Self {
        self.store(MemoryStore::new(max_bytes))
    }

    /// Keeps answers elsewhere.
    pub fn store(self, store: impl CacheStore + 'static) -> Self {
        let store = Arc::new(Guarded::new(Arc::new(store), CACHE_STORE_DEADLINE));
        Self { store, flights: Flights::default(), ..self }
    }

    /// How long an operation of the store may take; set it after the store. Else [`CACHE_STORE_DEADLINE`].
    pub fn store_deadline(self, deadline: Duration) -> Self {
        Self { store: Arc::new(self.store.with_deadline(deadline)), ..self }
    }

    /// How long an answer is kept.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl, ..self }
    }

    /// How long to wait for the answer to an equal question that is being asked, before asking too. Else
    /// [`CACHE_WAIT`]. A call that has less time for its first content, or in all, waits no longer than that.
    pub fn wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Keeps the answers apart from those of other namespaces in the same store.
    pub fn namespace(self, namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into().into(), flights: Flights::default(), ..self }
    }

    async fn handle(&self, request: Request, next: Next) -> Result<Answer> {
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
                Found::Answer(answer) => return Ok(answer),
                Found::Nothing(lead) => ticket.lead = lead,
            }
        }
        match next.run(request).await? {
            Answer::Events(events) => {
                Ok(Answer::Events(ChatStream::new(Recording::new(events, ticket))))
            }
            Answer::Embedding(response) => {
                if let Some(bytes) = ticket.of_vectors(&response) {
                    ticket.keep(bytes).await;
                }
                Ok(Answer::Embedding(response))
            }
        }
    }

    /// Looks in the store, and waits for those who are asking the same.
    async fn look(&self, key: CacheKey, request: &Request, wait: Duration) -> Found {
        let waiting = async {
            for _ in 0..CACHE_MAX_LEADERS {
                match self.flights.board(key) {
                    Seat::Lead(lead) => {
                        // The one that leads looks for all, so that nobody looks between an answer and its storing.
                        if let Some(bytes) = self.store.get(&key).await
                            && let Some(answer) = value::answer(request, &bytes)
                        {
                            lead.share(bytes);
                            return Found::Answer(answer);
                        }
                        return Found::Nothing(Some(lead));
                    }
                    Seat::Follow(follow) => {
                        if let Some(bytes) = follow.answer().await
                            && let Some(answer) = value::answer(request, &bytes)
                        {
                            return Found::Answer(answer);
                        }
                    }
                }
            }
            Found::Nothing(None)
        };
        tokio::time::timeout(wait, waiting).await.unwrap_or(Found::Nothing(None))
    }
}

/// What became of looking for an answer.
enum Found {
    /// It is there.
    Answer(Answer),
    /// It has to be asked for, perhaps for others too.
    Nothing(Option<flight::Lead>),
}

impl Request {
    fn cache_mode(&self) -> CacheMode {
        let mode = match self {
            Self::Chat(request) | Self::Stream(request) => request.cache,
            Self::Embed(request) => request.cache,
        };
        mode.unwrap_or_default()
    }

    fn timeouts(&self) -> Option<Timeouts> {
        match self {
            Self::Chat(request) | Self::Stream(request) => request.timeouts,
            Self::Embed(request) => request.timeouts,
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

impl Middleware for Cache {
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
        if !self.concerns(&request) {
            return Box::pin(async move { next.run(request).await });
        }
        Box::pin(self.handle(request, next))
    }

    fn concerns(&self, request: &Request) -> bool {
        request.cache_mode() != CacheMode::Bypass
    }

    fn sees_steps(&self) -> bool {
        false
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("namespace", &self.namespace)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}
