//! Steps of a response → events: one state machine for streams and whole bodies.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::growing::Blocks;
use super::repeat::Added;
use super::usage::{Tally, Wire};
use super::wire::{Delta, Message};
use crate::chat::FinishReason;
use crate::error::Result;
use crate::protocol::fields::Fields;
use crate::protocol::rest::Kept;
use crate::protocol::{Decode as _, DecodeContext, Emitter};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) blocks: Blocks,
    pub(super) tally: Tally,
    metadata: Map<String, Value>,
    /// Fields that the protocol does not name.
    rest: Kept,
    /// Why the response ended, once that is known.
    pub(super) stop: Option<String>,
    id: String,
    /// What the last event added, if that was nothing but text.
    pub(super) added: Option<Added>,
}

/// Whether a message is the start of a stream or all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Stream,
    Whole,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            blocks: Blocks::default(),
            tally: Tally::default(),
            metadata: Map::new(),
            rest: Kept::default(),
            stop: None,
            id: String::new(),
            added: None,
        }
    }

    /// Starts the message. A second start is ignored. A stream may start with blocks, like a complete body.
    pub(super) fn message(
        &mut self,
        message: &mut Message<'_>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if emitter.is_started() {
            return Ok(());
        }
        let id = message.id.non_empty().unwrap_or_default();
        if mode == Mode::Stream {
            // For the blocks that follow.
            id.clone_into(&mut self.id);
        }
        let asked = self.context.model();
        emitter.start(id, message.model.non_empty().unwrap_or(asked), None);
        emitter.ensure_choice(0)?;
        self.rest.keep(&message.rest);
        self.keep_raw("diagnostics", message.diagnostics, emitter)?;
        self.keep_raw("contextManagement", message.context_management, emitter)?;
        self.keep_text("provider", message.provider.non_empty(), emitter)?;
        for block in std::mem::take(&mut message.content) {
            self.blocks.complete(block, id, emitter)?;
        }
        let end = Delta {
            stop_reason: std::mem::take(&mut message.stop_reason),
            stop_sequence: std::mem::take(&mut message.stop_sequence),
            stop_details: message.stop_details,
            container: message.container,
            ..Delta::default()
        };
        self.message_delta(&end, message.usage.0.take(), emitter)
    }

    pub(super) fn block(
        &mut self,
        index: i64,
        block: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.ensure_started(emitter)?;
        self.blocks.start(index, block, &self.id, emitter)
    }

    pub(super) fn block_delta(
        &mut self,
        index: i64,
        delta: &mut Delta<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.ensure_started(emitter)?;
        self.blocks.delta(index, delta, emitter)
    }

    /// Reads the finish reason and the usage of the message.
    pub(super) fn message_delta(
        &mut self,
        delta: &Delta<'_>,
        usage: Option<Wire<'_>>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(reason) = delta.stop_reason.non_empty() {
            self.stop = Some(reason.to_owned());
        }
        self.keep_text("stopSequence", delta.stop_sequence.non_empty(), emitter)?;
        self.keep_raw("stopDetails", delta.stop_details, emitter)?;
        self.keep_raw("container", delta.container, emitter)?;
        if let Some(usage) = usage {
            self.tally.add(usage, &mut self.metadata, emitter)?;
        }
        Ok(())
    }

    /// Begins the message if the provider left the beginning out.
    pub(super) fn ensure_started(&mut self, emitter: &mut Emitter) -> Result<()> {
        if emitter.is_started() {
            return Ok(());
        }
        emitter.start("", self.context.model(), None);
        emitter.ensure_choice(0)
    }

    pub(super) fn keep_text(
        &mut self,
        name: &str,
        text: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match text {
            Some(text) => emitter.keep(&mut self.metadata, name, Value::from(text)),
            None => Ok(()),
        }
    }

    pub(super) fn keep_raw(
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

    /// Ends the message.
    pub(super) fn close(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.blocks.stop_all(emitter)?;
        self.settle(emitter);
        let raw = self.stop.take();
        let has_calls = self.blocks.has_calls();
        let reason = match raw.as_deref() {
            // The provider pauses, and continues when the message is sent back.
            Some("pause_turn" | "compaction") => FinishReason::Stop,
            Some(word) => finish_reason(word).with_tool_calls(has_calls),
            None => FinishReason::Stop.with_tool_calls(has_calls),
        };
        emitter.finish_choice(0, reason, raw);
        let full = self.tally.rest.put_as("usage", &mut self.metadata);
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
        "end_turn" | "stop_sequence" | "stop" => FinishReason::Stop,
        "max_tokens" | "model_context_window_exceeded" | "length" => FinishReason::Length,
        "tool_use" | "tool_calls" => FinishReason::ToolCalls,
        "refusal" | "content_filter" => FinishReason::ContentFilter,
        // Includes `error`, which some providers with this protocol send.
        other => FinishReason::from_word(other),
    }
}
