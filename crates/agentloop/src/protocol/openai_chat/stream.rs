//! Reads the frames of a stream or a complete body, and ends the response.

use std::ops::Range;

use serde_json::value::RawValue;

use super::citations::Sources;
use super::decode::{Decoder, Mode};
use super::repeat::Added;
use super::wire::Chunk;
use crate::chat::{FinishReason, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body};

/// What ends a stream, by convention.
const DONE: &[u8] = b"[DONE]";

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        self.added = None;
        let data = frame.data.trim_ascii();
        if data.starts_with(DONE) {
            self.end(true, emitter)?;
            return Ok(Flow::Done);
        }
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut chunk = Chunk::default();
        let Err(error) = fill_json(data, &mut chunk) else {
            let added = Added::of(&chunk, frame.data);
            self.step(&mut chunk, data, frame.event, emitter)?;
            self.added = added;
            return Ok(Flow::Continue);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut chunk = Chunk::default();
        fill_json(&data, &mut chunk)?;
        self.step(&mut chunk, &data, frame.event, emitter)?;
        Ok(Flow::Continue)
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.end(false, emitter)
    }

    fn added_text(&self) -> Option<Range<usize>> {
        self.added_place()
    }

    fn ignored_fields(&self) -> &'static [&'static str] {
        super::repeat::IGNORED
    }

    fn add_text(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        self.add_again(text, emitter)
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut chunk = Chunk::default();
        let Err(error) = fill_json_body(body, &mut chunk) else {
            return self.whole(&mut chunk, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        let mut chunk = Chunk::default();
        fill_json(&body, &mut chunk)?;
        self.whole(&mut chunk, &body, emitter)
    }
}

impl Decoder {
    fn step(
        &mut self,
        chunk: &mut Chunk<'_>,
        data: &[u8],
        event: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let error = self.error_in(chunk, data, event);
        // Fields beside an error still belong to the response.
        self.chunk(chunk, Mode::Stream, emitter)?;
        error.map_or(Ok(()), Err)
    }

    fn whole(&mut self, chunk: &mut Chunk<'_>, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        if let Some(error) = self.error_in(chunk, body, "") {
            // What had arrived before it is the partial response.
            if !chunk.choices.is_empty() {
                self.chunk(chunk, Mode::Whole, emitter)?;
            }
            return Err(error);
        }
        if chunk.choices.is_empty() && chunk.id.non_empty().is_none() {
            return Err(
                Error::new(ErrorKind::Protocol, "the response has no choices").with_raw(body)
            );
        }
        self.chunk(chunk, Mode::Whole, emitter)?;
        self.end(true, emitter)
    }

    /// Returns the error that is in place of a response, or ends one, inside a status of 200.
    fn error_in(&self, chunk: &Chunk<'_>, data: &[u8], event: &str) -> Option<Error> {
        let provider = self.context.provider.name.as_ref();
        // Some providers send an empty error with every chunk.
        let has_content =
            |raw: &&RawValue| !matches!(raw.get(), "{}" | "\"\"" | "false" | "[]" | "null");
        let extension = chunk.x_groq.0.as_ref().and_then(|extension| extension.error);
        if chunk.error.filter(has_content).is_some() || event == "error" {
            return Some(error_body::in_body(provider, data));
        }
        if let Some(raw) = extension.filter(has_content) {
            return Some(error_body::in_part(provider, raw.get(), data));
        }
        // OpenRouter reports the failure of the provider behind it inside the choice, beside what that one had written.
        // The finish reason may be any: "error", "tool_calls", none.
        let failed = chunk.choices.iter().find_map(|choice| choice.error.filter(has_content));
        if let Some(raw) = failed {
            return Some(error_body::in_part(provider, raw.get(), data));
        }
        // An error without its wrapper: `{"object": "error", "message": …}`.
        let bare = chunk.choices.is_empty() && error_body::is_bare_error(data);
        bare.then(|| error_body::in_body(provider, data))
    }

    /// Ends the response. `announced` is whether the provider reported the end.
    fn end(&mut self, announced: bool, emitter: &mut Emitter) -> Result<()> {
        for state in &mut self.choices {
            state.flush(emitter)?;
        }
        let unfinished = self.choices.iter().any(|state| state.finish.is_none());
        if !announced && (self.choices.is_empty() || unfinished) {
            return Err(error_body::cut_off(emitter.is_started()));
        }
        if !emitter.is_started() {
            emitter.start("", self.context.model(), None);
        }
        if self.choices.is_empty() {
            emitter.ensure_choice(0)?;
            emitter.warn(no_reason());
            emitter.finish_choice(0, FinishReason::Stop, None);
        } else if unfinished {
            emitter.warn(no_reason());
        }
        self.attach_citations(emitter)?;
        for state in &mut self.choices {
            state.close(emitter)?;
            let raw = state.finish.take();
            let reason = match raw.as_deref() {
                _ if state.refused => FinishReason::ContentFilter,
                Some(word) => finish_reason(word).with_tool_calls(!state.calls.is_empty()),
                None => FinishReason::Stop.with_tool_calls(!state.calls.is_empty()),
            };
            if let Some(warning) = state.rest.put_in(&mut state.metadata) {
                emitter.warn(warning);
            }
            emitter.choice_metadata(state.index, std::mem::take(&mut state.metadata));
            emitter.finish_choice(state.index, reason, raw);
        }
        let full = [
            self.usage_rest.put_as("usage", &mut self.metadata),
            self.corner_rest.put_as("xGroq", &mut self.metadata),
            self.rest.put_in(&mut self.metadata),
        ];
        for warning in full.into_iter().flatten() {
            emitter.warn(warning);
        }
        emitter.metadata(std::mem::take(&mut self.metadata));
        emitter.done()
    }

    /// Sources for the whole response belong to the text that refers to them by number.
    fn attach_citations(&mut self, emitter: &mut Emitter) -> Result<()> {
        if !self.search_results.is_empty() {
            emitter.keep_raw(&mut self.metadata, "searchResults", &self.search_results)?;
        }
        if self.citations.is_empty() && self.search_results.is_empty() {
            return Ok(());
        }
        let sources = Sources::read(&self.citations, &self.search_results);
        let mut attached = false;
        for state in self.choices.iter().filter(|state| state.has_text()) {
            attached = true;
            for citation in sources.citations() {
                state.cite(citation, emitter)?;
            }
        }
        if let Some(urls) = sources.into_urls().filter(|_| !attached) {
            emitter.keep(&mut self.metadata, "citations", urls)?;
        }
        Ok(())
    }
}

fn no_reason() -> Warning {
    Warning::about_response("the provider did not report a finish reason; `stop` is assumed")
}

/// Returns the unified word for a provider's.
pub(super) fn finish_reason(word: &str) -> FinishReason {
    match word {
        "stop" | "eos" | "end_turn" | "stop_sequence" | "COMPLETE" | "STOP" => FinishReason::Stop,
        "length" | "model_length" | "max_tokens" | "MAX_TOKENS" => FinishReason::Length,
        "tool_calls" | "function_call" | "tool_call" | "tool_use" | "TOOL_CALL" => {
            FinishReason::ToolCalls
        }
        "content_filter" | "content_filtered" | "refusal" | "SAFETY" => FinishReason::ContentFilter,
        "error" | "insufficient_system_resource" | "ERROR" | "failed" | "timeout" => {
            FinishReason::Error
        }
        other => FinishReason::from_word(other),
    }
}
