//! The modalities beside chats and embeddings: images, speech, transcription, reranking and moderation.
//!
//! Each has one request and one response type. [`Task`] and [`TaskResponse`] hold any of them, so that middlewares and the client have one
//! path for all.

mod event;
mod file;
mod image;
mod modality;
mod moderate;
mod rerank;
mod speech;
mod subtitles;
mod transcribe;
mod types;

pub use event::{ImageEvent, SpeechEvent, TaskEvent, TranscribeEvent};
pub use file::MediaFile;
pub use image::{GeneratedImage, ImageRequest, ImageResponse};
pub use modality::Modality;
pub use moderate::{ModerateRequest, ModerateResponse, Moderation};
pub use rerank::{RankedDocument, RerankRequest, RerankResponse};
pub use speech::{SpeechRequest, SpeechResponse};
pub use transcribe::{
    Timestamps, TranscribeRequest, TranscribeResponse, TranscriptSegment, TranscriptWord,
};
use types::{task_request, task_response};

use crate::chat::{Access, Cost, ExtraHeaders, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

/// Evaluates an expression for the request or the response of any modality.
macro_rules! each_task {
    ($type:ident, $value:expr, $inner:ident => $result:expr) => {
        match $value {
            $type::Image($inner) => $result,
            $type::Speech($inner) => $result,
            $type::Transcribe($inner) => $result,
            $type::Rerank($inner) => $result,
            $type::Moderate($inner) => $result,
        }
    };
}

/// A request of any modality beside chats and embeddings, as [middleware](crate::middleware::Request::Task) sees it.
///
/// ```
/// use agentloop::{Modality, RerankRequest, Task};
///
/// let task = Task::Rerank(RerankRequest::new("cohere/rerank-v4.0-fast", "a query", ["a document"]));
/// assert_eq!((task.modality(), task.model()), (Modality::Rerank, "cohere/rerank-v4.0-fast"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Task {
    /// Images to generate or to edit.
    Image(ImageRequest),
    /// A text to speak.
    Speech(SpeechRequest),
    /// Audio to write down.
    Transcribe(TranscribeRequest),
    /// Documents to sort.
    Rerank(RerankRequest),
    /// Content to check.
    Moderate(ModerateRequest),
}

impl Task {
    /// Returns the modality.
    pub fn modality(&self) -> Modality {
        match self {
            Self::Image(_) => Modality::Image,
            Self::Speech(_) => Modality::Speech,
            Self::Transcribe(_) => Modality::Transcription,
            Self::Rerank(_) => Modality::Rerank,
            Self::Moderate(_) => Modality::Moderation,
        }
    }

    /// Returns the requested model, as the caller named it.
    pub fn model(&self) -> &str {
        each_task!(Self, self, request => &request.model)
    }

    /// Sets another model, which can be one of another provider.
    pub fn set_model(&mut self, model: impl Into<String>) {
        each_task!(Self, self, request => request.model = model.into());
    }

    /// Returns the tags of the request.
    pub fn tags(&self) -> &[String] {
        each_task!(Self, self, request => &request.tags)
    }

    /// Returns the timeouts of the request, if it sets some.
    pub fn timeouts(&self) -> Option<Timeouts> {
        each_task!(Self, self, request => request.timeouts)
    }

    /// Returns the models to fall back to.
    pub fn fallbacks(&self) -> &[String] {
        each_task!(Self, self, request => &request.fallbacks)
    }

    /// Fails where a setting would otherwise be left out with a warning.
    pub fn set_strict(&mut self) {
        each_task!(Self, self, request => request.strict = true);
    }

    pub(crate) fn is_strict(&self) -> bool {
        each_task!(Self, self, request => request.strict)
    }

    pub(crate) fn access(&self) -> Option<&Access> {
        each_task!(Self, self, request => request.access.as_deref())
    }

    pub(crate) fn take_fallbacks(&mut self) -> Vec<String> {
        each_task!(Self, self, request => std::mem::take(&mut request.fallbacks))
    }

    pub(crate) fn extra_headers(&self) -> &ExtraHeaders {
        each_task!(Self, self, request => &request.extra_headers)
    }

    pub(crate) fn extra_body_mut(&mut self) -> &mut serde_json::Map<String, serde_json::Value> {
        each_task!(Self, self, request => &mut request.extra_body)
    }

    pub(crate) fn include_raw(&self) -> bool {
        each_task!(Self, self, request => request.include_raw)
    }
}

/// A response of any modality beside chats and embeddings, as [middleware](crate::middleware::Response::Task) sees it.
///
/// ```
/// use agentloop::{RerankResponse, TaskResponse};
///
/// let response = TaskResponse::Rerank(RerankResponse::new("m", "lab"));
/// assert_eq!((response.model(), response.cost()), ("m", None));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskResponse {
    /// Images.
    Image(ImageResponse),
    /// Speech.
    Speech(SpeechResponse),
    /// A transcript.
    Transcribe(TranscribeResponse),
    /// Ranked documents.
    Rerank(RerankResponse),
    /// Verdicts.
    Moderate(ModerateResponse),
}

impl TaskResponse {
    /// Returns the model, as the provider names it.
    pub fn model(&self) -> &str {
        each_task!(Self, self, response => &response.model)
    }

    /// Returns the name of the provider.
    pub fn provider(&self) -> &str {
        each_task!(Self, self, response => &response.provider)
    }

    /// Returns the tokens used, if the provider reported them.
    pub fn usage(&self) -> Option<&Usage> {
        each_task!(Self, self, response => response.usage.as_ref())
    }

    /// Returns the cost, if it is known.
    pub fn cost(&self) -> Option<&Cost> {
        each_task!(Self, self, response => response.cost.as_ref())
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[Warning] {
        each_task!(Self, self, response => &response.warnings)
    }

    /// Returns the request id, which the provider's support asks for.
    pub fn request_id(&self) -> Option<&str> {
        each_task!(Self, self, response => response.request_id.as_deref())
    }

    pub(crate) fn set_cost(&mut self, cost: Option<Cost>) {
        each_task!(Self, self, response => response.cost = cost);
    }

    pub(crate) fn set_origin(&mut self, provider: &str, model: &str, request_id: Option<String>) {
        each_task!(Self, self, response => {
            provider.clone_into(&mut response.provider);
            if response.model.is_empty() {
                model.clone_into(&mut response.model);
            }
            response.request_id = request_id;
        });
    }

    pub(crate) fn warnings_mut(&mut self) -> &mut Vec<Warning> {
        each_task!(Self, self, response => &mut response.warnings)
    }

    pub(crate) fn set_raw(&mut self, raw: Option<RawResponse>) {
        each_task!(Self, self, response => response.raw = raw);
    }
}

#[cfg(test)]
mod tests;
