//! Builds a client.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use super::access::takes_key;
use super::download::Fetcher;
use super::{AgentLoop, Inner};
use crate::chat::MediaOptions;
#[cfg(feature = "config")]
use crate::config::Config;
use crate::credential;
use crate::error::Result;
use crate::long_work::LongWork;
use crate::middleware::order::Configured;
use crate::middleware::{FromFn, Limits, Middleware, Next, Request, Response, Retry};
use crate::models::ModelCatalog;
use crate::provider::{Provider, Registry, restrict};
use crate::secret::Secret;
use crate::timeouts::Timeouts;
use crate::transport::{HttpTransport, Transport};

/// Builds an [`AgentLoop`].
///
/// The built-in providers are registered from the start. Invalid settings are reported by [`build`](Self::build).
///
/// ```
/// use std::time::Duration;
///
/// use agentloop::middleware::Retry;
/// use agentloop::{AgentLoop, Provider, Timeouts};
///
/// let ai = AgentLoop::builder()
///     .provider(Provider::openai_compatible("lab", "http://localhost:8000/v1"))
///     .alias("fast", "lab/small")
///     .default_model("fast")
///     .timeouts(Timeouts::default().idle(Duration::from_secs(30)))
///     .layer(Retry::new())
///     .build()?;
/// assert_eq!(ai.resolve("fast")?.model, "small");
/// # Ok::<(), agentloop::Error>(())
/// ```
#[must_use]
pub struct AgentLoopBuilder {
    providers: Vec<Provider>,
    keys: BTreeMap<String, Secret>,
    aliases: BTreeMap<String, String>,
    default_provider: Option<String>,
    default_model: Option<String>,
    environment: BTreeMap<String, String>,
    middleware: Vec<Arc<dyn Middleware>>,
    configured: Configured,
    limits: Option<Limits>,
    transport: Option<Arc<dyn Transport>>,
    timeouts: Timeouts,
    models: Option<ModelCatalog>,
    media: MediaOptions,
    media_transport: Option<Arc<dyn Transport>>,
}

impl AgentLoopBuilder {
    pub(super) fn new() -> Self {
        Self {
            providers: Provider::all(),
            keys: BTreeMap::new(),
            aliases: BTreeMap::new(),
            default_provider: None,
            default_model: None,
            environment: BTreeMap::new(),
            middleware: Vec::new(),
            configured: Configured::default(),
            limits: None,
            transport: None,
            timeouts: Timeouts::default(),
            models: None,
            media: MediaOptions::default(),
            media_transport: None,
        }
    }

    /// Adds a provider. It replaces a provider of the same name.
    pub fn provider(mut self, provider: Provider) -> Self {
        match self.providers.iter_mut().find(|known| known.name == provider.name) {
            Some(known) => *known = provider,
            None => self.providers.push(provider),
        }
        self
    }

    setters! {
        /// Sets the key of a provider. It replaces the one from the environment.
        ///
        /// An unknown provider is an error of [`build`](Self::build).
        ///
        /// ```
        /// use agentloop::{AgentLoop, ErrorKind};
        ///
        /// let ai = AgentLoop::builder().key("openai", "sk-…").build();
        /// let error = AgentLoop::builder().key("opnai", "sk-…").build().unwrap_err();
        /// assert_eq!(error.kind(), ErrorKind::UnknownProvider);
        /// assert!(error.hint().is_some_and(|hint| hint.contains("did you mean `openai`")));
        /// ```
        key(self, provider: impl Into<String>, key: impl Into<Secret>) =>
            self.keys.insert(provider.into(), key.into());
    }

    /// Applies the settings of a configuration file.
    ///
    /// Its middlewares run inside those that are added in code, whichever is called first. [Their
    /// order](crate::middleware) does not depend on the order of the file.
    #[cfg(feature = "config")]
    pub fn config(mut self, config: &Config) -> Self {
        for provider in &config.providers {
            self = self.provider(provider.clone());
        }
        self.aliases.extend(config.aliases.clone());
        self.default_provider = config.default_provider.clone().or(self.default_provider);
        self.default_model = config.default_model.clone().or(self.default_model);
        if let Some(timeouts) = config.timeouts {
            self.timeouts = timeouts;
        }
        if let Some(data) = &config.model_data {
            self.models = Some(data.clone());
        }
        if !config.models.is_empty() {
            let models = self.models.unwrap_or_default();
            self.models = Some(models.overridden(config.models.clone()));
        }
        if let Some(media) = config.media {
            self.media = media;
        }
        if let Some(log) = &config.log {
            self.configured.log = Some(Arc::new(log.clone()));
        }
        if let Some(cost) = &config.cost {
            self.configured.cost = Some(Arc::new(cost.clone()));
        }
        if let Some(cache) = &config.cache {
            self.configured.cache = Some(Arc::new(cache.clone()));
        }
        if let Some(fallback) = &config.fallback {
            self.configured.fallback = Some(Arc::new(fallback.clone()));
        }
        if let Some(retry) = &config.retry {
            self.configured.retry = Some(Arc::new(retry.clone()));
        }
        if let Some(limits) = &config.limits {
            self.limits = Some(limits.clone());
        }
        self
    }

    setters! {
        /// Replaces the model data that the library ships with, for every provider.
        ///
        /// ```
        /// use agentloop::{AgentLoop, ModelCatalog};
        ///
        /// let known = ModelCatalog::embedded().with_overrides(r#"
        ///     ["lab/big-one"]
        ///     context_window = 32768
        /// "#)?;
        /// let ai = AgentLoop::builder().models(known).build()?;
        /// # Ok::<(), agentloop::Error>(())
        /// ```
        models(models: ModelCatalog);

        /// Adds an alias: another name for a model.
        alias(self, name: impl Into<String>, model: impl Into<String>) =>
            self.aliases.insert(name.into(), model.into());

        /// Sets the provider of models whose names have no provider prefix.
        default_provider(self, name: impl Into<String>) =>
            self.default_provider = Some(name.into());

        /// Sets the model of requests that do not name one.
        default_model(self, model: impl Into<String>) => self.default_model = Some(model.into());

        /// Sets an environment variable for this client only. It overrides the variable of the process.
        env(self, variable: impl Into<String>, value: impl Into<String>) =>
            self.environment.insert(variable.into(), value.into());
    }

    /// Wraps every call in a function. The first middleware is the outermost.
    ///
    /// ```
    /// use agentloop::AgentLoop;
    ///
    /// let ai = AgentLoop::builder()
    ///     .middleware(|request, next| async move {
    ///         println!("calling {}", request.model());
    ///         let events = next.run(request).await?;
    ///         Ok(events)
    ///     })
    ///     .build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn middleware<F, Fut>(self, middleware: F) -> Self
    where
        F: Fn(Request, Next) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Response>> + Send + 'static,
    {
        self.layer(FromFn(middleware))
    }

    setters! {
        /// Wraps every call in a middleware. The first is the outermost.
        layer(self, middleware: impl Middleware + 'static) =>
            self.middleware.push(Arc::new(middleware));

        /// Sets the limits for what is sent to each provider. They apply inside every other middleware, wherever this is
        /// called, so retries and fallbacks are counted.
        limits(limits: Limits);

        /// Sets the transport that requests are sent through.
        transport(self, transport: impl Transport + 'static) =>
            self.transport = Some(Arc::new(transport));

        /// Sets whether and how media that a request names by URL are downloaded for providers that need the bytes. By
        /// default nothing is downloaded.
        media(self, media: MediaOptions) => self.media = media;

        /// Sets the transport that media are downloaded through. It decides by itself which URLs it allows. It never
        /// receives a key.
        media_transport(self, transport: impl Transport + 'static) =>
            self.media_transport = Some(Arc::new(transport));

        /// Sets the timeouts of calls.
        timeouts(self, timeouts: Timeouts) => self.timeouts = timeouts;
    }

    /// Builds the client.
    ///
    /// # Errors
    ///
    /// Fails if the default provider, or a provider with limits or a key, is not known, if an alias cannot be resolved,
    /// or if the name or the base URL of a provider is invalid.
    pub fn build(self) -> Result<AgentLoop> {
        let limits = self.limits.clone();
        let inner = self.into_inner();
        inner.registry.check()?;
        for name in inner.keys.keys() {
            takes_key(inner.registry.provider(name)?.as_ref())?;
        }
        if inner.models.overrides().any(|model| model.restrictions.is_some()) {
            restrict::check_removed(inner.models.overrides(), inner.registry.providers())?;
        }
        limits.map_or(Ok(()), |limits| limits.check(|name| inner.registry.provider(name)))?;
        Ok(AgentLoop(Arc::new(inner)))
    }

    /// Retries temporary errors, with the default settings.
    pub(super) fn retrying(mut self) -> Self {
        self.configured.retry = Some(Arc::new(Retry::new()));
        self
    }

    pub(super) fn into_inner(mut self) -> Inner {
        if let Some(models) = &self.models {
            for provider in &mut self.providers {
                provider.catalog = models.clone();
            }
        }
        if let Some(limits) = self.limits.take() {
            self.configured.limits = Some(Arc::new(limits));
        }
        let credentials = credential::of(&self.providers);
        Inner {
            registry: Arc::new(Registry::new(
                self.providers,
                self.aliases,
                self.default_provider,
                self.default_model,
                self.environment,
                credentials,
            )),
            keys: self.keys,
            middleware: self.middleware.into_iter().chain(self.configured.in_order()).collect(),
            transport: self.transport.unwrap_or_else(|| Arc::new(HttpTransport::new())),
            timeouts: self.timeouts,
            models: self.models.unwrap_or_default(),
            prices: Arc::default(),
            long_work: LongWork::default(),
            room: None,
            fetcher: Arc::new(Fetcher::new(self.media, self.media_transport)),
        }
    }
}

shown! { AgentLoopBuilder: self { providers: self.providers } }
