//! Where decoders put what they read: steps in, well-formed events out.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::mem::size_of;

use serde_json::{Map, Value};

use crate::chat::{
    ChatStreamEvent, Choice, Citation, Contradiction, Cost, FinishReason, Fold, Logprobs,
    OutputStrategy, PartDelta, PartStart, ProviderState, RawParts, Reported, ResponsePart, Usage,
    Warning, Weight,
};
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::limits::{
    MAX_CHOICES, MAX_HELD_FREE_BYTES, MAX_HELD_PER_BYTE, MAX_PARTS, MAX_RESPONSE_BYTES,
};
use crate::models::{Pricing, served_tier};
use crate::nesting::{self, OBJECT_ENTRY};
use crate::protocol::ToolNames;
use crate::protocol::cost::ReportedCost;
use crate::protocol::output::OutputParts;

/// Turns a decoder's steps into events, and folds them as they pass, so finished parts, the finished
/// response and a partial one can be had at any time.
///
/// It counts the bytes that the response holds, all of them: text and arguments, whole parts, citations, state, log
/// probabilities, warnings, metadata, usage, choices, and what a decoder holds beside and [charges](Self::charge). Past
/// [`MAX_RESPONSE_BYTES`], and past [`MAX_HELD_PER_BYTE`] times what was sent, the response fails with
/// [`ErrorKind::TooLarge`]. After that point nothing more is kept.
#[derive(Debug)]
pub(crate) struct Emitter {
    fold: Fold,
    events: VecDeque<ChatStreamEvent>,
    provider: Cow<'static, str>,
    request_id: Option<String>,
    /// Warnings from before the response started.
    early_warnings: Vec<Warning>,
    /// Boxed, because most emitters of complete responses have none.
    usage: Option<Box<(Usage, Option<Cost>)>>,
    /// The contradiction in the last usage and cost. Providers repeat both; the warning is emitted once, at the end.
    contradiction: Option<Contradiction>,
    invalid_cost: Option<Warning>,
    /// The bytes that the response and its decoder hold.
    held: usize,
    /// The limit on the bytes held, given the bytes received so far.
    most: usize,
    /// What of it is usage, which is replaced and not added.
    usage_bytes: usize,
    /// Whether the limit was passed, so content may be missing.
    overflowed: bool,
    /// What it has of the room of a server.
    share: room::Share,
    /// The names under which tools were sent.
    names: ToolNames,
    /// How the schema was requested.
    strategy: Option<OutputStrategy>,
    /// What has to be undone in the response's text; mostly nothing.
    output: Option<Box<OutputParts>>,
    /// The prices of the response, if they are known.
    pricing: Option<Pricing>,
    /// The counts that are paid, if they are others than those of the usage.
    billed: Option<Box<Usage>>,
    /// The raw response, if it was requested.
    raw: Option<Box<RawParts>>,
    /// Only the finished response is emitted, because nothing observes the steps.
    quiet: bool,
    /// Whether the response is complete and stays in the fold, where [`into_response`](Self::into_response) finds it.
    complete: bool,
    /// Whether two readings of the same bytes are the same, made-up ids included.
    reproducible: bool,
}

impl Emitter {
    #[inline]
    pub(crate) fn new(
        provider: impl Into<Cow<'static, str>>,
        request_id: Option<String>,
        warnings: Vec<Warning>,
    ) -> Self {
        Self {
            fold: Fold::new(),
            events: VecDeque::new(),
            provider: provider.into(),
            request_id,
            early_warnings: warnings,
            usage: None,
            contradiction: None,
            invalid_cost: None,
            held: 0,
            most: MAX_HELD_FREE_BYTES,
            usage_bytes: 0,
            overflowed: false,
            share: room::Share::default(),
            names: ToolNames::default(),
            strategy: None,
            output: None,
            pricing: None,
            billed: None,
            raw: None,
            quiet: false,
            complete: false,
            reproducible: false,
        }
    }

    /// Emits only the complete response, without a copy of it for every step.
    #[inline]
    pub(crate) fn quietly(mut self: Box<Self>, quiet: bool) -> Box<Self> {
        self.quiet = quiet;
        self.events.reserve_exact(if quiet { 0 } else { 4 });
        self
    }

    /// Notes that so many more bytes were sent, and makes room for what they may hold.
    #[inline]
    pub(crate) fn receive(&mut self, bytes: usize) {
        let more = bytes.saturating_mul(MAX_HELD_PER_BYTE);
        self.most = self.most.saturating_add(more).min(MAX_RESPONSE_BYTES);
    }

    /// Counts bytes that the decoder holds outside of the response: what it keeps until the end, and a copy of
    /// something that the response has already.
    ///
    /// # Errors
    ///
    /// When the response holds too much.
    #[inline]
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<()> {
        self.admit(bytes);
        self.check()
    }

    /// Releases bytes that were charged for something that is no longer held.
    #[inline]
    pub(crate) fn release(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
    }

    /// Checks that the response is within its limit.
    ///
    /// # Errors
    ///
    /// Fails if the response holds more than [`MAX_RESPONSE_BYTES`], or too much for the bytes received.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        if !self.overflowed {
            return Ok(());
        }
        if let Some(error) = self.share.error() {
            return Err(error);
        }
        Err(too_large(match self.most {
            MAX_RESPONSE_BYTES => {
                format!("the response holds more than {MAX_RESPONSE_BYTES} bytes")
            }
            _ => format!(
                "the response holds more than {MAX_HELD_PER_BYTE} bytes for each byte that was sent"
            ),
        }))
    }

    /// Counts bytes and returns whether the response may hold them. Events that wait to be taken count with their own
    /// size; what they hold was counted when it was added.
    #[inline]
    fn admit(&mut self, bytes: usize) -> bool {
        self.held = self.held.saturating_add(bytes);
        let waiting = self.events.len() * size_of::<ChatStreamEvent>();
        let held = self.held.saturating_add(waiting);
        self.overflowed |=
            held > self.most || (held > self.share.granted && !self.share.grow_to(held));
        !self.overflowed
    }

    #[inline]
    fn push(&mut self, event: ChatStreamEvent) {
        if !self.quiet {
            self.events.push_back(event);
        }
    }

    pub(crate) fn pop(&mut self) -> Option<ChatStreamEvent> {
        self.events.pop_front()
    }

    /// Returns the queued events.
    pub(crate) fn events(&self) -> &VecDeque<ChatStreamEvent> {
        &self.events
    }

    /// Drops the queued events.
    pub(crate) fn discard_events(&mut self) {
        self.events.clear();
        self.complete = false;
    }

    /// Returns a value that changes whenever something is emitted, until events are taken.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.events.len(), self.held)
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.fold.is_started()
    }

    /// Starts the message, unless it has started. A response without an id gets one.
    pub(crate) fn start(&mut self, id: &str, model: &str, created: Option<i64>) {
        if self.fold.is_started() {
            return;
        }
        let made_up;
        let id = if id.is_empty() {
            made_up = self.made_up_id(model, created);
            &made_up
        } else {
            id
        };
        // Without observers of the steps it is not needed a second time.
        let request_id = if self.quiet { self.request_id.take() } else { self.request_id.clone() };
        if self.fold.start(id, model, &self.provider, created, request_id, self.strategy).is_err() {
            return;
        }
        if !self.quiet {
            self.events.push_back(ChatStreamEvent::MessageStart {
                id: id.to_owned(),
                model: model.to_owned(),
                provider: self.provider.clone().into_owned(),
                created,
                request_id: self.request_id.clone(),
                output_strategy: self.strategy,
                cached: false,
            });
        }
        for warning in std::mem::take(&mut self.early_warnings) {
            self.warn(warning);
        }
    }

    /// Returns an id for a response to which the provider gave none: unlike all others, unless it has to be the same in
    /// every reading.
    fn made_up_id(&self, model: &str, created: Option<i64>) -> String {
        let unique = if self.reproducible {
            let created = created.unwrap_or_default().to_le_bytes();
            let known = [self.provider.as_bytes(), &[0], model.as_bytes(), &created];
            known.into_iter().fold(hash::FNV64, hash::fnv64)
        } else {
            hash::random()
        };
        format!("resp_{unique:016x}")
    }

    #[inline]
    pub(crate) fn ensure_choice(&mut self, choice_index: u32) -> Result<()> {
        if self.fold.ensure_choice(choice_index) {
            if self.fold.response().choices.len() > MAX_CHOICES {
                return Err(too_large(format!("the response has more than {MAX_CHOICES} choices")));
            }
            self.charge(size_of::<Choice>())?;
        }
        Ok(())
    }

    /// Opens the next part of a choice and returns its index.
    pub(crate) fn open(&mut self, choice_index: u32, mut part: PartStart) -> Result<u32> {
        if let PartStart::ToolCall { name, .. } = &mut part
            && !self.names.is_empty()
        {
            *name = self.names.original(name).to_owned();
        }
        if let Some(output) = &mut self.output {
            part = output.start(choice_index, part);
        }
        self.charge(size_of::<ResponsePart>() + part.weight())?;
        let part_index = self.fold.open(choice_index, &part);
        if part_index as usize >= MAX_PARTS {
            return Err(too_large(format!("the response has more than {MAX_PARTS} parts")));
        }
        if let Some(output) = &mut self.output {
            output.opened(choice_index, part_index, &part);
        }
        self.push(ChatStreamEvent::ContentStart { choice_index, part_index, part });
        Ok(part_index)
    }

    pub(crate) fn delta(
        &mut self,
        choice_index: u32,
        part_index: u32,
        delta: PartDelta,
    ) -> Result<()> {
        self.charge(delta.weight())?;
        let delta = match &mut self.output {
            None => delta,
            Some(output) => match output.delta(choice_index, part_index, delta) {
                Some(delta) => delta,
                None => return Ok(()),
            },
        };
        self.grow(choice_index, part_index, delta)
    }

    #[inline]
    fn grow(&mut self, choice_index: u32, part_index: u32, delta: PartDelta) -> Result<()> {
        if self.quiet {
            let grown = self.fold.grow_by(choice_index, part_index, delta);
            return grown.map_err(Self::out_of_order);
        }
        self.fold.grow(choice_index, part_index, &delta).map_err(Self::out_of_order)?;
        self.events.push_back(ChatStreamEvent::ContentDelta { choice_index, part_index, delta });
        Ok(())
    }

    /// Closes a part. `complete` may first fill in what no delta carries.
    pub(crate) fn close(
        &mut self,
        choice_index: u32,
        part_index: u32,
        complete: impl FnOnce(&mut ResponsePart),
    ) -> Result<()> {
        let held = self.output.as_mut().and_then(|held| held.close(choice_index, part_index));
        if let Some(delta) = held {
            self.grow(choice_index, part_index, delta)?;
        }
        let part = self.fold.close(choice_index, part_index).map_err(Self::out_of_order)?;
        // The text of its arguments has become a tree.
        let tree = match part {
            ResponsePart::ServerToolCall(call) => call.arguments.weight(),
            _ => 0,
        };
        complete(part);
        let tagged = self.fold.tag(choice_index, part_index);
        let maker = tagged.and_then(ResponsePart::provider_state).map_or(0, |state| {
            size_of::<ProviderState>() + state.provider.len() + state.model.weight()
        });
        if !self.quiet
            && let Some(part) = tagged.cloned()
        {
            self.events.push_back(ChatStreamEvent::ContentDone { choice_index, part_index, part });
        }
        self.charge(tree + maker)
    }

    /// Adds a source to a text that has closed.
    pub(crate) fn cite(
        &mut self,
        choice_index: u32,
        part_index: u32,
        citation: Citation,
    ) -> Result<()> {
        self.charge(size_of::<Citation>() + citation.weight())?;
        if self.quiet {
            let cited = self.fold.cite(choice_index, part_index, citation);
            return cited.map_err(Self::out_of_order);
        }
        let cited = self.fold.cite(choice_index, part_index, citation.clone());
        cited.map_err(Self::out_of_order)?;
        let event = ChatStreamEvent::ContentCitation { choice_index, part_index, citation };
        self.events.push_back(event);
        Ok(())
    }

    /// Emits a part that arrived complete.
    pub(crate) fn whole(&mut self, choice_index: u32, part: ResponsePart) -> Result<()> {
        let part = match &self.output {
            Some(output) => output.whole(part),
            None => part,
        };
        self.charge(part.weight())?;
        let part_index = self.open(choice_index, PartStart::of(&part))?;
        let mut part = part;
        if let ResponsePart::ToolCall(call) = &mut part {
            call.name = self.names.original(&call.name).to_owned();
        }
        self.close(choice_index, part_index, |place| *place = part)
    }

    pub(crate) fn logprobs(&mut self, choice_index: u32, logprobs: Logprobs) {
        if logprobs.is_empty() || !self.admit(logprobs.weight()) {
            return;
        }
        if self.quiet {
            return self.fold.logprobs(choice_index, logprobs);
        }
        self.fold.logprobs(choice_index, logprobs.clone());
        self.events.push_back(ChatStreamEvent::Logprobs { choice_index, logprobs });
    }

    pub(crate) fn finish_choice(
        &mut self,
        choice_index: u32,
        reason: FinishReason,
        raw: Option<String>,
    ) {
        if !self.admit(raw.weight()) {
            return;
        }
        let reason = match &self.output {
            Some(output) => output.finish(choice_index, reason),
            None => reason,
        };
        if self.quiet {
            return self.fold.finish_choice(choice_index, reason, raw);
        }
        self.fold.finish_choice(choice_index, reason.clone(), raw.clone());
        self.push(ChatStreamEvent::MessageDelta {
            choice_index,
            finish_reason: reason,
            raw_finish_reason: raw,
        });
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        if !self.admit(size_of::<Warning>() + warning.weight()) {
            return;
        }
        if self.fold.is_started() {
            self.fold.warn(warning.clone());
            self.push(ChatStreamEvent::Warning { warning });
        } else {
            self.early_warnings.push(warning);
        }
    }

    /// Adds fields of the response, under the provider's names.
    pub(crate) fn metadata(&mut self, more: Map<String, Value>) {
        if !self.admit(more.weight()) {
            return;
        }
        if self.quiet {
            self.fold.metadata(more);
        } else if !more.is_empty() {
            self.fold.metadata(more.clone());
            self.push(ChatStreamEvent::Metadata { choice_index: None, provider_metadata: more });
        }
    }

    /// Adds fields of one choice, under the provider's names.
    pub(crate) fn choice_metadata(&mut self, choice_index: u32, more: Map<String, Value>) {
        if more.is_empty() || !self.admit(more.weight()) {
            return;
        }
        if self.quiet {
            return self.fold.choice_metadata(choice_index, more);
        }
        self.fold.choice_metadata(choice_index, more.clone());
        self.push(ChatStreamEvent::Metadata {
            choice_index: Some(choice_index),
            provider_metadata: more,
        });
    }

    /// Keeps a field for the metadata, in place of an earlier one of the same name, and counts it until it is emitted.
    ///
    /// # Errors
    ///
    /// When the response holds too much.
    pub(crate) fn keep(
        &mut self,
        fields: &mut Map<String, Value>,
        name: &str,
        value: Value,
    ) -> Result<()> {
        self.charge(value.weight())?;
        let known = match fields.get_mut(name) {
            Some(known) => std::mem::replace(known, value),
            None => {
                self.charge(OBJECT_ENTRY + name.len())?;
                fields.insert(name.to_owned(), value);
                return Ok(());
            }
        };
        self.release(known.weight());
        Ok(())
    }

    /// Keeps a field as [`keep`](Self::keep) does, from its JSON.
    ///
    /// # Errors
    ///
    /// When the response holds too much, or the tree of the field would.
    pub(crate) fn keep_raw(
        &mut self,
        fields: &mut Map<String, Value>,
        name: &str,
        raw: &str,
    ) -> Result<()> {
        match nesting::read(raw) {
            Ok(value) => self.keep(fields, name, value),
            Err(error) if nesting::is_too_large(&error) => {
                Err(too_large(format!("{name}: {error}")))
            }
            Err(_) => Ok(()),
        }
    }

    /// Takes the usage and the cost that the provider reports. Providers repeat them: the last ones count, and one
    /// event at the end has them.
    pub(crate) fn usage(&mut self, reported: impl Into<Reported>, cost: ReportedCost) {
        let (usage, contradiction) = reported.into().reconcile();
        self.contradiction = contradiction;
        let (cost, invalid) = cost.split();
        if invalid.is_some() {
            self.invalid_cost = invalid;
        }
        self.release(self.usage_bytes);
        self.usage_bytes = usage.weight();
        if !self.admit(self.usage_bytes) {
            return;
        }
        if self.quiet {
            return self.fold.usage(usage, cost);
        }
        self.fold.usage(usage.clone(), cost.clone());
        self.usage = Some(Box::new((usage, cost)));
    }

    /// Ends the message.
    pub(crate) fn done(&mut self) -> Result<()> {
        if let Some(contradiction) = self.contradiction.take() {
            self.warn(Warning::about_response(contradiction.to_string()));
        }
        if let Some(warning) = self.invalid_cost.take() {
            self.warn(warning);
        }
        let raw = self.take_raw();
        if let Some(pricing) = &self.pricing
            && self.fold.response().cost.is_none()
        {
            let response = self.fold.response();
            let usage = self.billed.as_deref().unwrap_or(&response.usage);
            let cost = pricing.cost(usage, served_tier(&response.provider_metadata));
            if let Some((_, reported)) = self.usage.as_deref_mut() {
                reported.clone_from(&cost);
            }
            self.fold.cost(cost);
        }
        self.check()?;
        if let Some(reported) = self.usage.take() {
            let (usage, cost) = *reported;
            self.push(ChatStreamEvent::Usage { usage, cost });
        }
        self.emit_raw(raw);
        if self.quiet {
            self.fold.check().map_err(Self::out_of_order)?;
            self.complete = true;
            return Ok(());
        }
        let response = self.fold.take().map_err(Self::out_of_order)?;
        self.events.push_back(ChatStreamEvent::MessageDone { response });
        Ok(())
    }

    /// Returns the error of a decoder whose events do not form a response. That is a bug here, and still only an error.
    fn out_of_order(error: crate::chat::FoldError) -> Error {
        Error::new(ErrorKind::Protocol, "the events do not form a complete response")
            .with_source(error)
    }
}

fn too_large(message: String) -> Error {
    Error::new(ErrorKind::TooLarge, message)
}

#[path = "emit_build.rs"]
mod build;

#[path = "emit_end.rs"]
mod end;

#[path = "emit_raw.rs"]
mod raw;

#[path = "emit_room.rs"]
mod room;

#[path = "emit_text.rs"]
mod text;

#[cfg(test)]
#[path = "emit_tests.rs"]
mod tests;
