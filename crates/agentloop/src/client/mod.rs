//! The client.

mod access;
mod authorize;
mod batches;
mod builder;
mod call;
mod download;
mod embed;
mod encode;
mod exchange;
mod files;
mod limit;
mod models;
#[cfg(feature = "serve")]
pub mod relay;
mod reply;
mod secrets;
mod shared;
mod task;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use batches::{BatchResult, BatchResults, Batches, PreparedBatch, WaitOptions};
pub use builder::AgentLoopBuilder;
pub(crate) use call::prepare_chat;
pub(crate) use embed::prepare_embed;
pub use files::Files;
pub(crate) use reply::{Reading, Reply};
use shared::Held;
pub use shared::SharedRequest;

use self::download::Fetcher;
use crate::chat::{ChatRequest, ChatResponse, EmbedRequest, EmbedResponse};
use crate::credential::Environment;
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::long_work::LongWork;
use crate::middleware::{Dispatch, Middleware, Next, Request, Response};
use crate::models::ModelInfo;
use crate::models::{ModelCatalog, PriceBook};
use crate::provider::{Provider, Registry, Target};
use crate::secret::Secret;
use crate::shared_room::SharedRoom;
use crate::stream::ChatStream;
use crate::timeouts::Timeouts;
use crate::transport::Transport;

/// A client for every provider.
///
/// It is cheap to clone, and clones share their connections. The caller owns the runtime: calls run on the tokio
/// runtime that they are awaited on, and nothing keeps running after them.
///
/// ```no_run
/// # async fn example() -> agentloop::Result<()> {
/// use agentloop::{AgentLoop, ChatRequest};
///
/// let ai = AgentLoop::from_env();
/// let response = ai.chat(ChatRequest::new("groq/openai/gpt-oss-120b").user("Hello")).await?;
/// println!("{}", response.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentLoop(Arc<Inner>);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) registry: Arc<Registry>,
    /// Keys that replace those of the providers, by provider name.
    pub(crate) keys: BTreeMap<String, Secret>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) timeouts: Timeouts,
    pub(crate) models: ModelCatalog,
    /// The prices of the models that were called.
    pub(crate) prices: Arc<PriceBook>,
    pub(crate) fetcher: Arc<Fetcher>,
    pub(crate) long_work: LongWork,
    /// What large responses share, in a server.
    pub(crate) room: Option<Arc<SharedRoom>>,
}

impl AgentLoop {
    /// Returns a client with every built-in provider and the keys of the environment. Keys are read when they are needed, so this
    /// cannot fail.
    ///
    /// Temporary errors are retried twice, as [`Retry::new`](crate::middleware::Retry::new) does. A client of
    /// [`builder`](Self::builder) retries only if it is configured to.
    pub fn from_env() -> Self {
        Self(Arc::new(AgentLoopBuilder::new().retrying().into_inner()))
    }

    /// Returns a builder for a client with other settings.
    pub fn builder() -> AgentLoopBuilder {
        AgentLoopBuilder::new()
    }

    /// Returns a client with one more middleware, which wraps all others.
    ///
    /// The new client shares the connections, the providers and the state of the middleware with this one. It is cheap:
    /// a service can create one for each of its users. The new middleware is the outermost, so it runs once per call,
    /// also for calls that are retried or that a [cache](crate::middleware::Cache) handles. After `ai.with(a).with(b)`,
    /// `b` wraps `a`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, middleware};
    ///
    /// let ai = AgentLoop::from_env();
    /// let logged = ai.with(middleware::Logger::new());
    /// ```
    #[must_use]
    pub fn with(&self, middleware: impl Middleware + 'static) -> Self {
        let mut inner = Inner::clone(&self.0);
        inner.middleware.insert(0, Arc::new(middleware));
        Self(Arc::new(inner))
    }

    /// Returns a client with another key for one provider.
    ///
    /// The new client shares everything else with this one, which keeps its keys. A [cache](crate::middleware::Cache)
    /// does not share responses between keys. [`Limits`](crate::middleware::Limits) and
    /// [`Costs`](crate::middleware::Costs) count all clients that share them together; use tags to count users
    /// separately.
    ///
    /// ```
    /// use agentloop::AgentLoop;
    ///
    /// let ai = AgentLoop::from_env();
    /// let of_a_customer = ai.with_key("openai", "sk-of-a-customer")?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known or takes no key. The error of an unknown provider lists the known ones.
    pub fn with_key(&self, provider: &str, key: impl Into<Secret>) -> Result<Self> {
        access::takes_key(self.0.registry.provider(provider)?.as_ref())?;
        let mut inner = Inner::clone(&self.0);
        inner.keys.insert(provider.to_owned(), key.into());
        Ok(Self(Arc::new(inner)))
    }

    /// Returns a client for a server: its large responses share `room`, and are read where the server's other tasks do not wait. Each
    /// of its calls must be made in a task that was spawned.
    #[doc(hidden)]
    #[must_use]
    pub fn in_server(&self, room: Arc<SharedRoom>) -> Self {
        let (long_work, room) = (LongWork::InPlace, Some(room));
        Self(Arc::new(Inner { long_work, room, ..Inner::clone(&self.0) }))
    }

    /// Sends a chat request and waits for the complete response.
    ///
    /// Takes a request, a reference to one, or an [`Arc`] of one; see [`SharedRequest`].
    ///
    /// # Errors
    ///
    /// Fails if there is no response or it is incomplete. [`Error::partial`] has the part that arrived.
    pub fn chat<'r>(
        &self,
        request: impl Into<SharedRequest<'r>>,
    ) -> impl Future<Output = Result<ChatResponse>> + Send {
        let mut request = request.into();
        async move {
            request.check()?;
            // A client without middleware does not share the request and creates no events. That saves two copies of
            // the response (`tests/it/shortcuts.rs` counts them).
            if self.0.middleware.is_empty() {
                return self.0.open_reply(&request, false, None).await?.into_response();
            }
            match self.run(Request::Chat(request.into_arc())).await? {
                Response::Events(events) => events.response().await,
                _ => Err(wrong_response()),
            }
        }
    }

    /// Sends a chat request and returns the response as a stream of events.
    ///
    /// Returns when the first content has arrived, so an error before that fails the call and not the stream. Takes a
    /// request, a reference to one, or an [`Arc`] of one; see [`SharedRequest`].
    ///
    /// # Errors
    ///
    /// Fails if an error occurs before the first content.
    pub fn stream<'r>(
        &self,
        request: impl Into<SharedRequest<'r>>,
    ) -> impl Future<Output = Result<ChatStream>> + Send {
        let mut request = request.into();
        // Behind a pointer from here on, so the future that waits for the stream does not hold the request itself.
        let request = request.check().map(|()| request.into_held());
        async move {
            match request? {
                Held::Borrowed(request) if self.0.middleware.is_empty() => {
                    Box::pin(self.0.stream(request)).await
                }
                held => match self.run(Request::Stream(held.into_arc())).await? {
                    Response::Events(events) => Ok(events),
                    _ => Err(wrong_response()),
                },
            }
        }
    }

    /// Turns texts into vectors, in the order of the texts.
    ///
    /// Texts that do not fit into one call of the provider are sent in several, a few at once. The first call that
    /// fails cancels the others, and its error states the texts: `input[96..192]: …`.
    ///
    /// # Errors
    ///
    /// Fails if there are no texts, the provider has no embeddings API, a call fails, a vector is missing, or the
    /// vectors have different lengths.
    pub async fn embed(&self, mut request: EmbedRequest) -> Result<EmbedResponse> {
        depth::check_fields("extra_body", &mut request.extra_body)?;
        match self.run(Request::Embed(Arc::new(request))).await? {
            Response::Embedding(response) => Ok(*response),
            _ => Err(wrong_response()),
        }
    }

    /// Returns the models that a provider serves, from all pages of its list.
    ///
    /// The whole list must arrive within [`MODEL_LIST_TIMEOUT`](crate::limits::MODEL_LIST_TIMEOUT), or within
    /// [`Timeouts::total`] if that is shorter.
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known, has no list, does not respond in time, or the list is too large
    /// ([`MAX_MODEL_LIST_BYTES`](crate::limits::MAX_MODEL_LIST_BYTES), [`MAX_MODELS`](crate::limits::MAX_MODELS)).
    pub async fn models(&self, provider: &str) -> Result<Vec<ModelInfo>> {
        self.0.models(provider).await
    }

    /// Returns how many tokens the prompt of a request has, as the provider counts them. Nothing is generated.
    ///
    /// # Errors
    ///
    /// Fails if the provider has no API that counts tokens, or if the call fails.
    pub async fn count_tokens(&self, request: &ChatRequest) -> Result<u64> {
        match depth::refusal(request) {
            Some(refusal) => Err(refusal),
            None => self.0.count_tokens(request).await,
        }
    }

    /// Returns the model data: limits, abilities and prices. Sends nothing.
    pub fn catalog(&self) -> &ModelCatalog {
        &self.0.models
    }

    /// Returns the providers that this client knows, in order.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.0.registry.providers()
    }

    /// Returns whether a call to this provider has a key or a [credential](crate::credential): `Ok(true)` if there is one, `Ok(false)` if
    /// none is needed. Nothing is sent: a credential that a service on the network returns counts as missing, unless this is a virtual
    /// machine of the provider that has such a service.
    ///
    /// # Errors
    ///
    /// Fails if a key is needed and there is none. The error states where keys are looked up.
    pub fn check_key(&self, provider: &str) -> Result<bool> {
        let provider = self.0.registry.provider(provider)?;
        match (self.0.key(&provider)?, self.0.registry.credential(&provider)) {
            (Some(_), _) => Ok(true),
            (None, None) => Ok(false),
            (None, Some(credential)) => {
                let look_up = |name: &str| self.0.registry.variable(name);
                let checked = credential.check(Environment::new(&look_up));
                checked.map(|()| true).map_err(|error| {
                    authorize::or_a_key(&provider, error).with_provider(provider.name.as_ref())
                })
            }
        }
    }

    /// Returns the base URL of a provider, with the variables of the environment filled in.
    ///
    /// # Errors
    ///
    /// Fails if the provider is not known, or if its base URL names a variable that is not set. The error names the
    /// variable.
    pub fn base_url(&self, provider: &str) -> Result<String> {
        let provider = self.0.registry.provider(provider)?;
        Ok(self.0.registry.base_url(&provider)?.into_owned())
    }

    /// Returns the provider and the model that a model name stands for.
    ///
    /// # Errors
    ///
    /// Fails if the name cannot be resolved.
    pub fn resolve(&self, model: &str) -> Result<Target> {
        self.0.registry.resolve(model).map(Arc::unwrap_or_clone)
    }

    /// Returns the events of a chat, streamed or from a complete response.
    #[cfg(feature = "agent")]
    pub(crate) async fn events(
        &self,
        request: Arc<ChatRequest>,
        streamed: bool,
    ) -> Result<ChatStream> {
        // A complete response may arrive as its last event alone, but here all events are needed.
        if !streamed && self.0.middleware.is_empty() {
            let reply = self.0.open_reply(&request, false, None).await?;
            return Ok(ChatStream::from_response(&reply.into_response()?));
        }
        let request = if streamed { Request::Stream(request) } else { Request::Chat(request) };
        match self.run(request).await? {
            Response::Events(events) if !streamed => {
                Ok(ChatStream::from_response(&events.response().await?))
            }
            Response::Events(events) => Ok(events),
            _ => Err(wrong_response()),
        }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    async fn run(&self, request: Request) -> Result<Response> {
        if self.0.middleware.is_empty() {
            // Boxed, because the caller holds this future for as long as it waits (`tests/it/shortcuts.rs` bounds its size).
            return Box::pin(self.0.call_provider(request, None)).await;
        }
        let client: Arc<dyn Dispatch> = self.0.clone();
        Next::new(client, request.model()).run(request).await
    }
}

/// Returns the error for a middleware that returns, for example, vectors for a chat.
fn wrong_response() -> Error {
    Error::new(ErrorKind::Other, "a middleware returned a response of the wrong kind")
}

impl fmt::Debug for AgentLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let providers: Vec<&str> = self.providers().map(|row| row.name.as_ref()).collect();
        f.debug_struct("AgentLoop").field("providers", &providers).finish_non_exhaustive()
    }
}
