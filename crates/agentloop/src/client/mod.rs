//! The front door.

mod access;
mod builder;
mod call;
mod download;
mod embed;
mod encode;
mod hidden;
mod limit;
mod models;
mod reply;
mod shared;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use builder::AgentLoopBuilder;
pub(crate) use call::prepare_chat;
pub(crate) use embed::prepare_embed;
pub(crate) use reply::{Reading, Reply};
use shared::Held;
pub use shared::SharedRequest;

use self::download::Fetcher;
use crate::chat::{ChatRequest, ChatResponse, EmbedRequest, EmbedResponse};
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::middleware::{Answer, Dispatch, Middleware, Next, Request};
use crate::models::ModelInfo;
use crate::models::{ModelCatalog, PriceBook};
use crate::provider::{Provider, Registry, Target};
use crate::secret::Secret;
use crate::stream::ChatStream;
use crate::timeouts::Timeouts;
use crate::transport::Transport;

/// One interface to every provider.
///
/// It is cheap to clone, and every clone shares its connections. The caller owns the runtime: calls run on the
/// tokio runtime that they are awaited on, and nothing runs on after them.
///
/// ```no_run
/// # async fn example() -> agentloop::Result<()> {
/// use agentloop::{AgentLoop, ChatRequest};
///
/// let ai = AgentLoop::from_env();
/// let answer = ai.chat(ChatRequest::new("groq/openai/gpt-oss-120b").user("Hello")).await?;
/// println!("{}", answer.text());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentLoop(Arc<Inner>);

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) registry: Arc<Registry>,
    /// Keys in place of those of the providers, by the name of the provider.
    pub(crate) keys: BTreeMap<String, Secret>,
    pub(crate) middleware: Vec<Arc<dyn Middleware>>,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) timeouts: Timeouts,
    pub(crate) models: ModelCatalog,
    /// The models that were asked, with their prices.
    pub(crate) prices: Arc<PriceBook>,
    pub(crate) fetcher: Arc<Fetcher>,
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

    /// A client to be set up.
    pub fn builder() -> AgentLoopBuilder {
        AgentLoopBuilder::new()
    }

    /// Returns a client with one more middleware, which wraps all others.
    ///
    /// The new client shares the connections, the providers, and the state of the middleware of this one. It is cheap: a service
    /// can make one for each of its users. The middleware is the outermost, so it runs once per call, also for a call
    /// that a [cache](crate::middleware::Cache) answers or that is retried. After `ai.with(a).with(b)`, `b` wraps `a`.
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
    /// The new client shares everything else with this one, as with [`with`](Self::with); this one keeps its keys. A
    /// [cache](crate::middleware::Cache) does not share responses between such keys.
    /// [`Limits`](crate::middleware::Limits) and [`Costs`](crate::middleware::Costs) count all clients that share them
    /// together; tags tell users apart.
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
    /// Fails if the provider is not known or takes no key. The error lists the known providers.
    pub fn with_key(&self, provider: &str, key: impl Into<Secret>) -> Result<Self> {
        access::takes_key(self.0.registry.provider(provider)?.as_ref())?;
        let mut inner = Inner::clone(&self.0);
        inner.keys.insert(provider.to_owned(), key.into());
        Ok(Self(Arc::new(inner)))
    }

    /// Sends a chat request and waits for the complete response.
    ///
    /// Takes a request, a reference to one, or an [`Arc`] of one; see [`SharedRequest`].
    ///
    /// # Errors
    ///
    /// When there is no response, or it is not complete. What did arrive is in [`Error::partial`].
    pub fn chat<'r>(
        &self,
        request: impl Into<SharedRequest<'r>>,
    ) -> impl Future<Output = Result<ChatResponse>> + Send {
        let mut request = request.into();
        async move {
            request.check()?;
            // A client without middleware does not share the request, and makes no events of the response. That saves two copies
            // of the response (`tests/it/shortcuts.rs` counts them).
            if self.0.middleware.is_empty() {
                return self.0.answer(&request).await;
            }
            match self.run(Request::Chat(request.into_arc())).await? {
                Answer::Events(events) => events.response().await,
                Answer::Embedding(_) => Err(wrong_answer()),
            }
        }
    }

    /// Sends a chat request and returns the response as a stream of events.
    ///
    /// Returns when the first content has arrived: what fails before that fails the call. Takes a request, a reference to one, or an
    /// [`Arc`] of one; see [`SharedRequest`].
    ///
    /// # Errors
    ///
    /// When the response never began.
    pub fn stream<'r>(
        &self,
        request: impl Into<SharedRequest<'r>>,
    ) -> impl Future<Output = Result<ChatStream>> + Send {
        let mut request = request.into();
        // Held apart from here on: the future that waits for the stream does not carry the request.
        let request = request.check().map(|()| request.into_held());
        async move {
            match request? {
                Held::Borrowed(request) if self.0.middleware.is_empty() => {
                    Box::pin(self.0.stream(request)).await
                }
                held => match self.run(Request::Stream(held.into_arc())).await? {
                    Answer::Events(events) => Ok(events),
                    Answer::Embedding(_) => Err(wrong_answer()),
                },
            }
        }
    }

    /// Turns texts into vectors, in the order of the texts.
    ///
    /// Texts that the host does not take in one call go in several, a few at once. The first call that fails ends the
    /// others, and the error says which texts it was about: `input[96..192]: …`.
    ///
    /// # Errors
    ///
    /// When there is no text, the provider has no embeddings, a call fails, a vector is missing, or the vectors have
    /// different lengths.
    pub async fn embed(&self, mut request: EmbedRequest) -> Result<EmbedResponse> {
        depth::check_fields("extra_body", &mut request.extra_body)?;
        match self.run(Request::Embed(Arc::new(request))).await? {
            Answer::Embedding(response) => Ok(*response),
            Answer::Events(_) => Err(wrong_answer()),
        }
    }

    /// Returns the models that a provider serves, from all pages of its list.
    ///
    /// The whole list must arrive within [`MODEL_LIST_TIMEOUT`](crate::limits::MODEL_LIST_TIMEOUT), or within
    /// [`Timeouts::total`] if that is shorter.
    ///
    /// # Errors
    ///
    /// When the provider is not known, has no such list, does not respond in time, or the list is too large
    /// ([`MAX_MODEL_LIST_BYTES`](crate::limits::MAX_MODEL_LIST_BYTES), [`MAX_MODELS`](crate::limits::MAX_MODELS)).
    pub async fn models(&self, provider: &str) -> Result<Vec<ModelInfo>> {
        self.0.models(provider).await
    }

    /// How many tokens a chat would read, in the provider's own count. Nothing is generated.
    ///
    /// # Errors
    ///
    /// When the provider does not count, or does not answer.
    pub async fn count_tokens(&self, request: &ChatRequest) -> Result<u64> {
        match depth::refusal(request) {
            Some(refusal) => Err(refusal),
            None => self.0.count_tokens(request).await,
        }
    }

    /// What is known of models: their limits, abilities and prices. Nothing is asked of anybody.
    pub fn catalog(&self) -> &ModelCatalog {
        &self.0.models
    }

    /// The providers that this client knows, in order.
    pub fn providers(&self) -> impl Iterator<Item = &Provider> {
        self.0.registry.providers()
    }

    /// Whether a call to this provider would have a key: `Ok(true)` if there is one, `Ok(false)` if none is needed.
    ///
    /// # Errors
    ///
    /// When one is needed and there is none; the error says where it is looked for.
    pub fn check_key(&self, provider: &str) -> Result<bool> {
        let provider = self.0.registry.provider(provider)?;
        Ok(self.0.key(&provider)?.is_some())
    }

    /// The address that calls to this provider go to, with what the environment says.
    ///
    /// # Errors
    ///
    /// When the provider is not known, or its address names a variable that is not set; the error says which.
    pub fn base_url(&self, provider: &str) -> Result<String> {
        let provider = self.0.registry.provider(provider)?;
        Ok(self.0.registry.base_url(&provider)?.into_owned())
    }

    /// Which provider and model the name of a model leads to.
    ///
    /// # Errors
    ///
    /// When it leads to none.
    pub fn resolve(&self, model: &str) -> Result<Target> {
        self.0.registry.resolve(model).map(Arc::unwrap_or_clone)
    }

    /// The events of a chat: as they come, or all at once.
    #[cfg(feature = "agent")]
    pub(crate) async fn events(
        &self,
        request: Arc<ChatRequest>,
        streamed: bool,
    ) -> Result<ChatStream> {
        // A whole answer may come without its steps; here they are wanted.
        if !streamed && self.0.middleware.is_empty() {
            return Ok(ChatStream::from_response(&self.0.answer(&request).await?));
        }
        let request = if streamed { Request::Stream(request) } else { Request::Chat(request) };
        match self.run(request).await? {
            Answer::Events(events) if !streamed => {
                Ok(ChatStream::from_response(&events.response().await?))
            }
            Answer::Events(events) => Ok(events),
            Answer::Embedding(_) => Err(wrong_answer()),
        }
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    async fn run(&self, request: Request) -> Result<Answer> {
        if self.0.middleware.is_empty() {
            // Boxed, because the caller holds this future for as long as it waits (`tests/it/shortcuts.rs` bounds its size).
            return Box::pin(self.0.call_provider(request, None)).await;
        }
        let client: Arc<dyn Dispatch> = self.0.clone();
        Next::new(client, request.model()).run(request).await
    }
}

/// A middleware answered a chat with vectors, or the other way round.
fn wrong_answer() -> Error {
    Error::new(ErrorKind::Other, "a middleware answered with something that was not asked for")
}

impl fmt::Debug for AgentLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let providers: Vec<&str> = self.providers().map(|row| row.name.as_ref()).collect();
        f.debug_struct("AgentLoop").field("providers", &providers).finish_non_exhaustive()
    }
}
