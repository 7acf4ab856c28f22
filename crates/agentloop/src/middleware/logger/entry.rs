//! The record of a call.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::Instant;

use crate::calendar;
use crate::chat::{ChatResponse, Cost, FinishReason, Usage};
use crate::error::ErrorKind;
use crate::middleware::Request;
use crate::middleware::watch::{Ending, Seen};
use crate::provider::Target;

/// The record of a call, with everything that is known when it ends.
///
/// ```
/// use agentloop::middleware::Logger;
///
/// let logger = Logger::to(|entry| println!("{} {} ms", entry.status.as_str(), entry.latency_ms));
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LogEntry {
    /// When the call began, as RFC 3339 writes it.
    pub time: String,
    /// `chat`, `embeddings`, or the name of another [modality](crate::Modality).
    pub operation: String,
    /// The provider that responded, or the one of the requested model if none did. Empty if the model belongs to no provider.
    pub provider: String,
    /// The model that responded, as its provider names it, or the requested one if none did.
    pub model: String,
    /// The model as the caller named it.
    pub requested_model: String,
    /// Whether the response was streamed.
    pub stream: bool,
    /// The [tags](crate::ChatRequest#structfield.tags) of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How often the request was sent to a provider, with all retries and fallbacks. 0 if no provider was called, for example because
    /// the response comes from a cache.
    pub attempts: u32,
    /// Whether the response comes from a [cache](crate::middleware::Cache).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// The time from the call to its end.
    pub latency_ms: u64,
    /// The time from the call to its first content.
    pub first_content_ms: Option<u64>,
    /// How the call ended.
    pub status: LogStatus,
    /// Why the response ended.
    pub finish_reason: Option<FinishReason>,
    /// The tokens used, as far as they are known.
    pub usage: Option<Usage>,
    /// The cost, if it is known.
    pub cost: Option<Cost>,
    /// The message of the error.
    pub error: Option<String>,
    /// The kind of the error.
    pub error_kind: Option<ErrorKind>,
    /// The provider's id of the response.
    pub response_id: Option<String>,
    /// The id of the call at the provider, for its support.
    pub request_id: Option<String>,
    /// How many warnings the response has.
    #[serde(skip_serializing_if = "is_zero")]
    pub warnings: usize,
    /// The messages of the request, if the logger writes content.
    pub prompt: Option<Value>,
    /// The choices of the response, if the logger writes content.
    pub response: Option<Value>,
}

fn millis(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_millis()).unwrap_or(u64::MAX)
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How a call ended.
///
/// ```
/// use agentloop::middleware::LogStatus;
///
/// assert_eq!(LogStatus::Cancelled.as_str(), "cancelled");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogStatus {
    /// With a response.
    Ok,
    /// With an error.
    Error,
    /// Dropped by the caller.
    #[default]
    Cancelled,
}

impl LogStatus {
    /// Returns the word that the JSON has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl LogEntry {
    pub(super) fn new(request: &Request, target: Option<&Target>) -> Self {
        let operation = match request {
            Request::Embed(_) => "embeddings",
            Request::Chat(_) | Request::Stream(_) => "chat",
            Request::Task(task) | Request::TaskStream(task) => task.modality().as_str(),
        };
        Self {
            time: calendar::write_rfc3339(calendar::seconds_since_1970(SystemTime::now())),
            tags: request.tags().to_vec(),
            operation: operation.to_owned(),
            provider: target.map(|target| target.provider.name.to_string()).unwrap_or_default(),
            model: target.map_or_else(|| request.model().to_owned(), |target| target.model.clone()),
            requested_model: request.model().to_owned(),
            stream: matches!(request, Request::Stream(_) | Request::TaskStream(_)),
            ..Self::default()
        }
    }

    pub(super) fn end(&mut self, ending: Ending<'_>, seen: &Seen, began: Instant, content: bool) {
        let ended = Instant::now();
        self.latency_ms = millis(began, ended);
        let first_content = if seen.at_once { Some(ended) } else { seen.first_content };
        self.first_content_ms = first_content.map(|at| millis(began, at));
        match ending {
            Ending::Answered(response) => {
                self.status = LogStatus::Ok;
                self.add_response(response, content);
            }
            Ending::Embedded(response) => {
                self.status = LogStatus::Ok;
                self.provider.clone_from(&response.provider);
                self.model.clone_from(&response.model);
                self.usage = response.usage.map(|usage| Usage {
                    prompt_tokens: Some(usage.prompt_tokens),
                    total_tokens: Some(usage.total_tokens),
                    ..Usage::default()
                });
                self.cost.clone_from(&response.cost);
                self.cached = response.cached;
                self.request_id.clone_from(&response.request_id);
                self.warnings = response.warnings.len();
            }
            Ending::Done(response) => {
                self.status = LogStatus::Ok;
                response.provider().clone_into(&mut self.provider);
                response.model().clone_into(&mut self.model);
                self.usage = response.usage().cloned();
                self.cost = response.cost().cloned();
                self.request_id = response.request_id().map(str::to_owned);
                self.warnings = response.warnings().len();
            }
            Ending::Failed(error) => {
                if let Some(partial) = error.partial() {
                    self.add_response(partial, content);
                }
                self.status = LogStatus::Error;
                self.error = Some(error.message().to_owned());
                self.error_kind = Some(error.kind());
                if let Some(provider) = error.provider() {
                    provider.clone_into(&mut self.provider);
                }
                if let Some(id) = error.request_id() {
                    self.request_id = Some(id.to_owned());
                }
            }
            Ending::Dropped => self.usage = seen.usage.as_deref().cloned(),
        }
    }

    fn add_response(&mut self, response: &ChatResponse, content: bool) {
        self.provider.clone_from(&response.provider);
        self.model.clone_from(&response.model);
        self.finish_reason = response.finish_reason().cloned();
        self.usage = (!response.usage.is_empty()).then(|| response.usage.clone());
        self.cost.clone_from(&response.cost);
        self.cached = response.cached;
        self.response_id = Some(response.id.clone()).filter(|id| !id.is_empty());
        self.request_id.clone_from(&response.request_id);
        self.warnings = response.warnings.len();
        if content {
            self.response = serde_json::to_value(&response.choices).ok();
        }
    }
}
