//! The shapes of responses, read tolerantly.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::Tokens;
use crate::protocol::fields::Fields;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, Object, Text};
use crate::protocol::rest::Rest;

/// A whole response, or a step of one.
#[derive(Debug, Default)]
pub(super) struct Chunk<'a> {
    pub(super) candidates: Few<Candidate<'a>>,
    pub(super) prompt_feedback: Option<&'a RawValue>,
    pub(super) usage_metadata: Object<Tokens<'a>>,
    pub(super) model_version: Text<'a>,
    pub(super) response_id: Text<'a>,
    pub(super) create_time: Text<'a>,
    pub(super) model_status: Option<&'a RawValue>,
    pub(super) continuation_token: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Chunk {
    "promptFeedback" => prompt_feedback,
    "modelVersion" => model_version,
    "responseId" => response_id,
    "createTime" => create_time,
    "modelStatus" => model_status,
    "continuationToken" => continuation_token,
    "error" => error;
    "candidates" => candidates,
    "usageMetadata" => usage_metadata
} rest except);

#[derive(Debug, Default)]
pub(super) struct Candidate<'a> {
    pub(super) index: Int,
    pub(super) content: Object<Content<'a>>,
    /// A word, or the word's number.
    pub(super) finish_reason: Option<&'a RawValue>,
    pub(super) finish_message: Option<&'a RawValue>,
    pub(super) safety_ratings: Option<&'a RawValue>,
    pub(super) grounding_metadata: Option<&'a RawValue>,
    pub(super) citation_metadata: Option<&'a RawValue>,
    pub(super) url_context_metadata: Option<&'a RawValue>,
    pub(super) logprobs_result: Option<&'a RawValue>,
    pub(super) avg_logprobs: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

fill!(Candidate {
    "index" => index,
    "finishReason" => finish_reason,
    "finishMessage" => finish_message,
    "safetyRatings" => safety_ratings,
    "groundingMetadata" => grounding_metadata,
    "citationMetadata" => citation_metadata,
    "urlContextMetadata" => url_context_metadata,
    "logprobsResult" => logprobs_result,
    "avgLogprobs" => avg_logprobs;
    "content" => content
} rest except);

#[derive(Debug, Default)]
pub(super) struct Content<'a> {
    pub(super) parts: Few<Fields<'a>>,
}

fill!(Content { ; "parts" => parts });

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct FunctionCall<'a> {
    pub(super) id: Text<'a>,
    pub(super) name: Text<'a>,
    pub(super) args: Option<&'a RawValue>,
    pub(super) partial_args: Option<&'a RawValue>,
    pub(super) will_continue: Option<&'a RawValue>,
}

/// Bytes, or where they are.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Blob<'a> {
    pub(super) mime_type: Text<'a>,
    pub(super) data: Text<'a>,
    pub(super) file_uri: Text<'a>,
    pub(super) display_name: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct Code<'a> {
    pub(super) id: Text<'a>,
    pub(super) language: Text<'a>,
    pub(super) code: Text<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(super) struct CodeResult<'a> {
    pub(super) id: Text<'a>,
    pub(super) outcome: Text<'a>,
    pub(super) output: Text<'a>,
}

/// A call of one of the provider's own tools, or its result.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct Tool<'a> {
    pub(super) id: Text<'a>,
    pub(super) tool_type: Text<'a>,
    pub(super) args: Option<&'a RawValue>,
    pub(super) response: Option<&'a RawValue>,
}
