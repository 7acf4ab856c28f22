//! What wraps a call.
//!
//! A middleware is one method. The service always answers with events (or with vectors), so that one
//! implementation serves `chat`, `stream` and `embed`. Everything that is known to have failed before the first
//! content event fails the call itself and not the stream, so that a middleware can try again.
//!
//! The provider, its key and its protocol are resolved *inside* the stack: a middleware that changes the model of
//! a request reaches another provider.
//!
//! [`Retry`] tries again, [`Fallback`] asks another model, [`Cache`] answers what was asked before, [`Costs`] counts the money,
//! [`Limits`] keeps to what a provider allows, [`Logger`] writes a record of each
//! call, [`WarningsTo`] tells of warnings.

mod cache;
mod cost;
mod estimate;
mod fallback;
mod limits;
mod logger;
mod next;
pub(crate) mod order;
#[cfg(feature = "redis")]
mod redis;
mod retry;
mod seconds;
mod settle;
mod warn;
pub(crate) mod watch;
mod witness;

use std::future::Future;
use std::sync::Arc;

pub(crate) use cache::CacheTable;
#[cfg(feature = "redis")]
pub use cache::RedisStore;
pub use cache::{Cache, CacheKey, CacheStore, MemoryStore};
pub(crate) use cost::CostTable;
pub use cost::{CostEntry, CostLedger, Costs, Totals};
pub(crate) use fallback::FallbackTable;
pub use fallback::{Cooldown, Fallback};
#[cfg(feature = "redis")]
pub use limits::RedisLimits;
pub(crate) use limits::table::LimitsTable;
pub use limits::{InProcess, Limit, Limits, SharedAnswer, SharedAsk, SharedLimits};
pub(crate) use logger::LogTable;
pub use logger::{LogEntry, LogStatus, Logger};
pub use next::Next;
pub(crate) use retry::RetryTable;
pub use retry::{Backoff, Jitter, Retry, RetryBudget, Retrying};
pub use warn::WarningsTo;
pub(crate) use witness::Witness;

use crate::chat::{ChatRequest, EmbedRequest, EmbedResponse};
use crate::error::Result;
use crate::stream::ChatStream;
use crate::transport::BoxFuture;

/// A call on its way in. It is cheap to clone: a conversation is copied only when one of the clones is changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Request {
    /// A chat whose answer is wanted whole.
    Chat(Arc<ChatRequest>),
    /// A chat whose answer is wanted as it comes.
    Stream(Arc<ChatRequest>),
    /// Texts to turn into vectors.
    Embed(Arc<EmbedRequest>),
}

impl Request {
    /// The model that is asked, as the caller named it.
    pub fn model(&self) -> &str {
        match self {
            Self::Chat(request) | Self::Stream(request) => &request.model,
            Self::Embed(request) => &request.model,
        }
    }

    /// Asks another model, perhaps of another provider.
    pub fn set_model(&mut self, model: impl Into<String>) {
        match self {
            Self::Chat(request) | Self::Stream(request) => {
                Arc::make_mut(request).model = model.into();
            }
            Self::Embed(request) => Arc::make_mut(request).model = model.into(),
        }
    }

    /// What the caller counts the call under.
    pub fn tags(&self) -> &[String] {
        match self {
            Self::Chat(request) | Self::Stream(request) => &request.tags,
            Self::Embed(request) => &request.tags,
        }
    }

    /// The request's own list of models to fall back to, which is then no longer in it.
    pub(crate) fn take_fallbacks(&mut self) -> Vec<String> {
        match self {
            Self::Chat(request) | Self::Stream(request) if !request.fallbacks.is_empty() => {
                std::mem::take(&mut Arc::make_mut(request).fallbacks)
            }
            Self::Embed(request) if !request.fallbacks.is_empty() => {
                std::mem::take(&mut Arc::make_mut(request).fallbacks)
            }
            _ => Vec::new(),
        }
    }

    /// The chat request; `None` for embeddings.
    pub fn chat(&self) -> Option<&ChatRequest> {
        match self {
            Self::Chat(request) | Self::Stream(request) => Some(request),
            Self::Embed(_) => None,
        }
    }

    /// The chat request, to change; `None` for embeddings.
    pub fn chat_mut(&mut self) -> Option<&mut ChatRequest> {
        match self {
            Self::Chat(request) | Self::Stream(request) => Some(Arc::make_mut(request)),
            Self::Embed(_) => None,
        }
    }
}

/// A call's answer on its way out.
#[derive(Debug)]
#[non_exhaustive]
pub enum Answer {
    /// The events of a chat, also when it is wanted whole: it is their fold.
    Events(ChatStream),
    /// Vectors. Boxed, so that chats, which are most calls, do not carry the room for them through every layer.
    Embedding(Box<EmbedResponse>),
}

/// Wraps calls.
///
/// ```
/// use agentloop::middleware::{Answer, Middleware, Next, Request};
/// use agentloop::{BoxFuture, Result};
///
/// /// Asks the second model when the first cannot answer.
/// struct Second(String);
///
/// impl Middleware for Second {
///     fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
///         Box::pin(async move {
///             let mut again = request.clone();
///             match next.run(request).await {
///                 Err(error) if error.is_retryable() => {
///                     again.set_model(&self.0);
///                     next.run(again).await
///                 }
///                 answer => answer,
///             }
///         })
///     }
/// }
/// ```
pub trait Middleware: Send + Sync {
    /// Handles a call, usually by handing it on to `next` and doing something before, after or instead.
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Answer>>;

    /// Whether there is anything to do for this request. One that has nothing to do is passed by as if it were not in the
    /// stack, and costs nothing. It always has, unless it says otherwise.
    fn concerns(&self, request: &Request) -> bool {
        let _ = request;
        true
    }

    /// Whether it looks at the steps of a whole answer. Where nobody in the stack does, an answer that was asked for whole
    /// passes as its last event alone. It does, unless it says otherwise.
    fn sees_steps(&self) -> bool {
        true
    }
}

/// A middleware that is a function.
pub(crate) struct FromFn<F>(pub(crate) F);

impl<F, Fut> Middleware for FromFn<F>
where
    F: Fn(Request, Next) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Answer>> + Send + 'static,
{
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
        Box::pin((self.0)(request, next))
    }
}
