//! Items of a response → events: one state machine for streams and whole bodies.
//!
//! # State for sending items back
//!
//! The first part of an item carries the item as provider state, so it can be sent back exactly: the item as the
//! provider sent it, without the fields that the part itself has. Those are
//!
//! - of a `message` its `content`; a text that was a refusal has `"refusal": true` beside,
//! - of a `function_call` its `call_id`, `name` and `arguments`, of a `custom_tool_call` its `call_id`, `name` and
//!   `input`,
//! - of an `image_generation_call` its `result`,
//! - of all others nothing: the state is the item.
//!
//! Every further part of the same item has the state `{"type", "id", "more": true}`: another text of the same message,
//! or what the state of the first part contains already.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::growing::Items;
use super::repeat::Added;
use super::usage;
use super::wire::Response;
use crate::chat::{FinishReason, Warning};
use crate::error::Result;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) items: Items,
    metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    rest: Kept,
    usage_rest: Kept,
    /// What the last event added, if that was nothing but text.
    pub(super) added: Option<Added>,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        let items = Items::new(context.audio_format.clone());
        let (rest, usage_rest) = (Kept::default(), Kept::default());
        Self { context, items, metadata: Map::new(), rest, usage_rest, added: None }
    }

    /// Starts the response. A second start is ignored.
    pub(super) fn begin(&mut self, response: &Response<'_>, emitter: &mut Emitter) -> Result<()> {
        if emitter.is_started() {
            return Ok(());
        }
        let id = response.id.non_empty().unwrap_or_default();
        let asked = self.context.model();
        let created = response.created_at.0.filter(|at| *at > 0);
        emitter.start(id, response.model.non_empty().unwrap_or(asked), created);
        self.items.set_tools(response.tools);
        emitter.ensure_choice(0)
    }

    /// Begins the message if the provider left the beginning out.
    pub(super) fn ensure_started(&mut self, emitter: &mut Emitter) -> Result<()> {
        if emitter.is_started() {
            return Ok(());
        }
        self.begin(&Response::default(), emitter)
    }

    /// Reads the complete response: everything that was not streamed.
    pub(super) fn all(&mut self, response: &mut Response<'_>, emitter: &mut Emitter) -> Result<()> {
        self.begin(response, emitter)?;
        let tools = response.tool_usage;
        let kept = &mut self.usage_rest;
        let reported = response.usage.0.as_ref().and_then(|wire| usage::of(wire, tools, kept));
        if let Some((usage, cost)) = reported {
            emitter.usage(usage, cost);
        }
        self.rest.keep(&response.rest);
        if let Some(tier) = response.service_tier.non_empty() {
            emitter.keep(&mut self.metadata, "serviceTier", Value::from(tier))?;
        }
        self.keep("contentFilters", response.content_filters, emitter)?;
        self.keep("moderation", response.moderation, emitter)?;
        self.keep("billing", response.billing, emitter)?;
        self.keep("conversation", response.conversation, emitter)?;
        self.keep("metadata", response.metadata, emitter)?;
        self.items.listed(std::mem::take(&mut response.output), emitter)
    }

    fn keep(&mut self, name: &str, raw: Option<&RawValue>, emitter: &mut Emitter) -> Result<()> {
        match raw.filter(|raw| !matches!(raw.get(), "{}" | "[]" | "null")) {
            Some(raw) => emitter.keep_raw(&mut self.metadata, name, raw.get()),
            None => Ok(()),
        }
    }

    /// Ends the message. `word` is the provider's own reason, if it reported one.
    pub(super) fn close(&mut self, word: Option<&str>, emitter: &mut Emitter) -> Result<()> {
        let reason = match word {
            Some("completed") => FinishReason::Stop,
            Some("max_output_tokens" | "incomplete") => FinishReason::Length,
            Some("content_filter") => FinishReason::ContentFilter,
            Some(other) => FinishReason::from_word(other),
            None => {
                emitter.warn(Warning::about_response(
                    "the provider did not report a finish reason; `stop` is assumed",
                ));
                FinishReason::Stop
            }
        };
        let cut = reason != FinishReason::Stop;
        self.items.end(cut, emitter)?;
        let reason = if self.items.refused() {
            FinishReason::ContentFilter
        } else {
            reason.with_tool_calls(self.items.has_calls())
        };
        emitter.finish_choice(0, reason, word.map(str::to_owned));
        let full = self.usage_rest.put_as("usage", &mut self.metadata);
        for warning in full.into_iter().chain(self.rest.put_in(&mut self.metadata)) {
            emitter.warn(warning);
        }
        emitter.metadata(std::mem::take(&mut self.metadata));
        emitter.done()
    }
}
