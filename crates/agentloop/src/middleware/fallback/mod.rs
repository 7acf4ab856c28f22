//! Asks another model.

mod candidates;
mod config;
mod cooldown;
mod predicate;
mod tried;

use std::fmt;
use std::sync::Arc;

pub(crate) use config::FallbackTable;
pub use cooldown::Cooldown;

use candidates::{Candidate, candidates};
use cooldown::Health;
use predicate::{Judged, Predicate};
use tried::Tried;

use super::settle::warned;
use crate::chat::ChatResponse;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_FALLBACKS;
use crate::middleware::{Answer, Middleware, Next, Request};
use crate::transport::BoxFuture;

/// Asks other models when the one that was asked cannot answer.
///
/// - The model of the request comes first, then the list: that of the request
///   ([`ChatRequest::fallbacks`](crate::ChatRequest::fallbacks)) if it has one, else that of this middleware. A model that
///   stands there twice, also under another name, is asked once.
/// - Each try is the same request, encoded anew for its provider.
/// - Which errors lead on is a predicate. The usual one: what is retryable, quota, want of capacity, a conversation that is
///   too long, a missing key; not bad requests. A cancelled call never goes on.
/// - Which answers lead on is one too, [`on_response`](Self::on_response); usually none do.
/// - A stream falls back only before its first content.
/// - Providers and models that keep failing are left alone for a while; see [`Cooldown`]. When all are, the one whose time
///   is over first is asked anyway.
///
/// The response says which provider and model answered, and has a warning of the kind
/// [`Fallback`](crate::WarningKind::Fallback) for each that did not. When all fail it is one error of the kind
/// [`AllFailed`](ErrorKind::AllFailed) with all of them in [`Error::causes`]; when there was but one model, its own error.
///
/// ```
/// use agentloop::AgentLoop;
/// use agentloop::middleware::{Fallback, Retry};
///
/// let ai = AgentLoop::builder()
///     .layer(Fallback::new(["anthropic/claude-sonnet-4-6", "groq/openai/gpt-oss-120b"]))
///     .layer(Retry::new()) // each model is tried again before the next is asked
///     .build()?;
/// # Ok::<(), agentloop::Error>(())
/// ```
///
/// Clones share what they know of failing providers.
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
    /// These models, in order, after the one that is asked.
    pub fn new<T: Into<String>>(models: impl IntoIterator<Item = T>) -> Self {
        Self {
            models: models.into_iter().map(Into::into).collect(),
            predicate: Predicate::default(),
            buffers: false,
            cooldown: Cooldown::new(),
            health: Health::default(),
        }
    }

    /// After which errors the next model is asked, in place of the usual ones. A cancelled call never goes on, and is not
    /// even asked about.
    pub fn on_error(mut self, falls: impl Fn(&Error) -> bool + Send + Sync + 'static) -> Self {
        self.predicate.error = Some(Arc::new(falls));
        self
    }

    /// After which answers the next model is asked: a filtered one, an empty one.
    ///
    /// A chat's answer is looked at whole. A stream's is, unless [`buffer_streams`](Self::buffer_streams) is set, only
    /// when it ends without any content; once its first content is there it is handed on as it comes. Vectors are not
    /// looked at.
    ///
    /// When nothing better comes, the last such answer is handed on with its warnings: a poor answer is more than an error.
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

    /// Reads streams to their end before any of it is handed on, so that [`on_response`](Self::on_response) sees all of
    /// it, and a stream that breaks off in the middle falls back too. The first words then come with the last.
    pub fn buffer_streams(mut self) -> Self {
        self.buffers = true;
        self
    }

    /// When failing providers and models are left alone.
    pub fn cooldown(mut self, cooldown: Cooldown) -> Self {
        self.cooldown = cooldown;
        self
    }

    /// Which candidates are asked, and why the others are not.
    fn choose(&self, all: &[Candidate]) -> Vec<Result<()>> {
        let left: Vec<_> =
            all.iter().map(|candidate| self.health.cooling(candidate.target()?)).collect();
        // When all are left alone, the first to come back is asked anyway.
        let soonest = match left.iter().all(Option::is_some) {
            true => left.iter().enumerate().min_by_key(|(_, left)| **left).map(|(at, _)| at),
            false => None,
        };
        let chosen = left.iter().zip(all).enumerate().map(|(at, (left, candidate))| match left {
            Some(left) if soonest != Some(at) => Err(candidate.named(
                Error::new(ErrorKind::Overloaded, "it keeps failing and is left alone for now")
                    .with_retry_after(Some(*left)),
            )),
            _ => Ok(()),
        });
        chosen.collect()
    }

    async fn ask(&self, request: Request, next: &Next) -> Result<Judged> {
        let all = self.buffers || matches!(request, Request::Chat(_));
        let answer = next.run(request).await?;
        self.predicate.judge(all, answer).await
    }

    /// Asks the other models, one after the other; `first` is what came of the model that was asked, if it was.
    async fn go_on(
        &self,
        request: Request,
        list: &[String],
        mut first: Option<Result<Judged>>,
        next: &Next,
    ) -> Result<Answer> {
        let (all, left_out) = candidates(request.model(), list, next);
        let mut tried = Tried::new(left_out);
        let mut poor = None;
        let chosen = self.choose(&all);
        for (at, candidate) in all.iter().enumerate() {
            // What the model that was asked said is there already.
            let said = if at == 0 { first.take() } else { None };
            if said.is_none()
                && let Err(cooling) = &chosen[at]
            {
                tried.add(&candidate.full_name(), cooling.clone());
                continue;
            }
            let (again, warnings) = candidate.request(&request, &all);
            let answer = match said {
                Some(answer) => answer,
                None => self.ask(again, next).await,
            };
            match answer {
                Ok(Judged::Good(answer)) => {
                    candidate.target().inspect(|target| self.health.answered(target));
                    return Ok(warned(answer, tried.warnings(warnings)));
                }
                Ok(Judged::Poor(answer)) => {
                    candidate.target().inspect(|target| self.health.answered(target));
                    tried.add(&candidate.full_name(), candidate.poor());
                    poor = Some((answer, warnings));
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
            Some((answer, warnings)) => Ok(warned(answer, tried.warnings(warnings))),
            None => Err(tried.all_failed()),
        }
    }
}

impl Middleware for Fallback {
    fn call<'a>(&'a self, mut request: Request, next: Next) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let own = request.take_fallbacks();
            let list = if own.is_empty() { &self.models } else { &own };
            let mut first = None;
            if list.len() < MAX_FALLBACKS {
                // Mostly the model that was asked answers, and the others need not be looked at.
                let target = next.target(request.model()).ok();
                if target.as_ref().is_none_or(|target| self.health.cooling(target).is_none()) {
                    first = match self.ask(request.clone(), &next).await {
                        Ok(Judged::Good(answer)) => {
                            target.inspect(|target| self.health.answered(target));
                            return Ok(answer);
                        }
                        other => Some(other),
                    };
                }
            }
            // Apart, so that a call that needs no other model carries nothing of it.
            Box::pin(self.go_on(request, list, first, &next)).await
        })
    }

    fn sees_steps(&self) -> bool {
        false
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback")
            .field("models", &self.models)
            .field("cooldown", &self.cooldown)
            .field("buffers", &self.buffers)
            .finish_non_exhaustive()
    }
}
