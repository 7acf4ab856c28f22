//! Objects → events: one state machine for streams and whole bodies.

use serde_json::{Map, Value};

use super::growing::Growing;
use super::usage;
use super::wire::Chunk;
use crate::calendar;
use crate::chat::Logprobs;
use crate::error::Result;
use crate::nesting;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter, ReportedCost, logprobs};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) growing: Growing,
    pub(super) finish: Option<String>,
    pub(super) metadata: Map<String, Value>,
    /// Fields that the protocol does not name, such as the durations.
    pub(super) rest: Kept,
    /// Whether the tags of the model are known.
    has_tags: bool,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        let mut growing = Growing::default();
        let tags = context.target.as_ref().map(|target| target.traits().think_tags);
        if let Some(tags) = tags {
            growing.set_tags(tags);
        }
        Self {
            context,
            growing,
            finish: None,
            metadata: Map::new(),
            rest: Kept::default(),
            has_tags: tags.is_some(),
        }
    }

    pub(super) fn chunk(&mut self, chunk: &mut Chunk<'_>, emitter: &mut Emitter) -> Result<()> {
        if !emitter.is_started() {
            let model = chunk.model.non_empty();
            if let Some(model) = model.filter(|_| !self.has_tags) {
                self.growing.set_tags(self.context.provider.ruled_traits(model).think_tags);
            }
            let created = chunk.created_at.non_empty().and_then(calendar::read_rfc3339);
            let model = model.unwrap_or(self.context.model());
            emitter.start("", model, created.filter(|at| *at > 0));
            emitter.ensure_choice(0)?;
        }
        self.rest.keep(&chunk.rest);
        if let Some(usage) = usage::of(chunk) {
            emitter.usage(usage, ReportedCost::Absent);
        }
        // The fields of `/api/generate` are beside the message.
        if let Some(thinking) = std::mem::take(&mut chunk.thinking).into_non_empty() {
            self.growing.think(thinking, emitter)?;
        }
        if let Some(text) = std::mem::take(&mut chunk.response).into_non_empty() {
            self.growing.text(text, emitter)?;
        }
        if let Some(message) = chunk.message.0.take() {
            self.rest.keep(&message.rest);
            self.growing.message(message, emitter)?;
        }
        if let Some(raw) = chunk.logprobs.filter(|raw| raw.get() != "[]") {
            let tokens = nesting::read_list(raw.get());
            let content = tokens.iter().filter_map(logprobs::token).collect();
            emitter.logprobs(0, Logprobs { content, ..Logprobs::default() });
        }
        if let Some(word) = chunk.done_reason.non_empty() {
            self.finish = Some(word.to_owned());
        }
        Ok(())
    }
}
