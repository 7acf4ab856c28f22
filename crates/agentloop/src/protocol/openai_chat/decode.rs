//! Chunks → events: one state machine for streams and whole bodies.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::executed::ExecutedTools;
use super::wire::{Chunk, ChunkChoice, Content, ContentChunk, Delta, WireAudio, WireToolCall};
use super::{annotations, usage};
use crate::error::Result;
use crate::event::{PartDelta, PartStart};
use crate::protocol::think_tags::{Piece, ThinkSplitter};
use crate::protocol::tool_calls::{CallPiece, ToolCalls};
use crate::protocol::{DecodeContext, Emitter};
use crate::provider::ThinkTags;
use crate::provider::quirks::Fingerprint;
use crate::response::{ProviderState, ResponsePart, Warning};

/// Reads one answer.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) choices: Vec<ChoiceState>,
    /// How many chunks have been read.
    chunks: u64,
    /// From the model's name, once that is known.
    think_tags: Option<ThinkTags>,
    pub(super) metadata: Map<String, Value>,
    /// Sources for the whole answer, which some hosts repeat on every chunk: the last list counts.
    pub(super) citations: String,
    pub(super) search_results: String,
    id: String,
    /// For ids that the host should have made: unlike those of every other answer.
    salt: u64,
}

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
}

/// Whether a chunk is a step of a stream or all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Stream,
    Whole,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        let think_tags = context
            .model
            .as_deref()
            .map(|model| context.provider.model_traits(model).think_tags);
        Self {
            context,
            choices: Vec::new(),
            chunks: 0,
            think_tags,
            metadata: Map::new(),
            citations: String::new(),
            search_results: String::new(),
            id: String::new(),
            salt: std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 0u8),
        }
    }

    pub(super) fn chunk(
        &mut self,
        chunk: Chunk<'_>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.chunks += 1;
        if self.think_tags.is_none()
            && let Some(model) = chunk.model.non_empty()
        {
            self.think_tags = Some(self.context.provider.model_traits(model).think_tags);
        }
        if !emitter.is_started() {
            // Some hosts begin with a chunk that says nothing at all, not even its id: wait for the next.
            let silent = chunk.choices.is_empty() && chunk.id.non_empty().is_none();
            if mode == Mode::Whole || !silent {
                self.id = chunk.id.non_empty().unwrap_or_default().to_owned();
                let asked = self.context.model.as_deref().unwrap_or_default();
                let model = chunk.model.non_empty().unwrap_or(asked);
                emitter.start(&self.id, model, chunk.created.0.filter(|at| *at > 0));
            }
        }
        self.remember(&chunk, emitter);
        for choice in chunk.choices {
            self.choice(choice, mode, emitter)?;
        }
        Ok(())
    }

    /// Keeps what stands beside the choices.
    fn remember(&mut self, chunk: &Chunk<'_>, emitter: &mut Emitter) {
        let quirks = &self.context.provider.quirks;
        for raw in [
            chunk.usage,
            chunk.x_groq.0.as_ref().and_then(|more| more.usage),
        ] {
            if let Some((usage, cost)) = raw.and_then(|raw| usage::read(raw.get(), quirks)) {
                emitter.usage(usage, cost);
            }
        }
        if let Some(citations) = chunk.citations {
            keep(&mut self.citations, citations.get());
        }
        if let Some(results) = chunk.search_results {
            keep(&mut self.search_results, results.get());
        }
        if quirks.fingerprint == Fingerprint::Kept {
            self.keep_text("systemFingerprint", chunk.system_fingerprint.non_empty());
        }
        self.keep_text("serviceTier", chunk.service_tier.non_empty());
        let extras = [
            ("images", chunk.images),
            ("relatedQuestions", chunk.related_questions),
            ("videos", chunk.videos),
            ("moderation", chunk.moderation),
            ("promptFilterResults", chunk.prompt_filter_results),
            ("timings", chunk.timings),
            ("usageBreakdown", chunk.usage_breakdown),
            ("provider", chunk.provider),
        ];
        for (name, raw) in extras {
            self.keep_raw(name, raw);
        }
        if let Some(raw) = chunk.warnings
            && let Ok(Value::Array(warnings)) = serde_json::from_str(raw.get())
        {
            for warning in warnings {
                let text = warning.get("message").unwrap_or(&warning);
                let text = text
                    .as_str()
                    .map_or_else(|| text.to_string(), str::to_owned);
                let mut warning = Warning::about_response(text);
                warning.kind = crate::response::WarningKind::Provider;
                emitter.warn(warning);
            }
        }
    }

    fn keep_text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text
            && self.metadata.get(name).and_then(Value::as_str) != Some(text)
        {
            self.metadata
                .insert(name.to_owned(), Value::String(text.to_owned()));
        }
    }

    fn keep_raw(&mut self, name: &str, raw: Option<&RawValue>) {
        // An empty list says nothing; hosts send one on every chunk.
        if let Some(raw) = raw.filter(|raw| raw.get() != "[]")
            && let Ok(value) = serde_json::from_str(raw.get())
        {
            self.metadata.insert(name.to_owned(), value);
        }
    }

    fn choice(&mut self, choice: ChunkChoice<'_>, mode: Mode, emitter: &mut Emitter) -> Result<()> {
        let index = choice
            .index
            .unsigned()
            .and_then(|index| u32::try_from(index).ok())
            .unwrap_or(0);
        emitter.ensure_choice(index)?;
        self.keep_text(
            "nativeFinishReason",
            choice.native_finish_reason.non_empty(),
        );
        if let Some(raw) = choice
            .content_filter_results
            .filter(|raw| raw.get() != "{}")
        {
            self.keep_raw("contentFilterResults", Some(raw));
        }
        let tags = self.think_tags.unwrap_or_default();
        let made_up = MadeUpIds {
            id: &self.id,
            salt: self.salt,
        };
        let at = self.choices.partition_point(|state| state.index < index);
        if self
            .choices
            .get(at)
            .is_none_or(|state| state.index != index)
        {
            self.choices.insert(at, ChoiceState::new(index, tags));
        }
        let state = &mut self.choices[at];
        // A stream's chunk may repeat the whole message beside its delta; a body may hold an empty delta
        // beside its message.
        let (first, second) = match mode {
            Mode::Stream => (choice.delta.0, choice.message.0),
            Mode::Whole => (choice.message.0, choice.delta.0),
        };
        if let Some(delta) = first.or(second) {
            let audio_format = self.context.audio_format.as_deref().unwrap_or("wav");
            let step = Step {
                mode,
                batch: self.chunks,
                made_up,
                audio_format,
            };
            state.delta(delta, &step, emitter)?;
        }
        if let Some(logprobs) = choice.logprobs {
            emitter.logprobs(index, annotations::logprobs(logprobs.get()));
        }
        if let Some(reason) = choice.finish_reason.non_empty() {
            state.finish = Some(reason.to_owned());
        }
        Ok(())
    }
}

/// Stores `text` unless it is stored already: repeated lists cost a comparison only.
fn keep(place: &mut String, text: &str) {
    if text != "[]" && place != text {
        text.clone_into(place);
    }
}

/// What a choice needs to know of the chunk that it reads.
struct Step<'a> {
    mode: Mode,
    batch: u64,
    made_up: MadeUpIds<'a>,
    audio_format: &'a str,
}

/// Ids for calls to which the host gave none: the same for the same answer, and of no other one.
#[derive(Clone, Copy)]
struct MadeUpIds<'a> {
    id: &'a str,
    salt: u64,
}

impl MadeUpIds<'_> {
    fn call(self, choice: u32, at: usize) -> String {
        // FNV-1a, because it is short and the same everywhere; an answer without an id gets a random one.
        let mut hash = if self.id.is_empty() {
            self.salt
        } else {
            0xcbf2_9ce4_8422_2325
        };
        for byte in self.id.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("call_{hash:016x}_{choice}_{at}")
    }
}

impl ChoiceState {
    fn new(index: u32, tags: ThinkTags) -> Self {
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
        }
    }

    fn delta(&mut self, delta: Delta<'_>, step: &Step<'_>, emitter: &mut Emitter) -> Result<()> {
        let thinking = delta
            .reasoning_content
            .into_non_empty()
            .or(delta.reasoning.into_non_empty());
        if let Some(thinking) = &thinking {
            self.think(thinking.clone().into_owned(), emitter)?;
        }
        if let Some(details) = delta.reasoning_details {
            self.reasoning_details(details.get(), thinking.is_none(), emitter)?;
        }
        if let Some(executed) = delta.executed_tools {
            let parts = self.executed.read(executed.get());
            if !parts.is_empty() {
                self.close_active(emitter)?;
            }
            for part in parts {
                emitter.whole(self.index, part)?;
            }
        }
        match delta.content {
            Content::None => {}
            Content::Text(text) => self.text(text, emitter)?,
            Content::Chunks(chunks) => {
                for chunk in chunks {
                    self.content_chunk(chunk, emitter)?;
                }
            }
        }
        if let Some(annotations) = delta.annotations {
            let citations = annotations::citations(annotations.get(), emitter.provider());
            for citation in citations {
                let part = self.ensure(Kind::Text, emitter)?;
                emitter.delta(self.index, part, PartDelta::Citation { citation })?;
            }
        }
        if let Some(refusal) = delta.refusal.into_non_empty() {
            self.refuse(refusal, emitter)?;
        }
        for call in delta.tool_calls {
            self.tool_call(call, step, emitter)?;
        }
        if let Some(function) = delta.function_call.0 {
            let piece = CallPiece {
                name: function.name.0.as_deref(),
                arguments: function.arguments.0.as_deref(),
                ..CallPiece::default()
            };
            self.call_piece(&piece, None, step, emitter)?;
        }
        if let Some(audio) = delta.audio.0 {
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
            Kind::Audio => PartStart::Audio {
                mime_type: "audio/wav".to_owned(),
            },
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
        self.active
            .filter(|(kind, _)| *kind == Kind::Text)
            .map(|(_, part)| part)
    }

    pub(super) fn close_active(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some((kind, part)) = self.active.take() else {
            return Ok(());
        };
        let state = match kind {
            Kind::Thinking if !self.details.is_empty() => {
                Some(json!({ "reasoning_details": std::mem::take(&mut self.details) }))
            }
            Kind::Audio => self.audio.id.take().map(|id| json!({ "id": id })),
            _ => None,
        };
        if let Some(state) = state {
            let provider_state = ProviderState::new(emitter.provider(), state);
            emitter.delta(
                self.index,
                part,
                PartDelta::ProviderState { provider_state },
            )?;
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
        self.calls.close(self.index, emitter)
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
        emitter.delta(
            self.index,
            part,
            PartDelta::Text {
                text: refusal.into_owned(),
            },
        )
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
        if let Some(image) = chunk
            .image_url
            .and_then(|raw| annotations::image(raw.get()))
        {
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
            annotations::merge_detail(&mut self.details, detail);
        }
        Ok(())
    }

    fn tool_call(
        &mut self,
        call: WireToolCall<'_>,
        step: &Step<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let function = call.function.0.unwrap_or_default();
        let custom = call.custom.0;
        let mut state = call.extra_content.and_then(|raw| {
            serde_json::from_str::<Value>(raw.get())
                .ok()
                .map(|raw| json!({ "extra_content": raw }))
        });
        if custom.is_some() && state.is_none() {
            state = Some(json!({ "type": "custom" }));
        }
        let custom = custom.unwrap_or_default();
        let piece = CallPiece {
            id: call.id.0.as_deref(),
            index: call.index.0,
            name: function.name.non_empty().or(custom.name.non_empty()),
            arguments: function
                .arguments
                .0
                .as_deref()
                .or(custom.input.0.as_deref()),
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
        let at = self
            .calls
            .place(piece, step.batch, step.mode == Mode::Whole);
        if let Some(state) = state {
            self.calls.set_state(at, state);
        }
        let (index, made_up) = (self.index, step.made_up);
        let arguments = piece.arguments.unwrap_or_default();
        self.calls
            .grow(at, arguments, index, emitter, |at| made_up.call(index, at))
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
        let (data, transcript) = (
            audio.data.into_non_empty(),
            audio.transcript.into_non_empty(),
        );
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
            let delta = PartDelta::Audio {
                data: data.into_owned(),
            };
            emitter.delta(self.index, part, delta)?;
        }
        if let Some(transcript) = transcript {
            let delta = PartDelta::AudioTranscript {
                transcript: transcript.into_owned(),
            };
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
