//! Chunks → events: one state machine for streams and whole bodies.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::growing::{CallIds, CandidateState};
use super::repeat::Added;
use super::usage::TokenCounts;
use super::wire::{Candidate, Chunk};
use crate::calendar;
use crate::chat::{Logprobs, TokenLogprob};
use crate::error::Result;
use crate::nesting;
use crate::protocol::rest::Kept;
use crate::protocol::{DecodeContext, Emitter, ReportedCost};

/// Reads one response.
#[derive(Debug)]
pub(crate) struct Decoder {
    pub(super) context: DecodeContext,
    pub(super) candidates: Vec<CandidateState>,
    pub(super) metadata: Map<String, Value>,
    /// Fields that the protocol does not name, and those of its usage.
    pub(super) rest: Kept,
    pub(super) usage_rest: Kept,
    /// Why the prompt was refused.
    pub(super) blocked: Option<String>,
    ids: CallIds,
    /// The last token counts.
    pub(super) tokens: TokenCounts,
    /// What the last chunk added, if that was nothing but text.
    pub(super) added: Option<Added>,
}

/// Whether a chunk is a step of a stream or all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Stream,
    Whole,
}

/// The words that some clients of the API write as numbers.
const FINISH_REASONS: [&str; 12] = [
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "MALFORMED_FUNCTION_CALL",
    "IMAGE_SAFETY",
];

impl Decoder {
    pub(crate) fn new(context: DecodeContext) -> Self {
        Self {
            context,
            candidates: Vec::new(),
            metadata: Map::new(),
            rest: Kept::default(),
            usage_rest: Kept::default(),
            blocked: None,
            ids: CallIds::default(),
            tokens: TokenCounts::default(),
            added: None,
        }
    }

    pub(super) fn chunk(
        &mut self,
        chunk: &mut Chunk<'_>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let id = chunk.response_id.non_empty().unwrap_or_default();
        if emitter.is_started() {
            self.ids.learn(id);
        } else {
            self.ids.is_given = !id.is_empty();
            let asked = self.context.model();
            let model = chunk.model_version.non_empty().unwrap_or(asked);
            let created = chunk.create_time.non_empty().and_then(calendar::read_rfc3339);
            emitter.start(id, model, created);
        }
        if let Some(tokens) = &chunk.usage_metadata.0 {
            match mode {
                // They come with every chunk, and the last ones count.
                Mode::Stream => self.tokens.keep(tokens),
                Mode::Whole => {
                    if let Some(usage) = tokens.usage() {
                        emitter.usage(usage, ReportedCost::Absent);
                    }
                }
            }
            tokens.keep_words(&mut self.metadata);
            self.usage_rest.keep(&tokens.rest);
        }
        if let Some(raw) = chunk.prompt_feedback {
            let feedback = nesting::read(raw.get()).unwrap_or_default();
            match feedback.get("blockReason") {
                Some(Value::String(reason)) if !reason.is_empty() => {
                    self.blocked = Some(reason.clone());
                }
                Some(Value::Number(number)) => self.blocked = Some(number.to_string()),
                _ => {}
            }
        }
        self.rest.keep(&chunk.rest);
        keep(&mut self.metadata, "promptFeedback", chunk.prompt_feedback, emitter)?;
        keep(&mut self.metadata, "modelStatus", chunk.model_status, emitter)?;
        keep(&mut self.metadata, "continuationToken", chunk.continuation_token, emitter)?;
        for candidate in chunk.candidates.iter_mut() {
            self.candidate(candidate, mode, emitter)?;
        }
        Ok(())
    }

    fn candidate(
        &mut self,
        candidate: &mut Candidate<'_>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let index = candidate.index.unsigned().and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
        emitter.ensure_choice(index)?;
        let at = self.candidates.partition_point(|state| state.index < index);
        if self.candidates.get(at).is_none_or(|state| state.index != index) {
            if self.candidates.is_empty() {
                // Nearly all responses have one candidate.
                self.candidates.reserve_exact(1);
            }
            emitter.charge(size_of::<CandidateState>())?;
            self.candidates.insert(at, CandidateState::new(index));
        }
        let state = &mut self.candidates[at];
        state.rest.keep(&candidate.rest);
        let fields = [
            ("safetyRatings", candidate.safety_ratings),
            ("urlContextMetadata", candidate.url_context_metadata),
            ("finishMessage", candidate.finish_message),
            ("avgLogprobs", candidate.avg_logprobs),
        ];
        for (name, raw) in fields {
            keep(&mut state.metadata, name, raw, emitter)?;
        }
        if let Some(content) = candidate.content.0.take() {
            for part in content.parts {
                state.part(part, mode, &mut self.ids, emitter)?;
            }
        }
        if let Some(raw) = candidate.grounding_metadata {
            state.grounding.push(raw.get(), emitter)?;
        }
        if let Some(raw) = candidate.citation_metadata {
            state.grounding.push_sources(raw.get(), emitter)?;
        }
        if let Some(raw) = candidate.logprobs_result {
            emitter.logprobs(index, logprobs(raw.get()));
        }
        if let Some(reason) = candidate.finish_reason.and_then(|raw| finish_word(raw.get())) {
            state.finish = Some(reason);
        }
        Ok(())
    }
}

/// Keeps a field, unless it is empty.
fn keep(
    fields: &mut Map<String, Value>,
    name: &str,
    raw: Option<&RawValue>,
    emitter: &mut Emitter,
) -> Result<()> {
    match raw.filter(|raw| !matches!(raw.get(), "[]" | "{}" | "\"\"")) {
        Some(raw) => emitter.keep_raw(fields, name, raw.get()),
        None => Ok(()),
    }
}

fn finish_word(raw: &str) -> Option<String> {
    // Nearly always a word of letters, which needs no reader.
    let plain = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    if let Some(word) = plain.filter(|word| !word.is_empty() && !word.contains('\\')) {
        return Some(word.to_owned());
    }
    match nesting::read(raw).ok()? {
        Value::String(word) if !word.is_empty() => Some(word),
        Value::Number(number) => {
            let word = number.as_u64().and_then(|at| FINISH_REASONS.get(usize::try_from(at).ok()?));
            Some(word.map_or_else(|| number.to_string(), |word| (*word).to_owned()))
        }
        _ => None,
    }
}

/// `chosenCandidates`, each with its alternatives under the same number of `topCandidates`.
fn logprobs(raw: &str) -> Logprobs {
    let value = nesting::read(raw).unwrap_or_default();
    fn list(value: Option<&Value>) -> &[Value] {
        value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    let token = |value: &Value| TokenLogprob {
        token: value.get("token").and_then(Value::as_str).unwrap_or_default().to_owned(),
        logprob: value.get("logProbability").and_then(Value::as_f64),
        ..TokenLogprob::default()
    };
    let tops = list(value.get("topCandidates"));
    let content = list(value.get("chosenCandidates"))
        .iter()
        .enumerate()
        .map(|(at, chosen)| TokenLogprob {
            top_logprobs: list(tops.get(at).and_then(|top| top.get("candidates")))
                .iter()
                .map(token)
                .collect(),
            ..token(chosen)
        })
        .collect();
    Logprobs { content, ..Logprobs::default() }
}
