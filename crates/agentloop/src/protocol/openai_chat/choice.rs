//! One choice while it grows: deltas → parts.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::hash::{BuildHasher as _, RandomState};
use std::mem::{size_of, take};

use serde_json::{Map, Value, json};

use super::annotations;
use super::decode::Mode;
use super::executed::ExecutedTools;
use super::stream::finish_reason;
use super::wire::{Content, ContentChunk, Delta, WireAudio, WireToolCall};
use crate::error::Result;
use crate::event::{PartDelta, PartStart};
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::base64_join::Base64Joiner;
use crate::protocol::rest::Kept;
use crate::protocol::think_tags::{Piece, ThinkSplitter};
use crate::protocol::tool_calls::{CallPiece, ToolCalls};
use crate::provider::ThinkTags;
use crate::response::{FinishReason, ProviderState, ResponsePart, Weight as _};

/// What is known of one choice while it grows.
#[derive(Debug)]
pub(super) struct ChoiceState {
    pub(super) index: u32,
    /// The part that grows now; tool calls grow beside it.
    active: Option<(Kind, u32)>,
    pub(super) calls: ToolCalls,
    pub(super) finish: Option<String>,
    pub(super) refused: bool,
    splitter: Option<ThinkSplitter>,
    /// The provider's own record of its reasoning, for the way back.
    details: Vec<Value>,
    executed: ExecutedTools,
    audio: AudioEnd,
    /// Fields that belong to this choice alone.
    pub(super) metadata: Map<String, Value>,
    /// Fields of it that the protocol does not name.
    pub(super) rest: Kept,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Refusal,
    Thinking,
    Audio,
}

/// What is known of spoken output beside its sound.
#[derive(Debug, Default)]
struct AudioEnd {
    id: Option<String>,
    expires_at: Option<i64>,
    sound: Base64Joiner,
}

/// What a choice needs to know of the chunk that it reads.
pub(super) struct Step<'a> {
    pub(super) mode: Mode,
    pub(super) batch: u64,
    pub(super) made_up: MadeUpIds<'a>,
    pub(super) audio_format: &'a str,
}

/// Ids for calls to which the host gave none: the same for the same answer, and of no other one.
#[derive(Clone, Copy)]
pub(super) struct MadeUpIds<'a> {
    pub(super) id: &'a str,
    pub(super) salt: &'a RandomState,
    pub(super) hash: &'a OnceCell<u64>,
}

impl MadeUpIds<'_> {
    fn call(self, choice: u32, at: usize) -> String {
        // FNV-1a, because it is short and the same everywhere; a response without an id gets a random one.
        let hash = self.hash.get_or_init(|| match self.id {
            "" => self.salt.hash_one(0u8),
            id => id.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            }),
        });
        format!("call_{hash:016x}_{choice}_{at}")
    }
}

impl ChoiceState {
    pub(super) fn new(index: u32, tags: ThinkTags) -> Self {
        Self {
            index,
            active: None,
            calls: ToolCalls::default(),
            finish: None,
            refused: false,
            splitter: ThinkSplitter::new(tags),
            details: Vec::new(),
            executed: ExecutedTools::default(),
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
            self.think(thinking.clone().into_owned(), emitter)?;
        }
        if let Some(details) = delta.reasoning_details {
            self.reasoning_details(details.get(), thinking.is_none(), emitter)?;
        }
        if let Some(executed) = delta.executed_tools {
            // The arguments of those that run are kept until their output comes.
            emitter.charge(executed.get().len())?;
            let parts = self.executed.read(executed.get());
            if !parts.is_empty() {
                self.close_active(emitter)?;
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
        }
        if let Some(state) = message_state(delta) {
            let part = self.ensure(Kind::Text, emitter)?;
            let provider_state = ProviderState::new(emitter.provider(), state);
            emitter.delta(self.index, part, PartDelta::ProviderState { provider_state })?;
        }
        if let Some(annotations) = delta.annotations.filter(|raw| raw.get() != "[]") {
            let citations = annotations::citations(annotations.get(), emitter.provider());
            for citation in citations {
                let part = self.ensure(Kind::Text, emitter)?;
                emitter.delta(self.index, part, PartDelta::Citation { citation })?;
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
        if let Some(images) = delta.images {
            for image in annotations::images(images.get()) {
                self.close_active(emitter)?;
                emitter.whole(self.index, ResponsePart::Image(image))?;
            }
        }
        Ok(())
    }

    /// The open part of that kind; opens one, and closes another, if need be.
    fn ensure(&mut self, kind: Kind, emitter: &mut Emitter) -> Result<u32> {
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
        Ok(part)
    }

    /// The text part that is open now, for what comes late.
    pub(super) fn open_text(&self) -> Option<u32> {
        self.active.filter(|(kind, _)| *kind == Kind::Text).map(|(_, part)| part)
    }

    pub(super) fn close_active(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some((kind, part)) = self.active.take() else {
            return Ok(());
        };
        let state = match kind {
            Kind::Thinking if !self.details.is_empty() => {
                Some(json!({ "reasoning_details": take(&mut self.details) }))
            }
            Kind::Audio => self.audio.id.take().map(|id| json!({ "id": id })),
            _ => None,
        };
        if let Some(data) = self.audio.sound.finish().filter(|_| kind == Kind::Audio) {
            emitter.delta(self.index, part, PartDelta::Audio { data })?;
        }
        if let Some(state) = state {
            let provider_state = ProviderState::new(emitter.provider(), state);
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
        self.calls.close(self.index, reason == Some(FinishReason::Length), emitter)
    }

    /// Hands on the text that was held back because it could have become a tag.
    pub(super) fn flush(&mut self, emitter: &mut Emitter) -> Result<()> {
        if let Some(mut splitter) = self.splitter.take() {
            let mut pieces = Vec::new();
            splitter.finish(|piece| pieces.push(owned(piece)));
            self.pieces(pieces, emitter)?;
        }
        Ok(())
    }

    fn think(&mut self, thinking: String, emitter: &mut Emitter) -> Result<()> {
        let part = self.ensure(Kind::Thinking, emitter)?;
        emitter.delta(self.index, part, PartDelta::Thinking { thinking })
    }

    fn text(&mut self, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
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
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.plain_text(text.into_owned(), emitter)?,
                Piece::Thinking(text) => self.think(text.into_owned(), emitter)?,
            }
        }
        Ok(())
    }

    fn plain_text(&mut self, text: String, emitter: &mut Emitter) -> Result<()> {
        let part = self.ensure(Kind::Text, emitter)?;
        emitter.delta(self.index, part, PartDelta::Text { text })
    }

    fn refuse(&mut self, refusal: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        self.refused = true;
        let part = self.ensure(Kind::Refusal, emitter)?;
        emitter.delta(self.index, part, PartDelta::Text { text: refusal.into_owned() })
    }

    fn content_chunk(&mut self, chunk: ContentChunk<'_>, emitter: &mut Emitter) -> Result<()> {
        for thinking in chunk.thinking.0 {
            if !thinking.is_empty() {
                self.think(thinking.into_owned(), emitter)?;
            }
        }
        if let Some(signature) = chunk.signature.into_non_empty() {
            let part = self.ensure(Kind::Thinking, emitter)?;
            let signature = signature.into_owned();
            emitter.delta(self.index, part, PartDelta::ThinkingSignature { signature })?;
        }
        if let Some(text) = chunk.text.into_non_empty() {
            self.text(text, emitter)?;
        }
        if let Some(refusal) = chunk.refusal.into_non_empty() {
            self.refuse(refusal, emitter)?;
        }
        if let Some(image) = chunk.image_url.and_then(|raw| annotations::image(raw.get())) {
            self.close_active(emitter)?;
            emitter.whole(self.index, ResponsePart::Image(image))?;
        }
        Ok(())
    }

    /// Keeps the provider's record for the way back; its text is the thinking where no plain field has it.
    fn reasoning_details(
        &mut self,
        raw: &str,
        with_text: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        for detail in annotations::reasoning_details(raw) {
            if with_text && let Some(text) = annotations::detail_text(&detail) {
                self.think(text, emitter)?;
            }
            self.ensure(Kind::Thinking, emitter)?;
            emitter.charge(size_of::<Value>() + detail.weight())?;
            annotations::merge_detail(&mut self.details, detail);
        }
        Ok(())
    }

    fn tool_call(
        &mut self,
        call: &mut WireToolCall<'_>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let function = call.function.0.take().unwrap_or_default();
        let custom = call.custom.0.take();
        let mut state = call.extra_content.and_then(|raw| {
            nesting::read(raw.get()).ok().map(|raw| json!({ "extra_content": raw }))
        });
        if custom.is_some() && state.is_none() {
            state = Some(json!({ "type": "custom" }));
        }
        let custom = custom.unwrap_or_default();
        let piece = CallPiece {
            id: call.id.0.as_deref(),
            index: call.index.0,
            name: function.name.non_empty().or(custom.name.non_empty()),
            arguments: function.arguments.0.as_deref().or(custom.input.0.as_deref()),
        };
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
        self.close_active(emitter)?;
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

/// The opaque state of a whole message, which goes back with its text: Google's OpenAI endpoint signs messages without calls.
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
