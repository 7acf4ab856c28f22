//! Reads the events of a stream or a complete body, and ends the response.

use super::decode::Decoder;
use super::wire::{Body, Event};
use crate::chat::{FinishReason, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body};

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        // It follows the last event.
        if data.starts_with(b"[DONE]") {
            self.end(emitter)?;
            return Ok(Flow::Done);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut event = Event::default();
        let Err(error) = fill_json(data, &mut event) else {
            return self.step(&mut event, data, emitter);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut event = Event::default();
        fill_json(&data, &mut event)?;
        self.step(&mut event, &data, emitter)
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        Err(error_body::cut_off(emitter.is_started()))
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut wire = Body::default();
        let Err(error) = fill_json_body(body, &mut wire) else {
            return self.complete(&mut wire, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        let mut wire = Body::default();
        fill_json(&body, &mut wire)?;
        self.complete(&mut wire, &body, emitter)
    }
}

impl Decoder {
    fn step(&mut self, event: &mut Event<'_>, data: &[u8], emitter: &mut Emitter) -> Result<Flow> {
        let is_known = event.kind.non_empty().is_some() && event.kind.non_empty() != Some("error");
        if !is_known && event.delta.0.is_none() {
            let is_error = event.message.is_some() || error_body::is_bare_error(data);
            let has_error = memchr::memmem::find(data, b"\"error\"").is_some();
            return if is_error || has_error {
                Err(error_body::in_body(&self.context.provider.name, data))
            } else {
                Ok(Flow::Continue)
            };
        }
        if !self.event(event, emitter)? {
            return Ok(Flow::Continue);
        }
        self.end(emitter)?;
        Ok(Flow::Done)
    }

    fn complete(&mut self, body: &mut Body<'_>, data: &[u8], emitter: &mut Emitter) -> Result<()> {
        if body.message.0.is_none() {
            let is_error = body.error.0.is_some()
                || error_body::is_bare_error(data)
                || memchr::memmem::find(data, b"\"error\"").is_some();
            return Err(if is_error {
                error_body::in_body(&self.context.provider.name, data)
            } else {
                Error::new(ErrorKind::Protocol, "the response has no message").with_raw(data)
            });
        }
        self.whole(body, emitter)?;
        self.end(emitter)
    }

    /// Ends the response. One that failed before it had content is an error.
    fn end(&mut self, emitter: &mut Emitter) -> Result<()> {
        if !emitter.is_started() {
            return Err(error_body::cut_off(false));
        }
        let raw = self.finish.take();
        let reason = match raw.as_deref() {
            Some(word) => finish_reason(word),
            None => {
                emitter.warn(Warning::about_response(
                    "the provider did not report a finish reason; `stop` is assumed",
                ));
                FinishReason::Stop
            }
        };
        if let Some(failure) = self.failure.take() {
            if !self.growing.has_parts {
                let body = serde_json::json!({ "message": failure, "code": self.metadata.get("errorType") });
                return Err(error_body::in_body(
                    &self.context.provider.name,
                    body.to_string().as_bytes(),
                ));
            }
            let mut warning = Warning::about_response(failure);
            warning.kind = WarningKind::Provider;
            emitter.warn(warning);
        }
        let is_cut = matches!(reason, FinishReason::Length | FinishReason::Error);
        self.growing.close(is_cut, emitter)?;
        let has_calls = !self.growing.calls.is_empty();
        emitter.finish_choice(0, reason.with_tool_calls(has_calls), raw);
        let beside = std::mem::take(&mut self.growing.beside);
        if !beside.is_empty() {
            self.metadata.insert("citations".to_owned(), beside.into());
        }
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
        "COMPLETE" | "STOP_SEQUENCE" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::Length,
        "TOOL_CALL" => FinishReason::ToolCalls,
        "ERROR_TOXIC" => FinishReason::ContentFilter,
        "ERROR" | "ERROR_LIMIT" | "TIMEOUT" | "USER_CANCEL" => FinishReason::Error,
        other => FinishReason::from_word(other),
    }
}
