//! Middleware, which wraps calls.
//!
//! A middleware is one method. The inner service always returns events (or vectors, or the response of another modality), so one
//! implementation serves `chat`, `stream`, `embed` and all other calls. Everything that fails before the first content event fails the call itself and not the stream, so a middleware can call it
//! again.
//!
//! The provider, its key and its protocol are resolved *inside* the stack: a middleware that changes the model of a request reaches another
//! provider.
//!
//! [`Retry`] repeats calls that failed, [`Fallback`] tries other models, [`Cache`] returns stored responses, [`Costs`] adds up and limits
//! costs, [`Limits`] keeps within rate limits, [`Logger`] writes a record of each call, and [`WarningsTo`] passes warnings to a function.

mod cache;
mod cost;
mod dispatch;
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

#[cfg(feature = "redis")]
pub use cache::RedisStore;
pub use cache::{Cache, CacheKey, CacheStore, GuardedStore, MemoryStore};
pub use cost::{CostEntry, CostLedger, CostPeriod, Costs, Totals};
pub(crate) use dispatch::Dispatch;
pub use fallback::{Cooldown, Fallback};
#[cfg(feature = "redis")]
pub use limits::RedisLimits;
pub use limits::{AcquireRequest, AcquireResponse, InProcess, Limit, Limits, SharedLimits};
pub use logger::{LogEntry, LogStatus, Logger};
pub use next::Next;
pub use retry::{Backoff, Jitter, Retry, RetryBudget, Retrying};
pub use warn::WarningsTo;
pub(crate) use witness::Witness;

/// The tables of `agentloop.toml`.
#[cfg(feature = "config")]
pub(crate) mod tables {
    pub(crate) use super::cache::config::CacheTable;
    pub(crate) use super::cost::config::CostTable;
    pub(crate) use super::fallback::config::FallbackTable;
    pub(crate) use super::limits::table::LimitsTable;
    pub(crate) use super::logger::config::LogTable;
    pub(crate) use super::retry::config::RetryTable;
}

use crate::chat::{Access, ChatRequest, EmbedRequest, EmbedResponse, Task, TaskResponse};
use crate::error::Result;
use crate::stream::{ChatStream, TaskStream};
use crate::transport::BoxFuture;

/// The request of a call. It is cheap to clone: a conversation is copied only when one of the clones is changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Request {
    /// A chat with a complete response.
    Chat(Arc<ChatRequest>),
    /// A chat with a streamed response.
    Stream(Arc<ChatRequest>),
    /// Texts to turn into vectors.
    Embed(Arc<EmbedRequest>),
    /// A call of another modality, with a complete response.
    Task(Arc<Task>),
    /// A call of another modality, with a streamed response: speech or a transcript.
    TaskStream(Arc<Task>),
}

impl Request {
    /// Returns the requested model, as the caller named it.
    pub fn model(&self) -> &str {
        match self {
            Self::Chat(request) | Self::Stream(request) => &request.model,
            Self::Embed(request) => &request.model,
            Self::Task(task) | Self::TaskStream(task) => task.model(),
        }
    }

    /// Sets another model, which can be one of another provider.
    pub fn set_model(&mut self, model: impl Into<String>) {
        match self {
            Self::Chat(request) | Self::Stream(request) => {
                Arc::make_mut(request).model = model.into();
            }
            Self::Embed(request) => Arc::make_mut(request).model = model.into(),
            Self::Task(task) | Self::TaskStream(task) => Arc::make_mut(task).set_model(model),
        }
    }

    /// Returns the tags of the request.
    pub fn tags(&self) -> &[String] {
        match self {
            Self::Chat(request) | Self::Stream(request) => &request.tags,
            Self::Embed(request) => &request.tags,
            Self::Task(task) | Self::TaskStream(task) => task.tags(),
        }
    }

    /// Returns the keys and base URLs that the request sets.
    pub(crate) fn access(&self) -> Option<&Access> {
        match self {
            Self::Chat(request) | Self::Stream(request) => request.access.as_deref(),
            Self::Embed(request) => request.access.as_deref(),
            Self::Task(task) | Self::TaskStream(task) => task.access(),
        }
    }

    /// Takes the list of models to fall back to out of the request.
    pub(crate) fn take_fallbacks(&mut self) -> Vec<String> {
        match self {
            Self::Chat(request) | Self::Stream(request) if !request.fallbacks.is_empty() => {
                std::mem::take(&mut Arc::make_mut(request).fallbacks)
            }
            Self::Embed(request) if !request.fallbacks.is_empty() => {
                std::mem::take(&mut Arc::make_mut(request).fallbacks)
            }
            Self::Task(task) | Self::TaskStream(task) if !task.fallbacks().is_empty() => {
                Arc::make_mut(task).take_fallbacks()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the chat request, or `None` for embeddings and other modalities.
    pub fn chat(&self) -> Option<&ChatRequest> {
        match self {
            Self::Chat(request) | Self::Stream(request) => Some(request),
            Self::Embed(_) | Self::Task(_) | Self::TaskStream(_) => None,
        }
    }

    /// Returns the chat request for changes, or `None` for embeddings and other modalities.
    pub fn chat_mut(&mut self) -> Option<&mut ChatRequest> {
        match self {
            Self::Chat(request) | Self::Stream(request) => Some(Arc::make_mut(request)),
            Self::Embed(_) | Self::Task(_) | Self::TaskStream(_) => None,
        }
    }
}

/// The response of a call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Response {
    /// The events of a chat. A complete response is their fold.
    Events(ChatStream),
    /// Vectors. Boxed, so that the response of a chat stays small in every middleware.
    Embedding(Box<EmbedResponse>),
    /// The response of another modality.
    Task(Box<TaskResponse>),
    /// The events of another modality.
    TaskStream(TaskStream),
}

/// Wraps calls.
///
/// ```
/// use agentloop::middleware::{Response, Middleware, Next, Request};
/// use agentloop::{BoxFuture, Result};
///
/// /// Tries a second model if the first one fails.
/// struct Second(String);
///
/// impl Middleware for Second {
///     fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
///         Box::pin(async move {
///             let mut again = request.clone();
///             match next.run(request).await {
///                 Err(error) if error.is_retryable() => {
///                     again.set_model(&self.0);
///                     next.run(again).await
///                 }
///                 response => response,
///             }
///         })
///     }
/// }
/// ```
pub trait Middleware: Send + Sync {
    /// Handles a call, usually by running `next` and doing something before, after or instead.
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>>;

    /// Returns whether the middleware applies to this request. If not, it is skipped and costs nothing. The default is `true`.
    fn applies_to(&self, request: &Request) -> bool {
        let _ = request;
        true
    }

    /// Returns whether the middleware needs all events of a complete response. If no middleware of the stack does, a complete response is
    /// passed as its last event alone. The default is `true`.
    fn needs_events(&self) -> bool {
        true
    }
}

/// A middleware that calls a function.
pub(crate) struct FromFn<F>(pub(crate) F);

impl<F, Fut> Middleware for FromFn<F>
where
    F: Fn(Request, Next) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Response>> + Send + 'static,
{
    fn call<'a>(&'a self, request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin((self.0)(request, next))
    }
}
