//! The JSON of answers, exactly as the API names it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::protocol::lenient::{Few, Int, JsonText, Object, Text};

/// An event of a stream. Each kind of event has a few of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    /// Where the event belongs: the item, and the place in it.
    #[serde(borrow)]
    pub(super) item_id: Text<'a>,
    pub(super) output_index: Int,
    pub(super) content_index: Int,
    pub(super) summary_index: Int,
    /// What is added.
    #[serde(borrow)]
    pub(super) delta: JsonText<'a>,
    #[serde(borrow)]
    pub(super) logprobs: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) annotation: Option<&'a RawValue>,
    /// What is whole now.
    #[serde(borrow)]
    pub(super) text: Text<'a>,
    #[serde(borrow)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow)]
    pub(super) arguments: JsonText<'a>,
    #[serde(borrow)]
    pub(super) input: JsonText<'a>,
    #[serde(borrow)]
    pub(super) code: Text<'a>,
    #[serde(borrow)]
    pub(super) part: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    /// Of an answer that stands in a frame as it is.
    #[serde(borrow)]
    pub(super) object: Text<'a>,
}

/// A whole answer, or what is known of one while it is streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response<'a> {
    #[serde(borrow)]
    pub(super) id: Text<'a>,
    #[serde(borrow)]
    pub(super) object: Text<'a>,
    #[serde(borrow)]
    pub(super) model: Text<'a>,
    pub(super) created_at: Int,
    #[serde(borrow)]
    pub(super) status: Text<'a>,
    #[serde(borrow)]
    pub(super) incomplete_details: Object<Incomplete<'a>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) output: Few<&'a RawValue>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) tool_usage: Option<&'a RawValue>,
    /// The tools that were declared.
    #[serde(borrow)]
    pub(super) tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) service_tier: Text<'a>,
    #[serde(borrow)]
    pub(super) content_filters: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) moderation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) billing: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) conversation: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) metadata: Option<&'a RawValue>,
}

/// Why an answer is not complete.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Text<'a>,
}

/// Whether something that says what went wrong says anything: hosts send empty errors too.
pub(super) fn says_something(raw: &&RawValue) -> bool {
    !matches!(raw.get(), "{}" | "\"\"" | "false" | "[]")
}
