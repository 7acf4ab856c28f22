//! The JSON of responses, exactly as the API names it.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::usage::Usage;
use super::wire_item::WireItem;
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Few, Int, JsonText, Object, Text};
use crate::protocol::rest::Rest;

/// An event of a stream. Each kind of event has a few of the fields.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) kind: Text<'a>,
    /// Where the event belongs: the item, and the place in it.
    pub(super) item_id: Text<'a>,
    pub(super) output_index: Int,
    pub(super) content_index: Int,
    pub(super) summary_index: Int,
    /// The text to add.
    pub(super) delta: JsonText<'a>,
    pub(super) logprobs: Option<&'a RawValue>,
    pub(super) annotation: Option<&'a RawValue>,
    /// The complete text.
    pub(super) text: Text<'a>,
    pub(super) refusal: Text<'a>,
    pub(super) arguments: JsonText<'a>,
    pub(super) input: JsonText<'a>,
    pub(super) code: Text<'a>,
    pub(super) part: Option<&'a RawValue>,
    pub(super) item: Option<&'a RawValue>,
    pub(super) response: Option<&'a RawValue>,
    pub(super) error: Option<&'a RawValue>,
    /// Of a response that is in a frame as it is.
    pub(super) object: Text<'a>,
}

fill!(Event {
    "type" => kind,
    "item_id" => item_id,
    "output_index" => output_index,
    "content_index" => content_index,
    "summary_index" => summary_index,
    "delta" => delta,
    "logprobs" => logprobs,
    "annotation" => annotation,
    "text" => text,
    "refusal" => refusal,
    "arguments" => arguments,
    "input" => input,
    "code" => code,
    "part" => part,
    "item" => item,
    "response" => response,
    "error" => error,
    "object" => object;
});

/// A complete response, or the part of one that is known while it is streamed.
#[derive(Debug, Default)]
pub(super) struct Response<'a> {
    pub(super) id: Text<'a>,
    pub(super) object: Text<'a>,
    pub(super) model: Text<'a>,
    pub(super) created_at: Int,
    pub(super) status: Text<'a>,
    pub(super) incomplete_details: Object<Incomplete<'a>>,
    pub(super) error: Option<&'a RawValue>,
    pub(super) output: Few<WireItem<'a>>,
    pub(super) usage: Object<Usage<'a>>,
    pub(super) tool_usage: Option<&'a RawValue>,
    /// The tools that were declared.
    pub(super) tools: Option<&'a RawValue>,
    pub(super) service_tier: Text<'a>,
    pub(super) content_filters: Option<&'a RawValue>,
    pub(super) moderation: Option<&'a RawValue>,
    pub(super) billing: Option<&'a RawValue>,
    pub(super) conversation: Option<&'a RawValue>,
    pub(super) metadata: Option<&'a RawValue>,
    pub(super) rest: Rest<'a>,
}

// Fields that repeat the request are skipped: they are long, and the caller has them.
fill!(Response {
    "id" => id,
    "object" => object,
    "model" => model,
    "created_at" => created_at,
    "status" => status,
    "incomplete_details" => incomplete_details,
    "error" => error,
    "tool_usage" => tool_usage,
    "tools" => tools,
    "service_tier" => service_tier,
    "content_filters" => content_filters,
    "moderation" => moderation,
    "billing" => billing,
    "conversation" => conversation,
    "metadata" => metadata;
    "output" => output,
    "usage" => usage
} rest except
    "instructions", "input", "tool_choice", "text", "prompt", "temperature", "top_p", "truncation", "parallel_tool_calls", "store",
    "max_output_tokens", "max_tool_calls", "reasoning", "background", "previous_response_id", "user", "safety_identifier",
    "prompt_cache_key", "prompt_cache_retention", "top_logprobs", "presence_penalty", "frequency_penalty", "include"
);

/// Why a response is not complete.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

/// Returns whether an error has any content: providers also send empty errors.
pub(super) fn has_content(raw: &&RawValue) -> bool {
    !matches!(raw.get(), "{}" | "\"\"" | "false" | "[]")
}
