//! One choice while it grows: deltas → parts.

mod content;
mod reasoning_details;
mod server_tools;
mod unknown_calls;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::mem::{size_of, take};

use serde_json::{Map, Value};

use server_tools::ExecutedTools;
use unknown_calls::UnknownCalls;

use super::decode::Mode;
use super::stream::finish_reason;
use super::wire::{Content, Delta, WireAudio, WireToolCall};
use crate::chat::{
    Citation, FinishReason, PartDelta, PartStart, ProviderState, ResponsePart, Weight as _,
};
use crate::error::Result;
use crate::hash;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::base64_join::Base64Joiner;
use crate::protocol::openai::{citations, images};
use crate::protocol::rest::Kept;
use crate::protocol::think_tags::{Piece, ThinkSplitter};
use crate::protocol::tool_calls::{CallPiece, ToolCalls, WIRE_TYPE};
use crate::provider::ThinkTags;

/// The field of a part's state that holds its references.
pub(super) const REFERENCES: &str = "references";

/// The state of one choice while it arrives.
#[derive(Debug)]
pub(super) struct ChoiceState {
    pub(super) index: u32,
    /// The part that grows now; tool calls grow beside it.
    active: Option<(Kind, u32)>,
    /// The last text that has closed.
    closed_text: Option<u32>,
    pub(super) calls: ToolCalls,
    pub(super) finish: Option<String>,
    pub(super) refused: bool,
    splitter: Option<ThinkSplitter>,
    /// The provider's own record of its reasoning, for the way back.
    details: Vec<Value>,
    executed: ExecutedTools,
    unknown_calls: UnknownCalls,
    /// How many bytes the growing part's text has.
    pub(super) written: usize,
    /// References inside the open part, to send them back: the position of each, and the piece itself.
    pub(super) references: Vec<Value>,
    audio: AudioEnd,
    /// Fields that belong to this choice alone.
    pub(super) metadata: Map<String, Value>,
    /// Fields of it that the protocol does not name.
    pub(super) rest: Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Refusal,
    Thinking,
    Audio,
}

/// The fields of spoken output in addition to its audio.
#[derive(Debug, Default)]
struct AudioEnd {
    id: Option<String>,
    expires_at: Option<i64>,
    sound: Base64Joiner,
}

/// The chunk that a choice is reading.
pub(super) struct Step<'a> {
    pub(super) mode: Mode,
    pub(super) batch: u64,
    pub(super) made_up: MadeUpIds<'a>,
    pub(super) audio_format: &'a str,
}

/// Ids for calls to which the provider gave none: the same for the same response, and of no other one.
#[derive(Clone, Copy)]
pub(super) struct MadeUpIds<'a> {
    pub(super) id: &'a str,
    pub(super) hash: &'a OnceCell<u64>,
}

impl MadeUpIds<'_> {
    fn call(self, choice: u32, at: usize) -> String {
        // A response without an id gets a random one.
        let hash = self.hash.get_or_init(|| match self.id {
            "" => hash::random(),
            id => hash::fnv64(hash::FNV64, id.as_bytes()),
        });
        format!("call_{hash:016x}_{choice}_{at}")
    }
}

impl ChoiceState {
    pub(super) fn new(index: u32, tags: ThinkTags) -> Self {
        Self {
            index,
            active: None,
            closed_text: None,
            calls: ToolCalls::default(),
            finish: None,
            refused: false,
            splitter: ThinkSplitter::new(tags),
            details: Vec::new(),
            executed: ExecutedTools::default(),
            unknown_calls: UnknownCalls::default(),
            written: 0,
            references: Vec::new(),
            audio: AudioEnd::default(),
            metadata: Map::new(),
            rest: Kept::default(),
        }
    }

    pub(super) fn delta(
        &mut self,
        delta: &mut Delta<'_>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let thinking = take(&mut delta.reasoning_content)
            .into_non_empty()
            .or(take(&mut delta.reasoning).into_non_empty());
        if let Some(thinking) = &thinking {
            self.flush(emitter)?;
            self.think(thinking.clone().into_owned(), emitter)?;
        }
        if let Some(details) = delta.reasoning_details {
            self.reasoning_details(details.get(), thinking.is_none(), emitter)?;
        }
        if let Some(executed) = delta.executed_tools {
            // The arguments of those that run are kept until their output comes.
            emitter.charge(executed.get().len())?;
            let parts = self.executed.read(executed.get(), emitter.provider());
            if !parts.is_empty() {
                self.interrupt(emitter)?;
            }
            for part in parts {
                emitter.whole(self.index, part)?;
            }
        }
        match take(&mut delta.content) {
            Content::None => {}
            Content::Text(text) => self.text(text, emitter)?,
            Content::Chunks(chunks) => {
                for chunk in chunks {
                    self.content_chunk(chunk, emitter)?;
                }
            }
            Content::Object(json) => self.content_object(json, emitter)?,
        }
        if let Some(state) = message_state(delta) {
            let part = self.ensure(Kind::Text, emitter)?;
            let provider_state = ProviderState::new(emitter.provider(), state);
            emitter.delta(self.index, part, PartDelta::ProviderState { provider_state })?;
        }
        if let Some(annotations) = delta.annotations.filter(|raw| raw.get() != "[]") {
            let citations = citations::read(annotations.get(), emitter.provider());
            if !citations.is_empty() && self.open_text().is_none() {
                self.flush(emitter)?;
                if !self.has_text() {
                    self.ensure(Kind::Text, emitter)?;
                }
            }
            for citation in citations {
                self.cite(citation, emitter)?;
            }
        }
        if let Some(refusal) = take(&mut delta.refusal).into_non_empty() {
            self.refuse(refusal, emitter)?;
        }
        for call in delta.tool_calls.iter_mut() {
            self.tool_call(call, step, emitter)?;
        }
        if let Some(function) = &delta.function_call.0 {
            let piece = CallPiece {
                name: function.name.0.as_deref(),
                arguments: function.arguments.0.as_deref(),
                ..CallPiece::default()
            };
            self.call_piece(&piece, None, step, emitter)?;
        }
        if let Some(audio) = delta.audio.0.take() {
            self.speak(audio, step, emitter)?;
        }
        if let Some(raw) = delta.images {
            for image in nesting::read_list(raw.get()).iter().filter_map(images::read) {
                self.interrupt(emitter)?;
                emitter.whole(self.index, ResponsePart::Image(image))?;
            }
        }
        Ok(())
    }

    /// Returns the open part of that kind; opens one, and closes another, if need be.
    pub(super) fn ensure(&mut self, kind: Kind, emitter: &mut Emitter) -> Result<u32> {
        if let Some((active, part)) = self.active
            && active == kind
        {
            return Ok(part);
        }
        let start = match kind {
            Kind::Text | Kind::Refusal => PartStart::Text {},
            Kind::Thinking => PartStart::Thinking {},
            Kind::Audio => PartStart::Audio { mime_type: "audio/wav".to_owned() },
        };
        self.open(kind, start, emitter)
    }

    fn open(&mut self, kind: Kind, start: PartStart, emitter: &mut Emitter) -> Result<u32> {
        self.close_active(emitter)?;
        let part = emitter.open(self.index, start)?;
        self.active = Some((kind, part));
        self.written = 0;
        Ok(part)
    }

    /// Returns the text part that is open now.
    fn open_text(&self) -> Option<u32> {
        self.active.filter(|(kind, _)| *kind == Kind::Text).map(|(_, part)| part)
    }

    /// Returns whether there is a text that sources can belong to.
    pub(super) fn has_text(&self) -> bool {
        self.open_text().or(self.closed_text).is_some()
    }

    /// Adds a source to the text that is open now, or to the last one.
    pub(super) fn cite(&self, citation: Citation, emitter: &mut Emitter) -> Result<()> {
        match (self.open_text(), self.closed_text) {
            (Some(part), _) => emitter.delta(self.index, part, PartDelta::Citation { citation }),
            (None, Some(part)) => emitter.cite(self.index, part, citation),
            (None, None) => Ok(()),
        }
    }

    pub(super) fn close_active(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some((kind, part)) = self.active.take() else {
            return Ok(());
        };
        if kind == Kind::Text {
            self.closed_text = Some(part);
        }
        let mut state = Map::new();
        if kind == Kind::Thinking && !self.details.is_empty() {
            state.insert("reasoning_details".to_owned(), take(&mut self.details).into());
        }
        if !self.references.is_empty() {
            state.insert(REFERENCES.to_owned(), take(&mut self.references).into());
        }
        if kind == Kind::Audio
            && let Some(id) = self.audio.id.take()
        {
            state.insert("id".to_owned(), id.into());
        }
        if let Some(data) = self.audio.sound.finish().filter(|_| kind == Kind::Audio) {
            emitter.delta(self.index, part, PartDelta::Audio { data })?;
        }
        if !state.is_empty() {
            let provider_state = ProviderState::new(emitter.provider(), state.into());
            emitter.delta(self.index, part, PartDelta::ProviderState { provider_state })?;
        }
        let expires_at = self.audio.expires_at;
        emitter.close(self.index, part, |part| {
            if let ResponsePart::Audio(audio) = part {
                audio.expires_at = expires_at;
            }
        })
    }

    /// Ends all parts of the choice.
    pub(super) fn close(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.close_active(emitter)?;
        let reason = self.finish.as_deref().map(finish_reason);
        self.unknown_calls.close(self.index, emitter)?;
        self.calls.close(self.index, reason == Some(FinishReason::Length), emitter)
    }

    /// Emits the text that was held back because it could have become a tag: the text ends, or something else follows
    /// it.
    pub(super) fn flush(&mut self, emitter: &mut Emitter) -> Result<()> {
        match self.splitter.as_mut().and_then(ThinkSplitter::flush) {
            Some(piece) => self.piece(piece, emitter),
            None => Ok(()),
        }
    }

    /// Ends what grows now, because another part follows.
    pub(super) fn interrupt(&mut self, emitter: &mut Emitter) -> Result<()> {
        self.flush(emitter)?;
        self.close_active(emitter)
    }

    pub(super) fn think(&mut self, thinking: String, emitter: &mut Emitter) -> Result<()> {
        let part = self.ensure(Kind::Thinking, emitter)?;
        self.written += thinking.len();
        emitter.delta(self.index, part, PartDelta::Thinking { thinking })
    }

    /// Returns whether thoughts are separated from the text by tags.
    pub(super) fn splits_text(&self) -> bool {
        self.splitter.is_some()
    }

    pub(super) fn text(&mut self, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if let Some(splitter) = &mut self.splitter {
            let mut pieces = Vec::new();
            splitter.push(&text, |piece| pieces.push(owned(piece)));
            return self.pieces(pieces, emitter);
        }
        self.plain_text(text.into_owned(), emitter)
    }

    fn pieces(&mut self, pieces: Vec<Piece<'static>>, emitter: &mut Emitter) -> Result<()> {
        pieces.into_iter().try_for_each(|piece| self.piece(piece, emitter))
    }

    fn piece(&mut self, piece: Piece<'static>, emitter: &mut Emitter) -> Result<()> {
        match piece {
            Piece::Text(text) => self.plain_text(text.into_owned(), emitter),
            Piece::Thinking(text) => self.think(text.into_owned(), emitter),
        }
    }

    pub(super) fn plain_text(&mut self, text: String, emitter: &mut Emitter) -> Result<()> {
        let part = self.ensure(Kind::Text, emitter)?;
        self.written += text.len();
        emitter.delta(self.index, part, PartDelta::Text { text })
    }

    pub(super) fn refuse(&mut self, refusal: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        self.refused = true;
        self.flush(emitter)?;
        let part = self.ensure(Kind::Refusal, emitter)?;
        emitter.delta(self.index, part, PartDelta::Text { text: refusal.into_owned() })
    }

    /// Keeps the provider's record for the way back; its text is the thinking where no plain field has it.
    fn reasoning_details(
        &mut self,
        raw: &str,
        with_text: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let details = reasoning_details::read(raw);
        if !details.is_empty() {
            self.flush(emitter)?;
        }
        for detail in details {
            if with_text && let Some(text) = reasoning_details::entry_text(&detail) {
                self.think(text, emitter)?;
            }
            self.ensure(Kind::Thinking, emitter)?;
            emitter.charge(size_of::<Value>() + detail.weight())?;
            reasoning_details::merge(&mut self.details, detail);
        }
        Ok(())
    }

    fn tool_call(
        &mut self,
        call: &mut WireToolCall<'_>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let function = call.function.0.take();
        let custom = call.custom.0.take();
        let kind = call.kind.non_empty().filter(|kind| !matches!(*kind, "function" | "custom"));
        if function.is_none() && custom.is_none() {
            // In a stream the function may still follow.
            let opens = kind.is_some() && (!call.rest.is_empty() || step.mode == Mode::Whole);
            if opens || self.unknown_calls.has(call) {
                self.interrupt(emitter)?;
                let (index, made_up) = (self.index, step.made_up);
                let made_up = |at| made_up.call(index, usize::MAX - at);
                return self.unknown_calls.add(call, index, emitter, made_up);
            }
        }
        let mut state = Map::new();
        if let Some(extra) = call.extra_content.and_then(|raw| nesting::read(raw.get()).ok()) {
            state.insert("extra_content".to_owned(), extra);
        }
        if custom.is_some() {
            state.insert("type".to_owned(), Value::from("custom"));
        } else if let Some(kind) = kind {
            // Moonshot's `builtin_function` is sent back with its own type.
            state.insert(WIRE_TYPE.to_owned(), Value::from(kind));
        }
        let is_custom = custom.is_some();
        let (function, custom) = (function.unwrap_or_default(), custom.unwrap_or_default());
        let piece = CallPiece {
            id: call.id.0.as_deref(),
            index: call.index.0,
            name: function.name.non_empty().or(custom.name.non_empty()),
            arguments: function.arguments.0.as_deref().or(custom.input.0.as_deref()),
            is_custom,
        };
        let state = (!state.is_empty()).then_some(Value::Object(state));
        self.call_piece(&piece, state, step, emitter)
    }

    fn call_piece(
        &mut self,
        piece: &CallPiece<'_>,
        state: Option<Value>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let names_nothing = piece.name.is_none_or(str::is_empty)
            && piece.id.is_none_or(str::is_empty)
            && piece.arguments.is_none_or(str::is_empty);
        if names_nothing && self.calls.is_empty() {
            return Ok(());
        }
        self.interrupt(emitter)?;
        let at = self.calls.place(piece, step.batch, step.mode == Mode::Whole);
        if let Some(state) = state {
            self.calls.set_state(at, state);
        }
        let (index, made_up) = (self.index, step.made_up);
        let arguments = piece.arguments.unwrap_or_default();
        self.calls.grow(at, arguments, index, emitter, |at| made_up.call(index, at))
    }

    fn speak(
        &mut self,
        audio: WireAudio<'_>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(id) = audio.id.non_empty() {
            self.audio.id = Some(id.to_owned());
        }
        self.audio.expires_at = audio.expires_at.0.or(self.audio.expires_at);
        let (data, transcript) = (audio.data.into_non_empty(), audio.transcript.into_non_empty());
        if data.is_none() && transcript.is_none() {
            return Ok(());
        }
        let part = match self.active {
            Some((Kind::Audio, part)) => part,
            _ => {
                self.flush(emitter)?;
                let mime_type = format!("audio/{}", step.audio_format);
                self.open(Kind::Audio, PartStart::Audio { mime_type }, emitter)?
            }
        };
        if let Some(data) = data {
            let data = self.audio.sound.push(data);
            emitter.delta(self.index, part, PartDelta::Audio { data })?;
        }
        if let Some(transcript) = transcript {
            let delta = PartDelta::AudioTranscript { transcript: transcript.into_owned() };
            emitter.delta(self.index, part, delta)?;
        }
        Ok(())
    }
}

fn owned(piece: Piece<'_>) -> Piece<'static> {
    match piece {
        Piece::Text(text) => Piece::Text(Cow::Owned(text.into_owned())),
        Piece::Thinking(text) => Piece::Thinking(Cow::Owned(text.into_owned())),
    }
}

/// Returns the opaque state of a whole message, which is sent back with its text: Google's OpenAI endpoint signs messages
/// without calls.
fn message_state(delta: &Delta<'_>) -> Option<Value> {
    let fields =
        [("extra_content", delta.extra_content), ("thought_signature", delta.thought_signature)];
    let mut state = Map::new();
    for (name, raw) in fields {
        if let Some(value) = raw.and_then(|raw| nesting::read(raw.get()).ok()) {
            state.insert(name.to_owned(), value);
        }
    }
    (!state.is_empty()).then_some(Value::Object(state))
}
