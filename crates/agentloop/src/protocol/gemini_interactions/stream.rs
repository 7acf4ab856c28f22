//! Reads the frames of a stream or a complete body, and ends the response.

use std::ops::Range;

use super::decode::Decoder;
use super::repeat::{Added, IGNORED};
use super::wire::{Event, Interaction, has_content};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::google::error;
use crate::protocol::json::{bare, fill_json, fill_json_body, mended};
use crate::protocol::{Decode, Emitter, Flow, Frame, error_body};

impl Decode for Decoder {
    fn frame(&mut self, frame: &Frame<'_>, emitter: &mut Emitter) -> Result<Flow> {
        self.added = None;
        let data = frame.data.trim_ascii();
        if data.is_empty() {
            return Ok(Flow::Continue);
        }
        if data == b"[DONE]" {
            return self.finish(emitter).map(|()| Flow::Done);
        }
        if data.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, data));
        }
        let mut event = Event::default();
        let read = fill_json(data, &mut event);
        let added = Added::of(&event, frame.data);
        match read.and_then(|()| self.event(&mut event, data, frame.event, emitter)) {
            Err(error) => {
                let data = mended(data, &error).ok_or(error)?;
                let mut event = Event::default();
                fill_json(&data, &mut event)?;
                self.event(&mut event, &data, frame.event, emitter)
            }
            Ok(flow) => {
                self.added = added.filter(|added| self.steps.is_output(added.index));
                Ok(flow)
            }
        }
    }

    /// Ends a stream. Its end is a status that no other follows, after which nothing is open.
    fn finish(&mut self, emitter: &mut Emitter) -> Result<()> {
        let status = self.status.take().filter(|status| is_final(status));
        match status.filter(|_| emitter.is_started() && !self.steps.has_open()) {
            Some(status) => self.end(status, &Interaction::default(), b"", emitter),
            None => Err(error_body::cut_off(emitter.is_started())),
        }
    }

    fn added_text(&self) -> Option<Range<usize>> {
        self.added.as_ref().map(|added| added.place.clone())
    }

    fn ignored_fields(&self) -> &'static [&'static str] {
        IGNORED
    }

    fn add_text(&mut self, text: &str, emitter: &mut Emitter) -> Result<()> {
        match &self.added {
            Some(added) => self.steps.add_text(added.index, text, emitter),
            None => Ok(()),
        }
    }

    fn body(&mut self, body: &[u8], emitter: &mut Emitter) -> Result<()> {
        let body = bare(body);
        if body.starts_with(b"[") {
            return Err(error_body::of_list(&self.context.provider.name, body));
        }
        let mut interaction = Interaction::default();
        let Err(error) = fill_json_body(body, &mut interaction) else {
            return self.whole(&mut interaction, body, emitter);
        };
        let body = mended(body, &error).ok_or(error)?;
        let mut interaction = Interaction::default();
        fill_json(&body, &mut interaction)?;
        self.whole(&mut interaction, &body, emitter)
    }
}

/// Returns whether no other status follows this one, unless the caller acts.
fn is_final(status: &str) -> bool {
    !matches!(status, "in_progress" | "queued")
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
        match event.kind.0.as_deref().filter(|kind| !kind.is_empty()).unwrap_or(name) {
            "error" => return Err(error::in_body(&self.context.provider.name, data)),
            "interaction.created" => {
                let interaction = event.interaction.0.take().unwrap_or_default();
                self.begin(&interaction, emitter)?;
            }
            "step.start" => {
                self.ensure_started(emitter)?;
                if let Some(step) = event.step.filter(|step| step.get().starts_with('{')) {
                    self.steps.start(index, step, emitter)?;
                }
            }
            "step.delta" => {
                self.ensure_started(emitter)?;
                if let Some(delta) = event.delta.0.take() {
                    self.steps.delta(index, delta, emitter)?;
                }
            }
            "step.stop" => self.steps.stop(index, emitter)?,
            "interaction.completed" | "interaction.complete" => {
                let mut interaction = event.interaction.0.take().unwrap_or_default();
                self.all(&mut interaction, emitter)?;
                let status = self.status.take().filter(|status| is_final(status));
                // The event knows better than the copy of the interaction in it.
                let status = status.unwrap_or_else(|| "completed".to_owned());
                self.end(status, &interaction, data, emitter)?;
                return Ok(Flow::Done);
            }
            // `interaction.status_update`, and the names of single states that ai-sdk google knows.
            kind if kind.starts_with("interaction.") => {
                let status = event.status.non_empty().or(match kind {
                    "interaction.requires_action" => Some("requires_action"),
                    _ => None,
                });
                if let Some(status) = status {
                    self.status = Some(status.to_owned());
                }
                if let Some(id) = event.interaction_id.non_empty() {
                    id.clone_into(&mut self.id);
                }
                if let Some(usage) = &event.usage.0 {
                    self.ensure_started(emitter)?;
                    self.usage(usage, emitter);
                }
                let token = event.continuation_token.non_empty();
                self.keep_word("continuationToken", token, emitter)?;
            }
            // An error may lack the name of its kind.
            _ if event.error.filter(has_content).is_some() => {
                return Err(error::in_body(&self.context.provider.name, data));
            }
            _ => {}
        }
        Ok(Flow::Continue)
    }

    fn whole(
        &mut self,
        interaction: &mut Interaction<'_>,
        body: &[u8],
        emitter: &mut Emitter,
    ) -> Result<()> {
        let is_interaction = interaction.object.0.as_deref() == Some("interaction")
            || interaction.status.non_empty().is_some()
            || !interaction.steps.is_empty()
            || interaction.outputs.is_some();
        if !is_interaction {
            let failed = interaction.error.filter(has_content).is_some();
            if failed || error_body::is_bare_error(body) {
                return Err(error::in_body(&self.context.provider.name, body));
            }
            let message = "the response is not an interaction";
            return Err(Error::new(ErrorKind::Protocol, message).with_raw(body));
        }
        self.all(interaction, emitter)?;
        match self.status.take() {
            Some(status) => self.end(status, interaction, body, emitter),
            None => self.close(None, emitter),
        }
    }

    /// Ends a response whose status is known.
    fn end(
        &mut self,
        status: String,
        interaction: &Interaction<'_>,
        data: &[u8],
        emitter: &mut Emitter,
    ) -> Result<()> {
        match status.as_str() {
            "failed" => {
                self.steps.stop_all(emitter)?;
                let provider = self.context.provider.name.clone();
                let error = match self.failure(interaction) {
                    Some(error) => error::in_body(&provider, error.as_bytes()),
                    None => Error::new(ErrorKind::Server, "the interaction failed")
                        .with_provider(provider.as_ref()),
                };
                Err(error.with_raw(data))
            }
            // The job continues and costs money whatever happens here: another attempt would start a second one.
            "queued" | "in_progress" => {
                let id = if self.id.is_empty() { "without an id" } else { &self.id };
                let message =
                    format!("the interaction {id} runs in the background and is {status}");
                Err(Error::new(ErrorKind::Unsupported, message)
                    .with_hint(format!(
                        "read the response later with GET /interactions/{id}, or send the request without `background`"
                    ))
                    .with_raw(data))
            }
            _ => self.close(Some(status), emitter),
        }
    }
}
