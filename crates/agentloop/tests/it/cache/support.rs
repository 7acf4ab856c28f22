//! Requests of each kind, a slow client, and stores that record their use.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentloop::middleware::{Cache, CacheKey, CacheStore, MemoryStore};
use agentloop::{
    AgentLoop, AgentLoopBuilder, BoxFuture, CacheMode, ChatRequest, EmbedRequest, Error, ErrorKind,
    Result,
};
use agentloop_sim::Simulator;
use bytes::Bytes;

/// How long the provider takes.
pub(crate) const SLOW: Duration = Duration::from_millis(100);

/// A client with this cache, whose provider takes [`SLOW`].
pub(crate) fn builder(simulator: &Simulator, cache: Cache) -> AgentLoopBuilder {
    AgentLoop::builder().provider(simulator.provider()).layer(cache).middleware(
        |request, next| async move {
            tokio::time::sleep(SLOW).await;
            next.run(request).await
        },
    )
}

pub(crate) fn client(simulator: &Simulator, cache: Cache) -> AgentLoop {
    builder(simulator, cache).build().unwrap()
}

/// The three kinds of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Chat,
    Stream,
    Embed,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Chat, Self::Stream, Self::Embed];

    /// Makes the call, reads the response, and returns whether it was cached.
    pub(crate) async fn ask(self, ai: &AgentLoop, model: &str, text: &str) -> Result<bool> {
        self.ask_with(ai, model, text, CacheMode::Use).await
    }

    pub(crate) async fn ask_with(
        self,
        ai: &AgentLoop,
        model: &str,
        text: &str,
        mode: CacheMode,
    ) -> Result<bool> {
        let chat = ChatRequest::new(model).user(text).cache(mode);
        Ok(match self {
            Self::Chat => ai.chat(chat).await?.cached,
            Self::Stream => ai.stream(chat).await?.response().await?.cached,
            Self::Embed => ai.embed(EmbedRequest::new(model, text).cache(mode)).await?.cached,
        })
    }
}

/// The behaviour of a [`Spy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    Failing,
    Stalled,
}

/// A store that counts, and that can fail.
#[derive(Debug)]
pub(crate) struct Spy {
    inner: MemoryStore,
    pub(crate) mood: Mutex<Mood>,
    pub(crate) asked: AtomicUsize,
    pub(crate) values: Mutex<Vec<Bytes>>,
    /// The value that is found, whatever was stored.
    pub(crate) planted: Mutex<Option<Bytes>>,
}

impl Spy {
    pub(crate) fn new(mood: Mood) -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::new(1 << 20),
            mood: Mutex::new(mood),
            asked: AtomicUsize::new(0),
            values: Mutex::default(),
            planted: Mutex::default(),
        })
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    async fn answer<T>(&self, well: impl Future<Output = Result<T>>) -> Result<T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well => well.await,
            Mood::Failing => Err(Error::new(ErrorKind::Connection, "the store is gone")),
            Mood::Stalled => std::future::pending().await,
        }
    }
}

impl CacheStore for Spy {
    fn get<'a>(&'a self, key: &'a CacheKey) -> BoxFuture<'a, Result<Option<Bytes>>> {
        let planted = self.planted.lock().unwrap().clone();
        Box::pin(self.answer(async move {
            match planted {
                Some(planted) => Ok(Some(planted)),
                None => self.inner.get(key).await,
            }
        }))
    }

    fn put<'a>(
        &'a self,
        key: &'a CacheKey,
        value: Bytes,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<()>> {
        self.values.lock().unwrap().push(value.clone());
        Box::pin(self.answer(self.inner.put(key, value, ttl)))
    }
}
