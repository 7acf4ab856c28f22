//! Steps of a response → events: one state machine for streams and whole bodies.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::growing::Blocks;
use super::wire::Wire;
use crate::chat::{FinishReason, Warning};
use crate::error::Result;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) blocks: Blocks,
    metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    rest: Kept,
    usage_rest: Kept,
    /// Why the response ended, once that is known.
    stop: Option<String>,
    /// Whether the provider signalled the end of the content.
    pub(super) is_stopped: bool,
    /// Whether the event with the usage has arrived.
    pub(super) has_metadata: bool,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            blocks: Blocks::default(),
            metadata: Map::new(),
            rest: Kept::default(),
            usage_rest: Kept::default(),
            stop: None,
            is_stopped: false,
            has_metadata: false,
        }
    }

    /// Starts the response, unless it has started. The provider sends neither an id nor the name of the model.
    pub(super) fn start(&self, emitter: &mut Emitter) -> Result<()> {
        if !emitter.is_started() {
            emitter.start("", self.context.model(), None);
        }
        emitter.ensure_choice(0)
    }

    /// Reads the content of a complete body.
    pub(super) fn content(&mut self, wire: &mut Wire<'_>, emitter: &mut Emitter) -> Result<()> {
        self.start(emitter)?;
        let output = wire.output.0.take().unwrap_or_default();
        let Some(message) = output.message.0 else { return Ok(()) };
        self.rest.keep(&message.rest);
        for (index, block) in (0..).zip(message.content) {
            self.blocks.complete(index, block, emitter)?;
        }
        Ok(())
    }

    /// Reads what follows the content: in a body beside it, in a stream in the last two events.
    pub(super) fn after(&mut self, wire: &Wire<'_>, emitter: &mut Emitter) -> Result<()> {
        self.rest.keep(&wire.rest);
        if let Some(reason) = wire.stop_reason.non_empty() {
            self.stop = Some(reason.to_owned());
        }
        if let Some(usage) = &wire.usage.0 {
            usage.emit(&mut self.usage_rest, emitter);
        }
        self.keep_raw("additionalModelResponseFields", wire.additional, emitter)?;
        self.keep_raw("metrics", wire.metrics, emitter)?;
        self.keep_raw("trace", wire.trace, emitter)?;
        self.keep_raw("performanceConfig", wire.performance, emitter)?;
        if let Some(tier) = wire.tier.0.as_ref().and_then(|tier| tier.kind.non_empty()) {
            emitter.keep(&mut self.metadata, "serviceTier", Value::from(tier))?;
        }
        Ok(())
    }

    fn keep_raw(
        &mut self,
        name: &str,
        raw: Option<&RawValue>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match raw {
            Some(raw) => emitter.keep_raw(&mut self.metadata, name, raw.get()),
            None => Ok(()),
        }
    }

    /// Ends the response.
    pub(super) fn close(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.blocks.stop_all(emitter)?;
        let raw = self.stop.take();
        if raw.is_none() {
            emitter.warn(Warning::about_response(
                "the provider did not report a finish reason; `stop` is assumed",
            ));
        }
        let reason = raw.as_deref().map_or(FinishReason::Stop, finish_reason);
        emitter.finish_choice(0, reason.with_tool_calls(self.blocks.has_calls()), raw);
        let full = self.usage_rest.put_as("usage", &mut self.metadata);
        for warning in full.into_iter().chain(self.rest.put_in(&mut self.metadata)) {
            emitter.warn(warning);
        }
        emitter.metadata(std::mem::take(&mut self.metadata));
        emitter.done()
    }
}

/// Returns the unified word for the provider's.
fn finish_reason(word: &str) -> FinishReason {
    match word {
        "end_turn" | "stop_sequence" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "tool_use" => FinishReason::ToolCalls,
        "guardrail_intervened" | "content_filtered" => FinishReason::ContentFilter,
        "malformed_model_output" | "malformed_tool_use" => FinishReason::Error,
        other => FinishReason::from_word(other),
    }
}
