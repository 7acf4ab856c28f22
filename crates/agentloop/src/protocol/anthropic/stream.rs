//! Reads the frames of a stream or a complete body, and ends the response.

use std::ops::Range;

use serde_json::value::RawValue;

use super::decode::{Decoder, Mode};
use super::repeat::Added;
use super::wire::{Event, Message};
use crate::chat::Warning;
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, ReportedCost, error_body, fields};

/// The events of a stream. All others are skipped unread.
const EVENTS: [&str; 8] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "error",
    "message",
];

fn unreadable(error: serde_json::Error, block: &RawValue) -> Error {
    Error::new(ErrorKind::Protocol, "a block of the response cannot be read as an object")
        .with_raw(block.get().as_bytes())
        .with_source(error)
}

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        self.added = None;
        let data = frame.data.trim_ascii();
        let known = frame.event.is_empty() || EVENTS.contains(&frame.event);
        if data.is_empty() || !known {
            return Ok(Flow::Continue);
        }
        // Not part of the protocol. OpenRouter ends its streams of this protocol with it (recording
        // anthropic-stream-length-text-b88e28c7, 2026).
        if data == b"[DONE]" {
            return self.end(self.stop.is_some(), emitter).map(|()| Flow::Done);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut event = Event::default();
        let Err(error) = fill_json(data, &mut event) else {
            let added = Added::of(&event, frame.data);
            let flow = self.event(&mut event, data, frame.event, emitter)?;
            self.added = added;
            return Ok(flow);
        };
        let data = mended(data, &error).ok_or(error)?;
        let mut event = Event::default();
        fill_json(&data, &mut event)?;
        self.event(&mut event, &data, frame.event, emitter)
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.end(self.stop.is_some(), emitter)
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut message = Message::default();
        let Err(error) = fill_json_body(body, &mut message) else {
            return self.whole(&mut message, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        let mut message = Message::default();
        fill_json(&body, &mut message)?;
        self.whole(&mut message, &body, emitter)
    }

    fn added_text(&self) -> Option<Range<usize>> {
        self.added.as_ref().map(|added| added.place.clone())
    }

    fn add_text(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        match &self.added {
            Some(added) => self.blocks.delta(added.index, &mut added.again(text), emitter),
            None => Ok(()),
        }
    }

    // The usage comes with several events. It is emitted once, because each event would copy all of it.
    fn settle(&mut self, emitter: &mut Emitter) {
        let (usage, cost) = self.tally.usage();
        if !usage.is_empty() || cost != ReportedCost::Absent {
            emitter.usage(usage, cost);
        }
    }
}

impl Decoder {
    fn event(
        &mut self,
        event: &mut Event<'_>,
        data: &[u8],
        name: &str,
        emitter: &mut Emitter,
    ) -> Result<Flow> {
        let index = event.index.0.unwrap_or(0);
        match event.kind.non_empty().unwrap_or(name) {
            "message_start" => {
                let message = event.message.0.get_or_insert_default();
                self.message(message, Mode::Stream, emitter)?;
            }
            "content_block_start" => {
                if let Some(block) = event.content_block {
                    let fields = fields::read(block).map_err(|error| unreadable(error, block))?;
                    self.block(index, fields, emitter)?;
                }
            }
            "content_block_delta" => {
                if let Some(delta) = &mut event.delta.0 {
                    self.block_delta(index, delta, emitter)?;
                }
            }
            "content_block_stop" => self.blocks.stop(index, emitter)?,
            "message_delta" => {
                self.ensure_started(emitter)?;
                self.keep_raw("contextManagement", event.context_management, emitter)?;
                let delta = event.delta.0.take().unwrap_or_default();
                self.message_delta(&delta, event.usage.0.take(), emitter)?;
            }
            "message_stop" => {
                self.end(true, emitter)?;
                return Ok(Flow::Done);
            }
            "error" => return Err(self.error(data)),
            _ if event.error.is_some() => return Err(self.error(data)),
            _ => {}
        }
        Ok(Flow::Continue)
    }

    fn whole(
        &mut self,
        message: &mut Message<'_>,
        body: &[u8],
        emitter: &mut Emitter,
    ) -> Result<()> {
        let is_message = message.kind.0.as_deref() == Some("message")
            || message.role.non_empty().is_some()
            || !message.content.is_empty();
        if !is_message && (message.error.is_some() || error_body::is_bare_error(body)) {
            return Err(self.error(body));
        }
        if !is_message && message.id.non_empty().is_none() {
            return Err(
                Error::new(ErrorKind::Protocol, "the response is not a message").with_raw(body)
            );
        }
        self.message(message, Mode::Whole, emitter)?;
        self.end(true, emitter)
    }

    fn error(&self, data: &[u8]) -> Error {
        error_body::in_body(&self.context.provider.name, data)
    }

    /// Ends the response. `announced` is whether the provider reported the end or its reason.
    fn end(&mut self, announced: bool, emitter: &mut Emitter) -> Result<()> {
        if !announced {
            return Err(error_body::cut_off(emitter.is_started()));
        }
        self.ensure_started(emitter)?;
        if self.stop.is_none() {
            emitter.warn(Warning::about_response(
                "the provider did not report a finish reason; `stop` is assumed",
            ));
        }
        self.close(emitter)
    }
}
