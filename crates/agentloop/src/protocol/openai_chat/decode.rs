//! Chunks → events: one state machine for streams and whole bodies.

use std::cell::OnceCell;

use serde_json::{Map, Value};

use super::growing::{ChoiceState, MadeUpIds, Step};
use super::repeat::Added;
use super::usage;
use super::wire::{Chunk, ChunkChoice};
use crate::chat::{Warning, WarningKind};
use crate::error::Result;
use crate::nesting;
use crate::protocol::openai::logprobs;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter};
use crate::provider::ThinkTags;
use crate::provider::quirks::Fingerprint;

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) choices: Vec<ChoiceState>,
    /// How many chunks have been read.
    pub(super) chunks: u64,
    /// From the model's name, once that is known.
    think_tags: Option<ThinkTags>,
    pub(super) metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    pub(super) rest: Kept,
    pub(super) usage_rest: Kept,
    pub(super) corner_rest: Kept,
    /// The sources of the complete response. Perplexity repeats them on every chunk, and the last list counts (recording
    /// perplexity-stream-citations-search-results-5324db2a, 2026).
    pub(super) citations: String,
    pub(super) search_results: String,
    /// The last ones that were kept.
    fingerprint: String,
    tier: String,
    id: String,
    /// The hash of the id, once it is needed.
    id_hash: OnceCell<u64>,
    /// What the last chunk added, if that was nothing but text.
    pub(super) added: Option<Added>,
}

/// Whether a chunk is a step of a stream or all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Stream,
    Whole,
}

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        let think_tags = context.target.as_ref().map(|target| target.traits().think_tags);
        Self {
            context,
            choices: Vec::new(),
            chunks: 0,
            think_tags,
            metadata: Map::new(),
            rest: Kept::default(),
            usage_rest: Kept::default(),
            corner_rest: Kept::default(),
            citations: String::new(),
            search_results: String::new(),
            fingerprint: String::new(),
            tier: String::new(),
            id: String::new(),
            id_hash: OnceCell::new(),
            added: None,
        }
    }

    pub(super) fn chunk(
        &mut self,
        chunk: &mut Chunk<'_>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.chunks += 1;
        if self.think_tags.is_none()
            && let Some(model) = chunk.model.non_empty()
        {
            self.think_tags = Some(self.context.provider.ruled_traits(model).think_tags);
        }
        if !emitter.is_started() {
            // Azure starts with a chunk that has only `prompt_filter_results` and no id (recording
            // azure-stream-text-fcd62e6f, 2026). The message starts with the next one.
            let silent = chunk.choices.is_empty() && chunk.id.non_empty().is_none();
            if mode == Mode::Whole || !silent {
                let id = chunk.id.non_empty().unwrap_or_default();
                if mode == Mode::Stream {
                    id.clone_into(&mut self.id);
                }
                let asked = self.context.model();
                let model = chunk.model.non_empty().unwrap_or(asked);
                emitter.start(id, model, chunk.created.0.filter(|at| *at > 0));
            }
        }
        self.remember(chunk, mode, emitter)?;
        // A complete body has its id at hand, a stream had it in its first chunk.
        let id = std::mem::take(&mut self.id);
        let known = match mode {
            Mode::Whole => chunk.id.non_empty().unwrap_or_default(),
            Mode::Stream => &id,
        };
        let read = chunk
            .choices
            .iter_mut()
            .try_for_each(|choice| self.choice(choice, known, mode, emitter));
        self.id = id;
        read
    }

    /// Keeps the fields beside the choices.
    fn remember(&mut self, chunk: &Chunk<'_>, mode: Mode, emitter: &mut Emitter) -> Result<()> {
        let quirks = &self.context.provider.quirks;
        // Moonshot reports the usage inside the choice.
        let inside = || chunk.choices.iter().find_map(|choice| choice.usage.0.as_ref());
        if let Some(wire) = chunk.usage.0.as_ref().or_else(inside) {
            wire.keep_rest(&mut self.usage_rest);
            if let Some((usage, cost)) = usage::of(wire, quirks) {
                emitter.usage(usage, cost);
            }
        }
        if let Some(corner) = &chunk.x_groq.0 {
            let kept = &mut self.usage_rest;
            let reported = corner.usage.and_then(|raw| usage::read(raw.get(), quirks, kept));
            if let Some((usage, cost)) = reported {
                emitter.usage(usage, cost);
            }
            self.corner_rest.keep(&corner.rest);
        }
        if !chunk.rest.is_empty() {
            self.rest.keep(&chunk.rest);
        }
        if let Some(citations) = chunk.citations {
            keep(&mut self.citations, citations.get(), emitter)?;
        }
        if let Some(results) = chunk.search_results {
            keep(&mut self.search_results, results.get(), emitter)?;
        }
        // Providers repeat these on every chunk.
        if quirks.fingerprint == Fingerprint::Kept
            && let Some(text) = chunk.system_fingerprint.non_empty()
            && text != self.fingerprint
        {
            if mode == Mode::Stream {
                text.clone_into(&mut self.fingerprint);
            }
            emitter.keep(&mut self.metadata, "systemFingerprint", Value::from(text))?;
        }
        if let Some(text) = chunk.service_tier.non_empty().filter(|text| *text != self.tier) {
            if mode == Mode::Stream {
                text.clone_into(&mut self.tier);
            }
            emitter.keep(&mut self.metadata, "serviceTier", Value::from(text))?;
        }
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
            // Perplexity sends empty lists (recording perplexity-json-image-in-text-a56daeb7, 2026).
            if let Some(raw) = raw.filter(|raw| raw.get() != "[]") {
                emitter.keep_raw(&mut self.metadata, name, raw.get())?;
            }
        }
        if let Some(raw) = chunk.warnings
            && let Ok(Value::Array(warnings)) = nesting::read(raw.get())
        {
            for warning in warnings {
                let text = warning.get("message").unwrap_or(&warning);
                let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                let mut warning = Warning::about_response(text);
                warning.kind = WarningKind::Provider;
                emitter.warn(warning);
            }
        }
        Ok(())
    }

    fn choice(
        &mut self,
        choice: &mut ChunkChoice<'_>,
        id: &str,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let index =
            choice.index.unsigned().and_then(|index| u32::try_from(index).ok()).unwrap_or(0);
        emitter.ensure_choice(index)?;
        let tags = self.think_tags.unwrap_or_default();
        let made_up = MadeUpIds { id, hash: &self.id_hash };
        let at = self.choices.partition_point(|state| state.index < index);
        if self.choices.get(at).is_none_or(|state| state.index != index) {
            if self.choices.is_empty() {
                // Nearly all responses have one choice.
                self.choices.reserve_exact(1);
            }
            emitter.charge(size_of::<ChoiceState>())?;
            self.choices.insert(at, ChoiceState::new(index, tags));
        }
        let state = &mut self.choices[at];
        if let Some(reason) = choice.native_finish_reason.non_empty() {
            emitter.keep(&mut state.metadata, "nativeFinishReason", Value::from(reason))?;
        }
        // A chunk whose text was not checked yet has an empty object.
        if let Some(raw) = choice.content_filter_results.filter(|raw| raw.get() != "{}") {
            emitter.keep_raw(&mut state.metadata, "contentFilterResults", raw.get())?;
        }
        // A stream's chunk may repeat the whole message beside its delta; a body may hold an empty delta
        // beside its message.
        let (first, second) = match mode {
            Mode::Stream => (&mut choice.delta.0, &mut choice.message.0),
            Mode::Whole => (&mut choice.message.0, &mut choice.delta.0),
        };
        if !choice.rest.is_empty() {
            state.rest.keep(&choice.rest);
        }
        if let Some(delta) = first.as_mut().or(second.as_mut()) {
            if !delta.rest.is_empty() {
                state.rest.keep(&delta.rest);
            }
            let audio_format = self.context.audio_format.as_deref().unwrap_or("wav");
            let step = Step { mode, batch: self.chunks, made_up, audio_format };
            state.delta(delta, &step, emitter)?;
        }
        if let Some(logprobs) = choice.logprobs {
            let top = choice.top_logprobs.map(|raw| raw.get());
            emitter.logprobs(index, logprobs::read(logprobs.get(), top));
        }
        if let Some(reason) = choice.finish_reason.non_empty() {
            state.finish = Some(reason.to_owned());
        }
        Ok(())
    }
}

/// Stores `text` unless it is stored already: repeated lists cost a comparison only.
fn keep(place: &mut String, text: &str, emitter: &mut Emitter) -> Result<()> {
    if text != "[]" && place != text {
        emitter.charge(text.len())?;
        emitter.release(place.len());
        text.clone_into(place);
    }
    Ok(())
}
