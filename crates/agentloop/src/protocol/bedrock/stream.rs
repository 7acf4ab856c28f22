//! Reads the events of a stream or a complete body, and ends the response.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::decode::Decoder;
use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body, exceptions};

/// The events of a stream.
const EVENTS: [&str; 6] = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "contentBlockStop",
    "messageStop",
    "metadata",
];

type Events<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        if frame.event.is_empty() {
            return self.unnamed(data, emitter);
        }
        let mut wire = Wire::default();
        let Err(error) = fill_json(data, &mut wire) else {
            return self.event(frame.event, &mut wire, emitter);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut wire = Wire::default();
        fill_json(&data, &mut wire)?;
        self.event(frame.event, &mut wire, emitter)
    }

    /// Ends a stream. The usage follows the reason of the end, and may be missing.
    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        if self.is_stopped {
            self.close(emitter)
        } else {
            Err(error_body::cut_off(emitter.is_started()))
        }
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut wire = Wire::default();
        let Err(error) = fill_json_body(body, &mut wire) else {
            return self.whole(&mut wire, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        let mut wire = Wire::default();
        fill_json(&body, &mut wire)?;
        self.whole(&mut wire, &body, emitter)
    }
}

impl Decoder {
    /// Reads a frame without a name. In streams of InvokeModel, the events of Nova models are fields of an object (recording
    /// `bedrock-stream-empty-5921d44a`). Nothing else is an event, but what looks like an error is one.
    fn unnamed(&mut self, data: &[u8], emitter: &mut Emitter) -> Result<Flow> {
        let events: Events<'_> = serde_json::from_slice(data).unwrap_or_default();
        let mut has_event = false;
        for (name, event) in events {
            if EVENTS.contains(&name.as_ref()) {
                has_event = true;
                let frame = Frame { event: name.as_ref(), data: event.get().as_bytes() };
                if self.frame(&frame, emitter)? == Flow::Done {
                    return Ok(Flow::Done);
                }
            }
        }
        if !has_event && (error_body::is_bare_error(data) || has_error(data)) {
            Err(exceptions::in_body(&self.context.provider.name, data))
        } else {
            Ok(Flow::Continue)
        }
    }

    fn event(&mut self, name: &str, wire: &mut Wire<'_>, emitter: &mut Emitter) -> Result<Flow> {
        let index = wire.index.0.unwrap_or(0);
        match name {
            "messageStart" => self.start(emitter)?,
            "contentBlockStart" => {
                self.start(emitter)?;
                if let Some(start) = wire.start {
                    self.blocks.start(index, start, emitter)?;
                }
            }
            "contentBlockDelta" => {
                self.start(emitter)?;
                if let Some(delta) = wire.delta.0.take() {
                    self.blocks.delta(index, delta, emitter)?;
                }
            }
            "contentBlockStop" => self.blocks.stop(index, emitter)?,
            "messageStop" | "metadata" => {
                self.start(emitter)?;
                self.after(wire, emitter)?;
                self.is_stopped |= name == "messageStop";
                self.has_metadata |= name == "metadata";
                if self.has_metadata && self.is_stopped {
                    self.close(emitter)?;
                    return Ok(Flow::Done);
                }
            }
            _ => {}
        }
        Ok(Flow::Continue)
    }

    fn whole(&mut self, wire: &mut Wire<'_>, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let has_message = wire.output.0.as_ref().is_some_and(|output| output.message.0.is_some());
        if !has_message {
            return Err(if error_body::is_bare_error(body) || has_error(body) {
                exceptions::in_body(&self.context.provider.name, body)
            } else {
                Error::new(ErrorKind::Protocol, "the response has no message").with_raw(body)
            });
        }
        self.content(wire, emitter)?;
        self.after(wire, emitter)?;
        self.close(emitter)
    }
}

/// Returns whether a field may be an error. Nothing else of the protocol has the name.
fn has_error(data: &[u8]) -> bool {
    memchr::memmem::find(data, b"\"error\"").is_some()
        || memchr::memmem::find(data, b"\"__type\"").is_some()
}
