//! Folds events into a response.

use std::fmt;

use serde_json::{Map, Value};

use super::progress::{Progress, Progresses};
use super::{
    AudioPart, ChatResponse, Choice, Citation, CodeExecutionPart, CodeResultPart, Cost, FilePart,
    FinishReason, ImagePart, Logprobs, OpaquePart, RawResponse, RedactedThinkingPart, ResponsePart,
    ServerToolCallPart, ServerToolResultPart, TextPart, ThinkingPart, ToolCallPart, Usage, Warning,
};
use crate::chat::{ChatStreamEvent, OutputStrategy, PartDelta, PartStart};
use crate::nesting;

/// Builds a [`ChatResponse`] from events. Every response is built this way.
///
/// It checks the grammar of [`ChatStreamEvent`]: a part that is opened twice, or extended when it is not open, or a
/// second `message.start` is an error.
///
/// ```
/// use agentloop::{ChatStreamEvent, Fold};
///
/// let lines = [
///     r#"{"type":"message.start","id":"a1","model":"m","provider":"p"}"#,
///     r#"{"type":"content.start","choiceIndex":0,"partIndex":0,"part":{"type":"text"}}"#,
///     r#"{"type":"content.delta","choiceIndex":0,"partIndex":0,"delta":{"type":"text","text":"Hi"}}"#,
///     r#"{"type":"content.done","choiceIndex":0,"partIndex":0,"part":{"type":"text","text":"Hi"}}"#,
///     r#"{"type":"message.delta","choiceIndex":0,"finishReason":"stop"}"#,
/// ];
/// let mut fold = Fold::new();
/// for line in lines {
///     fold.push(&serde_json::from_str(line)?)?;
/// }
/// assert_eq!(fold.finish()?.text(), "Hi");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Fold {
    response: ChatResponse,
    /// For each choice of `response.choices`.
    progress: Progresses,
    started: bool,
    done: bool,
}

/// The error of events that do not follow the grammar.
///
/// ```
/// use agentloop::{ChatStreamEvent, Fold};
///
/// let delta: ChatStreamEvent = serde_json::from_str(
///     r#"{"type":"content.delta","choiceIndex":0,"partIndex":0,"delta":{"type":"text","text":"Hi"}}"#,
/// )?;
/// assert!(Fold::new().push(&delta).is_err(), "no message has started");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldError(String);

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events out of order: {}", self.0)
    }
}

impl std::error::Error for FoldError {}

fn broken<T>(what: impl Into<String>) -> Result<T, FoldError> {
    Err(FoldError(what.into()))
}

impl Fold {
    /// Creates a fold without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next event.
    ///
    /// # Errors
    ///
    /// Fails if the event is not allowed here.
    pub fn push(&mut self, event: &ChatStreamEvent) -> Result<(), FoldError> {
        if self.done {
            return broken("an event after the end");
        }
        match event {
            ChatStreamEvent::MessageStart {
                id,
                model,
                provider,
                created,
                request_id,
                output_strategy,
                cached,
            } => {
                let request_id = request_id.clone();
                self.response.cached = *cached;
                self.start(id, model, provider, *created, request_id, *output_strategy)
            }
            _ if !self.started => broken("the first event is not message.start"),
            ChatStreamEvent::ContentStart { choice_index, part_index, part } => {
                let next = self.choice(*choice_index).0.content.len();
                if next != *part_index as usize {
                    return broken(format!("part {part_index} is opened, but {next} is the next"));
                }
                self.open(*choice_index, part);
                Ok(())
            }
            ChatStreamEvent::ContentDelta { choice_index, part_index, delta } => {
                self.grow(*choice_index, *part_index, delta)
            }
            ChatStreamEvent::ContentDone { choice_index, part_index, part } => {
                // The closed part is authoritative: some kinds of parts have no deltas.
                *self.close(*choice_index, *part_index)? = part.clone();
                Ok(())
            }
            ChatStreamEvent::ContentCitation { choice_index, part_index, citation } => {
                self.cite(*choice_index, *part_index, citation.clone())
            }
            ChatStreamEvent::Logprobs { choice_index, logprobs } => {
                self.logprobs(*choice_index, logprobs.clone());
                Ok(())
            }
            ChatStreamEvent::MessageDelta { choice_index, finish_reason, raw_finish_reason } => {
                self.finish_choice(*choice_index, finish_reason.clone(), raw_finish_reason.clone());
                Ok(())
            }
            ChatStreamEvent::Warning { warning } => {
                self.warn(warning.clone());
                Ok(())
            }
            ChatStreamEvent::Metadata { choice_index, provider_metadata } => {
                match choice_index {
                    Some(index) => self.choice_metadata(*index, provider_metadata.clone()),
                    None => self.metadata(provider_metadata.clone()),
                }
                Ok(())
            }
            ChatStreamEvent::Usage { usage, cost } => {
                self.usage(usage.clone(), cost.clone());
                Ok(())
            }
            ChatStreamEvent::Raw { raw } => {
                self.raw(raw.clone());
                Ok(())
            }
            ChatStreamEvent::MessageDone { .. } | ChatStreamEvent::Error { .. } => {
                self.done = true;
                Ok(())
            }
        }
    }

    /// Returns the complete response.
    ///
    /// # Errors
    ///
    /// Fails if the response is incomplete: it never started, a part is still open, or a choice has no finish reason.
    pub fn finish(self) -> Result<ChatResponse, FoldError> {
        self.check()?;
        Ok(self.response)
    }

    /// Returns the complete response and leaves an empty fold. The response is large; this way it is moved only once.
    pub(crate) fn take(&mut self) -> Result<Box<ChatResponse>, FoldError> {
        let checked = self.check();
        let response = Box::new(std::mem::take(&mut self.response));
        self.progress = Progresses::default();
        self.started = false;
        checked.map(|()| response)
    }

    /// Returns the response as it is. Whether it is complete was [checked](Self::check) before.
    pub(crate) fn into_response(self) -> ChatResponse {
        self.response
    }

    /// Checks that the response is complete.
    ///
    /// # Errors
    ///
    /// As [`finish`](Self::finish).
    pub(crate) fn check(&self) -> Result<(), FoldError> {
        if !self.started {
            return broken("no message.start");
        }
        for (choice, progress) in self.response.choices.iter().zip(self.progress.iter()) {
            if let Some(part) = progress.open.first_open() {
                return broken(format!("part {part} of choice {} was never closed", choice.index));
            }
            if !progress.finished {
                return broken(format!("choice {} has no finish reason", choice.index));
            }
        }
        Ok(())
    }

    /// Returns the part of the response that has arrived, open parts included. A choice that has not ended has the
    /// finish reason `error`.
    pub fn partial(&self) -> ChatResponse {
        self.clone().into_partial()
    }

    /// Returns the part of the response that has arrived, without copying it.
    pub(crate) fn into_partial(mut self) -> ChatResponse {
        let ChatResponse { choices, provider, model, .. } = &mut self.response;
        for (choice, progress) in choices.iter_mut().zip(self.progress.iter()) {
            for (at, part) in choice.content.iter_mut().enumerate() {
                if progress.open.is_open(at) {
                    read_arguments(part);
                }
                part.tag(provider, model);
            }
        }
        self.response
    }

    #[inline]
    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    pub(crate) fn start(
        &mut self,
        id: &str,
        model: &str,
        provider: &str,
        created: Option<i64>,
        request_id: Option<String>,
        output_strategy: Option<OutputStrategy>,
    ) -> Result<(), FoldError> {
        if self.started {
            return broken("a second message.start");
        }
        self.started = true;
        self.response.id = id.to_owned();
        self.response.model = model.to_owned();
        self.response.provider = provider.to_owned();
        self.response.created = created;
        self.response.request_id = request_id;
        self.response.output_strategy = output_strategy;
        Ok(())
    }

    /// Opens the next part of a choice and returns its index.
    pub(crate) fn open(&mut self, choice_index: u32, start: &PartStart) -> u32 {
        let (choice, progress) = self.choice(choice_index);
        let part_index = choice.content.len();
        if part_index == 0 {
            // Many responses have one part, and parts are large.
            choice.content.reserve_exact(1);
        }
        choice.content.push(skeleton(start));
        progress.open.push();
        u32::try_from(part_index).unwrap_or(u32::MAX)
    }

    pub(crate) fn grow(
        &mut self,
        choice_index: u32,
        part_index: u32,
        delta: &PartDelta,
    ) -> Result<(), FoldError> {
        let (choice, progress) = self.choice(choice_index);
        let at = part_index as usize;
        if !progress.open.is_open(at) {
            return broken(format!("part {part_index} is extended, but is not open"));
        }
        match (&mut choice.content[at], delta) {
            (ResponsePart::Text(part), PartDelta::Text { text }) => part.text.push_str(text),
            (ResponsePart::Text(part), PartDelta::Citation { citation }) => {
                part.citations.push(citation.clone());
            }
            (ResponsePart::ToolCall(part), PartDelta::ToolCallArguments { arguments }) => {
                part.arguments.push_str(arguments);
            }
            (ResponsePart::Thinking(part), PartDelta::Thinking { thinking }) => {
                part.thinking.push_str(thinking);
            }
            (ResponsePart::Thinking(part), PartDelta::ThinkingSignature { signature }) => {
                part.signature.get_or_insert_default().push_str(signature);
            }
            (ResponsePart::Image(part), PartDelta::Image { data }) => part.data.push_str(data),
            (ResponsePart::Audio(part), PartDelta::Audio { data }) => part.data.push_str(data),
            (ResponsePart::Audio(part), PartDelta::AudioTranscript { transcript }) => {
                part.transcript.get_or_insert_default().push_str(transcript);
            }
            (ResponsePart::CodeExecution(part), PartDelta::Code { code }) => {
                part.code.push_str(code);
            }
            (
                ResponsePart::ServerToolCall(part),
                PartDelta::ServerToolCallArguments { arguments },
            ) => match &mut part.arguments {
                Value::String(text) => text.push_str(arguments),
                none => *none = Value::String(arguments.clone()),
            },
            (part, PartDelta::ProviderState { provider_state }) => {
                part.set_provider_state(provider_state.clone());
            }
            (part, _) => {
                return broken(format!(
                    "part {part_index} is {} and got another delta",
                    part.kind()
                ));
            }
        }
        Ok(())
    }

    /// Extends a part by a delta that is not needed afterwards: the first piece of a text is moved, not copied.
    #[inline]
    pub(crate) fn grow_by(
        &mut self,
        choice_index: u32,
        part_index: u32,
        mut delta: PartDelta,
    ) -> Result<(), FoldError> {
        let (choice, progress) = self.choice(choice_index);
        let at = part_index as usize;
        if progress.open.is_open(at) {
            if let PartDelta::ProviderState { provider_state } = delta {
                choice.content[at].set_provider_state(provider_state);
                return Ok(());
            }
            let empty = match (&mut choice.content[at], &mut delta) {
                (ResponsePart::Text(part), PartDelta::Text { text }) => {
                    Some((&mut part.text, text))
                }
                (ResponsePart::ToolCall(part), PartDelta::ToolCallArguments { arguments }) => {
                    Some((&mut part.arguments, arguments))
                }
                _ => None,
            };
            if let Some((place, piece)) = empty.filter(|(place, _)| place.is_empty()) {
                std::mem::swap(place, piece);
                return Ok(());
            }
        }
        self.grow(choice_index, part_index, &delta)
    }

    /// Closes a part and returns it for changes, so a decoder can complete it.
    #[inline]
    pub(crate) fn close(
        &mut self,
        choice_index: u32,
        part_index: u32,
    ) -> Result<&mut ResponsePart, FoldError> {
        let (choice, progress) = self.choice(choice_index);
        let at = part_index as usize;
        if !progress.open.close(at) {
            return broken(format!("part {part_index} is closed, but is not open"));
        }
        let part = &mut choice.content[at];
        read_arguments(part);
        Ok(part)
    }

    /// Adds a source to a closed text.
    pub(crate) fn cite(
        &mut self,
        choice_index: u32,
        part_index: u32,
        citation: Citation,
    ) -> Result<(), FoldError> {
        let (choice, progress) = self.choice(choice_index);
        let at = part_index as usize;
        match choice.content.get_mut(at) {
            Some(ResponsePart::Text(part)) if !progress.open.is_open(at) => {
                part.citations.push(citation);
                Ok(())
            }
            _ => broken(format!("part {part_index} has a late source, but is not a closed text")),
        }
    }

    /// Records the provider on a complete part, and returns the part.
    pub(crate) fn tag(&mut self, choice_index: u32, part_index: u32) -> Option<&ResponsePart> {
        let ChatResponse { choices, provider, model, .. } = &mut self.response;
        let at = choices.partition_point(|choice| choice.index < choice_index);
        let part = choices.get_mut(at)?.content.get_mut(part_index as usize)?;
        part.tag(provider, model);
        Some(part)
    }

    pub(crate) fn logprobs(&mut self, choice_index: u32, more: Logprobs) {
        self.choice(choice_index).0.logprobs.get_or_insert_default().extend(more);
    }

    #[inline]
    pub(crate) fn finish_choice(
        &mut self,
        choice_index: u32,
        reason: FinishReason,
        raw: Option<String>,
    ) {
        let (choice, progress) = self.choice(choice_index);
        choice.finish_reason = reason;
        choice.raw_finish_reason = raw;
        progress.finished = true;
    }

    pub(crate) fn warn(&mut self, warning: Warning) {
        self.response.warnings.push(warning);
    }

    #[inline]
    pub(crate) fn metadata(&mut self, more: Map<String, Value>) {
        add_fields(&mut self.response.provider_metadata, more);
    }

    pub(crate) fn choice_metadata(&mut self, choice_index: u32, more: Map<String, Value>) {
        add_fields(&mut self.choice(choice_index).0.provider_metadata, more);
    }

    #[inline]
    pub(crate) fn usage(&mut self, usage: Usage, cost: Option<Cost>) {
        self.response.usage = usage;
        self.response.cost = cost;
    }

    pub(crate) fn raw(&mut self, raw: Box<RawResponse>) {
        self.response.raw = Some(raw);
    }

    pub(crate) fn cost(&mut self, cost: Option<Cost>) {
        self.response.cost = cost;
    }

    pub(crate) fn response(&self) -> &ChatResponse {
        &self.response
    }

    /// Starts the choice of this index if it is new. Returns whether it is new.
    pub(crate) fn ensure_choice(&mut self, index: u32) -> bool {
        let before = self.progress.len();
        self.choice(index);
        self.progress.len() > before
    }

    /// Returns the choice of this index, which is created if it is new. Choices are sorted by their indices, whatever
    /// the order of arrival.
    #[inline]
    fn choice(&mut self, index: u32) -> (&mut Choice, &mut Progress) {
        let at = match self.response.choices.first() {
            // Nearly all responses have one choice.
            Some(first) if first.index == index => 0,
            _ => self.response.choices.partition_point(|choice| choice.index < index),
        };
        if self.response.choices.get(at).is_none_or(|choice| choice.index != index) {
            if self.response.choices.is_empty() {
                self.response.choices.reserve_exact(1);
            }
            self.response.choices.insert(at, Choice { index, ..Choice::default() });
            self.progress.insert(at);
        }
        (&mut self.response.choices[at], self.progress.at(at))
    }
}

/// Adds fields. A later value replaces an earlier one of the same name.
#[inline]
fn add_fields(fields: &mut Map<String, Value>, more: Map<String, Value>) {
    if fields.is_empty() { *fields = more } else { fields.extend(more) }
}

/// Returns the part before its first delta.
fn skeleton(start: &PartStart) -> ResponsePart {
    match start {
        PartStart::Text {} => ResponsePart::Text(TextPart::default()),
        PartStart::ToolCall { id, name } => {
            ResponsePart::ToolCall(ToolCallPart::new(id, name, String::new()))
        }
        PartStart::Thinking {} => ResponsePart::Thinking(ThinkingPart::default()),
        PartStart::RedactedThinking {} => {
            ResponsePart::RedactedThinking(RedactedThinkingPart::default())
        }
        PartStart::Image { mime_type } => {
            ResponsePart::Image(ImagePart { mime_type: mime_type.clone(), ..Default::default() })
        }
        PartStart::Audio { mime_type } => {
            ResponsePart::Audio(AudioPart { mime_type: mime_type.clone(), ..Default::default() })
        }
        PartStart::File { mime_type } => {
            ResponsePart::File(FilePart { mime_type: mime_type.clone(), ..Default::default() })
        }
        PartStart::CodeExecution { id, language } => {
            ResponsePart::CodeExecution(CodeExecutionPart {
                id: id.clone(),
                language: language.clone(),
                ..Default::default()
            })
        }
        PartStart::CodeResult { id } => {
            ResponsePart::CodeResult(CodeResultPart { id: id.clone(), ..Default::default() })
        }
        PartStart::ServerToolCall { id, name } => {
            ResponsePart::ServerToolCall(ServerToolCallPart {
                id: id.clone(),
                name: name.clone(),
                arguments: Value::Object(Map::new()),
                provider_state: None,
            })
        }
        PartStart::ServerToolResult { tool_call_id } => {
            ResponsePart::ServerToolResult(ServerToolResultPart {
                tool_call_id: tool_call_id.clone(),
                ..Default::default()
            })
        }
        PartStart::Opaque { provider, kind } => ResponsePart::Opaque(OpaquePart {
            provider: provider.clone(),
            kind: kind.clone(),
            data: Value::Null,
        }),
    }
}

/// Parses the arguments of a provider's tool when all of their text has arrived.
fn read_arguments(part: &mut ResponsePart) {
    if let ResponsePart::ServerToolCall(call) = part
        && let Value::String(text) = &call.arguments
    {
        call.arguments = parse_arguments(text);
    }
}

/// Returns the arguments of a provider's tool as JSON, or as a string if the text is not JSON.
pub(crate) fn parse_arguments(text: &str) -> Value {
    if text.trim().is_empty() {
        return Value::Object(Map::new());
    }
    nesting::read(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
