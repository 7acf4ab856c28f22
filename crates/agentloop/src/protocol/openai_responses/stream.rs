//! Reads the frames of a stream or a complete body, and ends the response.

use std::ops::Range;

use super::decode::Decoder;
use super::growing::{Growth, Place, Source};
use super::repeat::{Added, IGNORED};
use super::wire::{Event, Response, has_content};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body};

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        self.added = None;
        let data = frame.data.trim_ascii();
        let known = frame.event.is_empty()
            || frame.event.starts_with("response.")
            || matches!(frame.event, "error" | "message");
        if data.is_empty() || !known {
            return Ok(Flow::Continue);
        }
        if data == b"[DONE]" {
            // The provider reports the end without a reason.
            if !emitter.is_started() {
                return Err(error_body::cut_off(emitter.is_started()));
            }
            return self.close(None, emitter).map(|()| Flow::Done);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut event = Event::default();
        let read = fill_json(data, &mut event);
        match read.and_then(|()| self.event(&event, data, frame.event, emitter)) {
            Err(error) => match mended(data, &error) {
                Some(data) => {
                    let mut event = Event::default();
                    fill_json(&data, &mut event)?;
                    self.event(&event, &data, frame.event, emitter)
                }
                None => Err(error),
            },
            read => {
                self.added = Added::of(&event, frame.data).filter(|_| read.is_ok());
                read
            }
        }
    }

    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        Err(error_body::cut_off(emitter.is_started()))
    }

    fn added_text(&self) -> Option<Range<usize>> {
        self.added.as_ref().map(|added| added.place.clone())
    }

    fn ignored_fields(&self) -> &'static [&'static str] {
        IGNORED
    }

    fn add_text(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        match &self.added {
            Some(added) => self.items.grow_again(added.again(text), emitter),
            None => Ok(()),
        }
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut response = Response::default();
        let Err(error) = fill_json_body(body, &mut response) else {
            return self.whole(&mut response, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        self.whole(&mut response_of(&body)?, &body, emitter)
    }
}

impl Decoder {
    fn event(
        &mut self,
        event: &Event<'_>,
        data: &[u8],
        name: &str,
        emitter: &mut Emitter,
    ) -> Result<Flow> {
        let kind = event.kind.non_empty().unwrap_or(name);
        // An error may lack the name of its kind, and so may a whole response.
        if kind == "error"
            || (!kind.starts_with("response.") && event.error.filter(has_content).is_some())
        {
            return Err(self.error(data));
        }
        if event.kind.non_empty().is_none() && event.object.0.as_deref() == Some("response") {
            let mut response = response_of(data)?;
            return self.ended(&mut response, None, data, emitter).map(|()| Flow::Done);
        }
        let Some(kind) = kind.strip_prefix("response.") else {
            return Ok(Flow::Continue);
        };
        match kind {
            "completed" | "incomplete" | "failed" | "cancelled" | "done" => {
                let response = event.response.map_or("{}", |raw| raw.get());
                let mut response = response_of(response.as_bytes())?;
                let word = if kind == "done" { "completed" } else { kind };
                self.ended(&mut response, Some(word), data, emitter)?;
                Ok(Flow::Done)
            }
            "created" | "queued" | "in_progress" => {
                if let Some(response) = event.response.filter(|_| !emitter.is_started()) {
                    self.begin(&response_of(response.get().as_bytes())?, emitter)?;
                }
                Ok(Flow::Continue)
            }
            kind => self.grow(kind, event, emitter).map(|()| Flow::Continue),
        }
    }

    /// Begins, continues or ends an item.
    fn grow(&mut self, kind: &str, event: &Event<'_>, emitter: &mut Emitter) -> Result<()> {
        let place = Place { index: event.output_index.0, id: event.item_id.non_empty() };
        let (content, summary) = (event.content_index.0, event.summary_index.0);
        let delta = event.delta.0.as_deref().unwrap_or_default();
        let growth = match kind {
            "output_text.delta" => Growth::Text { at: content, delta, logprobs: event.logprobs },
            "output_text.done" => {
                Growth::TextDone { at: content, whole: event.text.non_empty().unwrap_or_default() }
            }
            "refusal.delta" => Growth::Refusal { at: content, delta },
            "refusal.done" => Growth::RefusalDone {
                at: content,
                whole: event.refusal.non_empty().unwrap_or_default(),
            },
            "output_text.annotation.added" => match event.annotation {
                Some(annotation) => Growth::Annotation { at: content, annotation },
                None => return Ok(()),
            },
            "content_part.added" | "content_part.done" => match event.part {
                Some(part) => Growth::Part { at: content, part, done: kind.ends_with(".done") },
                None => return Ok(()),
            },
            "reasoning_text.delta" | "reasoning.delta" => {
                Growth::Thought { source: Source::Content, at: content, delta }
            }
            "reasoning_text.done" | "reasoning.done" => Growth::ThoughtDone {
                source: Source::Content,
                at: content,
                whole: event.text.non_empty().unwrap_or_default(),
            },
            "reasoning_summary_text.delta" | "reasoning_summary.delta" => {
                Growth::Thought { source: Source::Summary, at: summary, delta }
            }
            "reasoning_summary_text.done" | "reasoning_summary.done" => Growth::ThoughtDone {
                source: Source::Summary,
                at: summary,
                whole: event.text.non_empty().unwrap_or_default(),
            },
            "function_call_arguments.delta"
            | "mcp_call_arguments.delta"
            | "mcp_call.arguments.delta"
            | "custom_tool_call_input.delta"
            | "code_interpreter_call_code.delta"
            | "code_interpreter_call.code.delta" => Growth::Input { delta },
            "function_call_arguments.done"
            | "mcp_call_arguments.done"
            | "mcp_call.arguments.done"
            | "custom_tool_call_input.done"
            | "code_interpreter_call_code.done"
            | "code_interpreter_call.code.done" => {
                let candidates = [&event.arguments.0, &event.input.0, &event.code.0];
                let whole = candidates.into_iter().flatten().next().map_or("", |text| text);
                Growth::InputDone { whole }
            }
            "output_item.added" | "output_item.done" => {
                let Some(item) = event.item else { return Ok(()) };
                self.ensure_started(emitter)?;
                return match kind {
                    "output_item.added" => self.items.added(event.output_index.0, item, emitter),
                    _ => self.items.done(event.output_index.0, item, emitter),
                };
            }
            "audio.delta" => Growth::Audio { delta },
            "audio.transcript.delta" => Growth::Transcript { delta },
            // Progress of the provider's own tools, and unknown events.
            _ => return Ok(()),
        };
        self.ensure_started(emitter)?;
        self.items.grow(&place, growth, emitter)
    }

    fn whole(
        &mut self,
        response: &mut Response<'_>,
        body: &[u8],
        emitter: &mut Emitter,
    ) -> Result<()> {
        let is_response =
            response.object.0.as_deref() == Some("response") || !response.output.is_empty();
        if !is_response {
            let failed = response.error.filter(has_content).is_some();
            if failed || error_body::is_bare_error(body) {
                return Err(self.error(body));
            }
            return Err(
                Error::new(ErrorKind::Protocol, "the body is not a response").with_raw(body)
            );
        }
        self.ended(response, None, body, emitter)
    }

    /// Reads a complete response. `event` is the name of the event that holds it.
    fn ended(
        &mut self,
        response: &mut Response<'_>,
        event: Option<&str>,
        data: &[u8],
        emitter: &mut Emitter,
    ) -> Result<()> {
        // Fields beside an error still belong to the response.
        self.all(response, emitter)?;
        let status = response.status.non_empty().or(event);
        if let Some(error) = response.error.filter(has_content) {
            let error = format!(r#"{{"error":{}}}"#, error.get());
            return Err(self.error(error.as_bytes()).with_raw(data));
        }
        let reason = response.incomplete_details.0.as_ref().and_then(|why| why.reason.non_empty());
        let word = match status {
            Some("failed") => {
                let error = Error::new(ErrorKind::Server, "the response failed");
                return Err(error
                    .with_provider(self.context.provider.name.as_ref())
                    .with_raw(data));
            }
            // The job continues and costs money whatever happens here: another attempt would start a second one.
            Some(status @ ("queued" | "in_progress")) if event.is_none() => {
                let id = response.id.non_empty().unwrap_or("without an id");
                let message = format!("the response {id} runs in the background and is {status}");
                return Err(Error::new(ErrorKind::Unsupported, message)
                    .with_hint(format!(
                        "read the response later with GET /responses/{id}, or send the request without `background`"
                    ))
                    .with_raw(data));
            }
            // An event knows better than the copy of the response in it.
            Some("queued" | "in_progress") => event,
            Some("incomplete") => reason.or(Some("incomplete")),
            status => status,
        };
        self.close(word, emitter)
    }

    fn error(&self, data: &[u8]) -> Error {
        error_body::in_body(&self.context.provider.name, data)
    }
}

/// Returns a response that is in an event.
fn response_of(data: &[u8]) -> Result<Response<'_>> {
    let mut response = Response::default();
    fill_json(data, &mut response)?;
    Ok(response)
}
