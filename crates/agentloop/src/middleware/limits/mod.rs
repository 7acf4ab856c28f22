//! Keeps calls within the rate limits of an account.

mod bucket;
mod held;
mod limit;
mod place;
#[cfg(feature = "redis")]
mod redis;
mod scope;
mod shared;
#[cfg(feature = "config")]
pub(super) mod table;
mod through;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bucket::Cost;
use held::{Held, Spent};
pub use limit::Limit;
#[cfg(feature = "redis")]
pub use redis::RedisLimits;
use scope::Scope;
pub use shared::{AcquireRequest, AcquireResponse, InProcess, SharedLimits};

use super::watch::{Ending, Seen, Watch};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::EMBED_CONCURRENCY;
use crate::lock::lock;
use crate::middleware::{Middleware, Next, Request, Response};
use crate::provider::Target;
use crate::transport::BoxFuture;

/// Keeps calls within the limits of an account: how many calls at once, and how many requests and tokens per minute.
///
/// - The limits of the model, if there are any, and those of the provider (or of the account that several providers share) apply to a call.
///   Calls wait for them in the order in which they were made. A call that is dropped leaves the queue.
/// - If the queue is full or the wait would be too long, the call fails with [`RateLimit`](crate::ErrorKind::RateLimit) and the code
///   `local_limit` before anything is sent. The error is retryable, so a fallback can try another model.
/// - A response with status 429 that asks for a wait delays the calls after it.
/// - It must be the innermost middleware, so that every attempt counts. Clones share the counts, and so do clients that are
///   derived from one another ([`with_key`](crate::AgentLoop::with_key)), whatever their keys.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::middleware::{Limit, Limits};
///
/// let limits = Limits::new()
///     .for_provider("openai", Limit::new().concurrency(8).requests_per_minute(500))
///     .for_model("openai/gpt-5", Limit::new().tokens_per_minute(200_000))
///     .default_limit(Limit::new().concurrency(32));
/// let ai = AgentLoop::builder().limits(limits).build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use]
pub struct Limits {
    providers: BTreeMap<String, Limit>,
    models: BTreeMap<String, Limit>,
    /// The account of a provider that shares one.
    accounts: BTreeMap<String, String>,
    default: Option<Limit>,
    shared: Option<Arc<dyn SharedLimits>>,
    scopes: Arc<Mutex<BTreeMap<String, Arc<Scope>>>>,
}

impl Limits {
    /// Creates a middleware without limits.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets the limit of a provider.
        for_provider(self, provider: impl Into<String>, limit: Limit) =>
            self.providers.insert(provider.into(), limit);

        /// Sets the limit of one model, `"provider/model"`. The limit of its provider applies too.
        for_model(self, model: impl Into<String>, limit: Limit) =>
            self.models.insert(model.into(), limit);
    }

    /// Sets the limit of several providers together that share an account or a key.
    pub fn for_account<P: Into<String>>(
        mut self,
        account: impl Into<String>,
        providers: impl IntoIterator<Item = P>,
        limit: Limit,
    ) -> Self {
        let account = account.into();
        for provider in providers {
            self.accounts.insert(provider.into(), account.clone());
        }
        self.for_provider(account, limit)
    }

    setters! {
        /// Sets the limit of each provider that has none of its own.
        default_limit(self, limit: Limit) => self.default = Some(limit);

        /// Shares requests and tokens per minute with other clients. Each client counts by itself how many calls are under way at once, and how
        /// long a provider asked to wait.
        shared_through(shared: Arc<dyn SharedLimits>);
    }

    /// Returns an error for a name that does not exist, whose limits would never apply.
    pub(crate) fn check<T>(&self, find: impl Fn(&str) -> Result<T>) -> Result<()> {
        let shared = |name: &&String| self.accounts.values().any(|account| account == *name);
        let providers = self.providers.keys().filter(|name| !shared(name)).map(String::as_str);
        let models = self.models.keys().map(|model| model.split('/').next().unwrap_or_default());
        for name in providers.chain(models).chain(self.accounts.keys().map(String::as_str)) {
            find(name).map_err(|error| {
                let message = format!("the limits of `{name}`: {}", error.message());
                Error::new(ErrorKind::Config, message).with_hint(error.hint().unwrap_or_default())
            })?;
        }
        Ok(())
    }

    /// Returns the limits of a call. Those of its model come first, so that a call does not hold a place in the longer queue while it waits in
    /// the shorter one.
    fn scopes(&self, target: &Target) -> Scopes {
        let provider = target.provider.name.as_ref();
        let account = self.accounts.get(provider).map_or(provider, String::as_str);
        let of_model = || {
            let model = format!("{provider}/{}", target.model);
            self.models.get(&model).map(|limit| self.scope(&model, limit))
        };
        let model = if self.models.is_empty() { None } else { of_model() };
        let limit = self.providers.get(account).or(self.default.as_ref());
        [model, limit.map(|limit| self.scope(account, limit))]
    }

    fn scope(&self, name: &str, limit: &Limit) -> Arc<Scope> {
        let mut scopes = lock(&self.scopes);
        if let Some(scope) = scopes.get(name) {
            return Arc::clone(scope);
        }
        let scope = Arc::new(Scope::new(name, limit.clone(), self.shared.clone()));
        scopes.insert(name.to_owned(), Arc::clone(&scope));
        scope
    }
}

/// The limits of a call's model and of its provider, if there are any.
type Scopes = [Option<Arc<Scope>>; 2];

/// Returns what the call needs. Embeddings that take several calls count as so many requests, and need as many slots as calls are made at
/// once. The request is changed to make no more at once than allowed.
fn cost(request: &mut Request, next: &Next, scopes: &Scopes) -> Cost {
    let limits = || scopes.iter().flatten().map(|scope| &scope.limit);
    let limited = limits().any(|limit| limit.tokens_per_minute.is_some());
    let tokens = if limited { crate::middleware::estimate::tokens(request) } else { 0 };
    let Request::Embed(embed) = request else {
        return Cost { slots: 1, requests: 1, tokens };
    };
    let calls = next.embed_calls(embed).max(1);
    let mut slots = embed.concurrency.unwrap_or(EMBED_CONCURRENCY).clamp(1, calls);
    if let Some(most) = limits().filter_map(|limit| limit.concurrency).min() {
        slots = slots.min(most);
        Arc::make_mut(embed).concurrency = Some(slots);
    }
    Cost { slots, requests: calls as u64, tokens }
}

impl Middleware for Limits {
    fn call<'a>(&'a self, mut request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let Ok(target) = next.target(request.model()) else {
                return next.run(request).await;
            };
            let scopes = self.scopes(&target);
            if scopes.iter().all(Option::is_none) {
                return next.run(request).await;
            }
            let cost = cost(&mut request, &next, &scopes);
            let mut held: [Option<Held>; 2] = [None, None];
            for (scope, held) in scopes.iter().zip(&mut held) {
                let Some(scope) = scope else { continue };
                *held = Some(scope.enter(cost).await.map_err(|error| {
                    error.with_provider(target.provider.name.as_ref()).with_model(&target.model)
                })?);
            }
            let watch = Watch::new(move |ending: Ending<'_>, _: &Seen| {
                // A wait that the provider asks for applies to the requested model.
                if let (Some(wait), Some(narrowest)) =
                    (held::pause(ending), held.iter().flatten().next())
                {
                    narrowest.pause(wait);
                }
                let spent = Spent::of(ending);
                held.into_iter().flatten().for_each(|held| held.end(spent));
            });
            let response = next.run(request).await;
            watch.see(response)
        })
    }

    fn needs_events(&self) -> bool {
        false
    }
}

shown! {
    Limits: self {
        providers: self.providers,
        models: self.models,
        accounts: self.accounts,
        default: self.default,
        shared: self.shared.is_some(),
    }
}
