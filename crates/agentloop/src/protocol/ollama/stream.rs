//! Reads the lines of a stream or a complete body, and ends the response.

use serde_json::value::RawValue;

use super::decode::Decoder;
use super::wire::Chunk;
use crate::chat::{FinishReason, Warning};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body};

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut chunk = Chunk::default();
        let Err(error) = fill_json(data, &mut chunk) else {
            return self.step(&mut chunk, data, emitter);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut chunk = Chunk::default();
        fill_json(&data, &mut chunk)?;
        self.step(&mut chunk, &data, emitter)
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.growing.flush(emitter)?;
        Err(error_body::cut_off(emitter.is_started()))
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        if is_lines(body) {
            return self.lines(body, emitter);
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

    fn streams_lines(&self) -> bool {
        true
    }
}

/// Returns whether a body is a stream that was not requested: a complete object on its first line, and more after it.
fn is_lines(body: &[u8]) -> bool {
    let Some(end) = memchr::memchr(b'\n', body) else { return false };
    body.starts_with(b"{") && body[..end].trim_ascii_end().ends_with(b"}")
}

impl Decoder {
    /// Reads a body of several lines.
    fn lines(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let mut lines = body.split(|byte| *byte == b'\n').peekable();
        while let Some(data) = lines.next() {
            let flow = self.frame(&Frame { event: "", data }, emitter);
            match flow {
                Ok(Flow::Done) => return Ok(()),
                Ok(Flow::Continue) => {}
                // The last line was cut off.
                Err(error) if lines.peek().is_none() && error.kind() == ErrorKind::Protocol => {
                    return Err(error_body::cut_off(true).with_source(error));
                }
                Err(error) => return Err(error),
            }
        }
        Decode::finish(self, emitter)
    }

    /// Reads a line of a stream.
    fn step(&mut self, chunk: &mut Chunk<'_>, data: &[u8], emitter: &mut Emitter) -> Result<Flow> {
        let error = self.error_in(chunk, data);
        let is_done = is_true(chunk.done);
        // Fields beside an error still belong to the response.
        if !says_nothing(chunk) {
            self.chunk(chunk, emitter)?;
        }
        if let Some(error) = error {
            self.growing.flush(emitter)?;
            return Err(error);
        }
        if !is_done {
            return Ok(Flow::Continue);
        }
        self.end(emitter)?;
        Ok(Flow::Done)
    }

    fn whole(&mut self, chunk: &mut Chunk<'_>, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let error = self.error_in(chunk, body);
        let is_cut = chunk.done.is_some_and(|raw| raw.get() == "false");
        if error.is_none() && says_nothing(chunk) {
            return Err(
                Error::new(ErrorKind::Protocol, "the response has no message").with_raw(body)
            );
        }
        if !says_nothing(chunk) {
            self.chunk(chunk, emitter)?;
        }
        match error {
            Some(error) => Err(error),
            // The first line of a stream that was not requested, and no more.
            None if is_cut => Decode::finish(self, emitter),
            None => self.end(emitter),
        }
    }

    /// Returns the error that is in place of a response, or ends one.
    fn error_in(&self, chunk: &Chunk<'_>, data: &[u8]) -> Option<Error> {
        let has_content = |raw: &&RawValue| !matches!(raw.get(), "{}" | "\"\"" | "false" | "[]");
        let is_error = chunk.error.filter(has_content).is_some()
            || (says_nothing(chunk) && error_body::is_bare_error(data));
        is_error.then(|| error_body::in_body(&self.context.provider.name, data))
    }

    /// Ends the response.
    fn end(&mut self, emitter: &mut Emitter) -> Result<()> {
        let raw = self.finish.take();
        let reason = match raw.as_deref() {
            Some(word) => FinishReason::from_word(word),
            None => {
                emitter.warn(Warning::about_response(
                    "the provider did not report a finish reason; `stop` is assumed",
                ));
                FinishReason::Stop
            }
        };
        self.growing.close(reason == FinishReason::Length, emitter)?;
        let has_calls = !self.growing.calls.is_empty();
        emitter.finish_choice(0, reason.with_tool_calls(has_calls), raw);
        if let Some(warning) = self.rest.put_in(&mut self.metadata) {
            emitter.warn(warning);
        }
        emitter.metadata(std::mem::take(&mut self.metadata));
        emitter.done()
    }
}

/// Returns whether an object has nothing of a response.
fn says_nothing(chunk: &Chunk<'_>) -> bool {
    chunk.message.0.is_none() && chunk.response.0.is_none() && chunk.done.is_none()
}

fn is_true(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}
