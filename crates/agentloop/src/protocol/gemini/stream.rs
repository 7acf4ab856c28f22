//! Reads the frames of a stream or a complete body, and ends the response.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::value::RawValue;

use super::decode::{Decoder, Mode};
use super::repeat::Added;
use super::wire::Chunk;
use crate::chat::{FinishReason, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::google::error;
use crate::protocol::json::{bare, fill_json, fill_json_body, mended, read_json_body};
use crate::protocol::{Decode, Emitter, Flow, Frame, ReportedCost, error_body};

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        self.added = None;
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        if data.starts_with(b"[DONE]") {
            self.end(false, emitter)?;
            return Ok(Flow::Done);
        }
        if data.starts_with(b"[") {
            self.list(data, emitter)?;
        } else {
            self.added = self.chunk_of_stream(data, frame.data, emitter)?;
        }
        Ok(Flow::Continue)
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.end(false, emitter)
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            // A stream that was not requested, as one list.
            self.list(body, emitter)?;
            return self.end(false, emitter);
        }
        let mut chunk = Chunk::default();
        if let Err(error) = fill_json_body(body, &mut chunk) {
            let body = mended(body, &error).ok_or(error)?;
            let mut chunk = Chunk::default();
            fill_json(&body, &mut chunk)?;
            self.step(&mut chunk, &body, Mode::Whole, emitter)?;
        } else {
            self.step(&mut chunk, body, Mode::Whole, emitter)?;
        }
        self.end(true, emitter)
    }

    fn added_text(&self) -> Option<Range<usize>> {
        self.added.as_ref().map(|added| added.place.clone())
    }

    fn add_text(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        let Some(Added { candidate, thought, .. }) = self.added else { return Ok(()) };
        match self.candidates.iter_mut().find(|state| state.index == candidate) {
            Some(state) => state.text(Cow::Borrowed(text), thought, None, Mode::Stream, emitter),
            None => Ok(()),
        }
    }

    fn settle(&mut self, emitter: &mut Emitter) {
        if let Some(usage) = std::mem::take(&mut self.tokens).usage() {
            emitter.usage(usage, ReportedCost::Absent);
        }
    }

    fn streams_lists(&self) -> bool {
        true
    }
}

impl Decoder {
    /// Steps in a list: a stream in its older form, or one error. A list in a list is an error.
    fn list(&mut self, data: &[u8], emitter: &mut Emitter) -> Result<()> {
        let steps: Vec<&RawValue> = read_json_body(data)?;
        for step in steps {
            let step = step.get().as_bytes();
            self.chunk_of_stream(step, step, emitter)?;
        }
        Ok(())
    }

    /// Reads a chunk, and returns what it adds to the text, if that is all.
    fn chunk_of_stream(
        &mut self,
        data: &[u8],
        frame: &[u8],
        emitter: &mut Emitter,
    ) -> Result<Option<Added>> {
        let mut chunk = Chunk::default();
        let Err(error) = fill_json(data, &mut chunk) else {
            let added = Added::of(&chunk, frame);
            self.step(&mut chunk, data, Mode::Stream, emitter)?;
            return Ok(added);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut chunk = Chunk::default();
        fill_json(&data, &mut chunk)?;
        self.step(&mut chunk, &data, Mode::Stream, emitter)?;
        Ok(None)
    }

    fn step(
        &mut self,
        chunk: &mut Chunk<'_>,
        data: &[u8],
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let says_nothing = chunk.candidates.is_empty()
            && chunk.prompt_feedback.is_none()
            && chunk.response_id.non_empty().is_none()
            && chunk.usage_metadata.0.is_none();
        let error = chunk.error.is_some_and(|raw| !matches!(raw.get(), "{}" | "\"\"" | "false"));
        let failed = (error || (says_nothing && error_body::is_bare_error(data)))
            .then(|| error::in_body(&self.context.provider.name, data));
        if !says_nothing {
            // Fields beside an error still belong to the response.
            self.chunk(chunk, mode, emitter)?;
        }
        failed.map_or(Ok(()), Err)
    }

    /// Ends the response. A `whole` one is complete even without a finish reason.
    fn end(&mut self, whole: bool, emitter: &mut Emitter) -> Result<()> {
        self.settle(emitter);
        if self.candidates.is_empty() && self.blocked.is_none() {
            return Err(if whole {
                Error::new(ErrorKind::Protocol, "the response has no candidates")
            } else {
                error_body::cut_off(emitter.is_started())
            });
        }
        let unfinished = self.candidates.iter().any(|state| state.finish.is_none());
        if unfinished && self.blocked.is_none() {
            if !whole {
                return Err(error_body::cut_off(true));
            }
            emitter.warn(Warning::about_response(
                "the provider did not report a finish reason; `stop` is assumed",
            ));
        }
        if self.candidates.is_empty() {
            emitter.ensure_choice(0)?;
            emitter.finish_choice(0, FinishReason::ContentFilter, self.blocked.take());
        }
        for state in &mut self.candidates {
            let grounding = state.grounding.metadata().map(|value| ("groundingMetadata", value));
            let sources = state.grounding.sources().map(|value| ("citationSources", value));
            for (name, value) in grounding.into_iter().chain(sources) {
                state.metadata.insert(name.to_owned(), value);
            }
            // The first candidate's are also fields of the response, as in the shape that this library started from.
            for name in ["safetyRatings", "groundingMetadata"] {
                if let Some(value) = state.metadata.get(name)
                    && !self.metadata.contains_key(name)
                {
                    self.metadata.insert(name.to_owned(), value.clone());
                }
            }
            if let Some(warning) = state.rest.put_in(&mut state.metadata) {
                emitter.warn(warning);
            }
            emitter.choice_metadata(state.index, std::mem::take(&mut state.metadata));
            state.close(emitter)?;
            let (reason, raw) = match (state.finish.take(), &self.blocked) {
                (Some(word), _) => (finish_reason(&word), Some(word)),
                (None, Some(why)) => (FinishReason::ContentFilter, Some(why.clone())),
                (None, None) => (FinishReason::Stop, None),
            };
            emitter.finish_choice(state.index, reason.with_tool_calls(state.has_calls), raw);
        }
        let full = self.usage_rest.put_as("usageMetadata", &mut self.metadata);
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
        "STOP" => FinishReason::Stop,
        // A response that could continue with another call was cut off.
        "MAX_TOKENS" | "CONTINUATION" => FinishReason::Length,
        "SAFETY"
        | "RECITATION"
        | "LANGUAGE"
        | "BLOCKLIST"
        | "PROHIBITED_CONTENT"
        | "SPII"
        | "MODEL_ARMOR"
        | "IMAGE_SAFETY"
        | "IMAGE_PROHIBITED_CONTENT"
        | "IMAGE_RECITATION" => FinishReason::ContentFilter,
        "MALFORMED_FUNCTION_CALL"
        | "UNEXPECTED_TOOL_CALL"
        | "TOO_MANY_TOOL_CALLS"
        | "MISSING_THOUGHT_SIGNATURE"
        | "MALFORMED_RESPONSE" => FinishReason::Error,
        other => FinishReason::from_word(other),
    }
}
