//! Tries other models.

mod candidates;
#[cfg(feature = "config")]
pub(super) mod config;
mod cooldown;
mod predicate;
mod tried;

use std::sync::Arc;

pub use cooldown::Cooldown;

use candidates::{Candidate, candidates};
use cooldown::Health;
use predicate::{Judged, Predicate};
use tried::Tried;

use super::settle::add_warnings;
use crate::chat::ChatResponse;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_FALLBACKS;
use crate::middleware::{Middleware, Next, Request, Response};
use crate::transport::BoxFuture;

/// Tries other models if the requested one fails.
///
/// - The model of the request comes first, then the list of the request
///   ([`ChatRequest::fallbacks`](crate::ChatRequest::fallbacks)) if it has one, else the list of this middleware. A model that occurs
///   twice, also under another name, is tried once.
/// - Each attempt is the same request, encoded again for its provider.
/// - The next model is tried after errors that are retryable, after missing quota or capacity, after a conversation that is too
///   long, and if the key is missing. It is not tried after an invalid request. [`on_error`](Self::on_error) replaces this rule. A cancelled
///   call never continues.
/// - [`on_response`](Self::on_response) sets after which responses the next model is tried. By default there are none.
/// - A stream falls back only before its first content.
/// - Providers and models that keep failing are skipped for a while; see [`Cooldown`]. If all are, the one whose time ends first is
///   tried anyway.
///
/// The response names the provider and model that responded, and has a warning of the kind
/// [`Fallback`](crate::WarningKind::Fallback) for each that did not. If all fail, the error is of the kind
/// [`AllFailed`](ErrorKind::AllFailed) and has all of their errors in [`Error::causes`]. If there was only one model, it is that model's
/// error.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::middleware::{Fallback, Retry};
///
/// let ai = AgentLoop::builder()
///     .layer(Fallback::new(["anthropic/claude-sonnet-4-6", "groq/openai/gpt-oss-120b"]))
///     .layer(Retry::new()) // each model is retried before the next one is tried
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// Clones share what they know about failing providers.
#[derive(Clone)]
#[must_use]
pub struct Fallback {
    models: Vec<String>,
    predicate: Predicate,
    buffers: bool,
    cooldown: Cooldown,
    health: Health,
}

impl Fallback {
    /// Tries these models, in order, after the requested one.
    pub fn new<T: Into<String>>(models: impl IntoIterator<Item = T>) -> Self {
        Self {
            models: models.into_iter().map(Into::into).collect(),
            predicate: Predicate::default(),
            buffers: false,
            cooldown: Cooldown::new(),
            health: Health::default(),
        }
    }

    setters! {
        /// Sets after which errors the next model is tried, instead of the default. The function is not called for a cancelled call, which never
        /// continues.
        on_error(self, falls: impl Fn(&Error) -> bool + Send + Sync + 'static) =>
            self.predicate.error = Some(Arc::new(falls));
    }

    /// Sets after which responses the next model is tried, such as filtered or empty ones.
    ///
    /// The function receives the complete response of a chat. It receives that of a stream only if the stream ends without content or
    /// [`buffer_streams`](Self::buffer_streams) is set, because a stream is returned to the caller with its first content. It is not
    /// called for embeddings.
    ///
    /// If no model does better, the last such response is returned with its warnings, because a poor response is better than an error.
    ///
    /// ```
    /// use agentloop::FinishReason;
    /// use agentloop::middleware::Fallback;
    ///
    /// let fallback = Fallback::new(["mistral/mistral-medium-latest"]).on_response(|response| {
    ///     response.choices.iter().all(|choice| choice.finish_reason == FinishReason::ContentFilter)
    /// });
    /// ```
    pub fn on_response(
        mut self,
        falls: impl Fn(&ChatResponse) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.predicate.response = Some(Arc::new(falls));
        self
    }

    setters! {
        /// Reads streams to their end before they are returned, so that [`on_response`](Self::on_response) receives them and a stream that is
        /// cut off falls back too. The first words then arrive with the last.
        buffer_streams(self) => self.buffers = true;

        /// Sets when failing providers and models are skipped.
        cooldown(self, cooldown: Cooldown) => self.cooldown = cooldown;
    }

    /// Returns which candidates are tried, and why the others are not.
    fn choose(&self, all: &[Candidate]) -> Vec<Result<()>> {
        let left: Vec<_> =
            all.iter().map(|candidate| self.health.cooling(candidate.target()?)).collect();
        // If all are skipped, the one whose time ends first is tried anyway.
        let soonest = if left.iter().all(Option::is_some) {
            left.iter().enumerate().min_by_key(|(_, left)| **left).map(|(at, _)| at)
        } else {
            None
        };
        let chosen = left.iter().zip(all).enumerate().map(|(at, (left, candidate))| match left {
            Some(left) if soonest != Some(at) => Err(candidate.named(
                Error::new(ErrorKind::Overloaded, "it keeps failing and is skipped for now")
                    .with_retry_after(Some(*left)),
            )),
            _ => Ok(()),
        });
        chosen.collect()
    }

    async fn try_model(&self, request: Request, next: &Next) -> Result<Judged> {
        let all = self.buffers || matches!(request, Request::Chat(_));
        let response = next.run(request).await?;
        self.predicate.judge(all, response).await
    }

    /// Tries the other models, one after the other. `first` is the result of the requested model, if it was tried.
    async fn try_others(
        &self,
        request: Request,
        list: &[String],
        mut first: Option<Result<Judged>>,
        next: &Next,
    ) -> Result<Response> {
        let (all, left_out) = candidates(request.model(), list, next);
        let mut tried = Tried::new(left_out);
        let mut poor = None;
        let chosen = self.choose(&all);
        for (at, candidate) in all.iter().enumerate() {
            // The result of the requested model is there already.
            let known = if at == 0 { first.take() } else { None };
            if known.is_none()
                && let Err(cooling) = &chosen[at]
            {
                tried.add(&candidate.full_name(), cooling.clone());
                continue;
            }
            let (again, warnings) = candidate.request(&request, &all);
            let response = match known {
                Some(response) => response,
                None => self.try_model(again, next).await,
            };
            match response {
                Ok(Judged::Good(response)) => {
                    candidate.target().inspect(|target| self.health.succeeded(target));
                    return Ok(add_warnings(response, tried.warnings(warnings)));
                }
                Ok(Judged::Poor(response)) => {
                    candidate.target().inspect(|target| self.health.succeeded(target));
                    tried.add(&candidate.full_name(), candidate.poor());
                    poor = Some((response, warnings));
                }
                Err(error) => {
                    let falls = self.predicate.falls(&error);
                    if !falls && (poor.is_none() || error.kind() == ErrorKind::Cancelled) {
                        return Err(tried.ended_by(error));
                    }
                    if let Some(target) = candidate.target().filter(|_| falls) {
                        self.health.failed(target, &error, &self.cooldown);
                    }
                    tried.add(&candidate.full_name(), error);
                    if !falls {
                        break;
                    }
                }
            }
        }
        match poor {
            Some((response, warnings)) => Ok(add_warnings(response, tried.warnings(warnings))),
            None => Err(tried.all_failed()),
        }
    }
}

impl Middleware for Fallback {
    fn call<'a>(&'a self, mut request: Request, next: Next) -> BoxFuture<'a, Result<Response>> {
        Box::pin(async move {
            let own = request.take_fallbacks();
            let list = if own.is_empty() { &self.models } else { &own };
            let mut first = None;
            if list.len() < MAX_FALLBACKS {
                // Mostly the requested model responds, and the others do not matter.
                let target = next.target(request.model()).ok();
                if target.as_ref().is_none_or(|target| self.health.cooling(target).is_none()) {
                    first = match self.try_model(request.clone(), &next).await {
                        Ok(Judged::Good(response)) => {
                            target.inspect(|target| self.health.succeeded(target));
                            return Ok(response);
                        }
                        other => Some(other),
                    };
                }
            }
            // Boxed, so the future of a call that needs no other model does not reserve space for it.
            Box::pin(self.try_others(request, list, first, &next)).await
        })
    }

    fn needs_events(&self) -> bool {
        false
    }
}

shown! { Fallback: self { models: self.models, cooldown: self.cooldown, buffers: self.buffers } }
