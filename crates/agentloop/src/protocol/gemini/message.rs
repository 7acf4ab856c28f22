//! Writes the conversation.

use std::borrow::Cow;

use serde_json::json;

use super::parts::{Call, CallResult, Content, Fields, Part, part, plain, response};
use crate::chat::{
    ChatMessage, CodeOutcome, ContentPart, MessageContent, ProviderState, Role, TextPart,
    ToolCallPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::Refusal;
use crate::protocol::ToolNames;
use crate::protocol::google::arguments::{Arguments, arguments};
use crate::protocol::google::media;
use crate::protocol::google::thinking::knows_levels;
use crate::protocol::messages::{Lacks, warning};
use crate::provider::Provider;
use crate::provider::model::ModelTraits;

/// The value that Google documents for calls that the model did not make itself.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Turns messages into contents.
pub(super) struct Conversation<'a, 'w> {
    provider: &'a Provider,
    names: &'a ToolNames,
    warnings: &'w mut Vec<Warning>,
    /// The model demands signatures, and takes media inside results.
    is_current: bool,
    /// Whether parts that cannot be sent are left out.
    lenient: bool,
    /// The calls of the last message of the model, in order.
    calls: Vec<&'a ToolCallPart>,
}

impl<'a, 'w> Conversation<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        traits: &ModelTraits,
        names: &'a ToolNames,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        let is_current = knows_levels(traits);
        Self { provider, names, warnings, is_current, lenient: false, calls: Vec::new() }
    }

    /// Leaves out, with a warning, what cannot be sent.
    pub(super) fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Everything but the instructions.
    pub(super) fn encode(mut self, messages: &'a [ChatMessage]) -> Result<Vec<Content<'a>>> {
        let mut contents = Vec::with_capacity(messages.len());
        let mut at = 0;
        while let Some(message) = messages.get(at) {
            self.check(at, message);
            let content = match message.role {
                Role::System => {
                    at += 1;
                    continue;
                }
                Role::User => Content { role: "user", parts: self.parts(message, at)? },
                Role::Assistant => self.assistant_content(message, at)?,
                Role::Tool => {
                    let rest = messages.get(at..).unwrap_or_default();
                    let count = rest.iter().take_while(|next| next.role == Role::Tool).count();
                    let round = rest.get(..count).unwrap_or_default();
                    for (more, message) in round.iter().enumerate().skip(1) {
                        self.check(at + more, message);
                    }
                    let first = at;
                    at += count - 1;
                    self.results(round, first)?
                }
            };
            if content.parts.is_empty() {
                self.warn(
                    WarningKind::Repaired,
                    format!("messages[{at}]"),
                    "an empty message is left out",
                );
            } else {
                contents.push(content);
            }
            at += 1;
        }
        Ok(contents)
    }

    fn warn(&mut self, kind: WarningKind, subject: String, why: &str) {
        self.warnings.push(warning(kind, subject, why));
    }

    /// Warns of what a message has and the protocol has no place for.
    fn check(&mut self, at: usize, message: &ChatMessage) {
        Lacks {
            // In a response citations are for the reader: they are beside the content, which has no place for them.
            citations: |text: &TextPart| message.origin.is_none() && !text.citations.is_empty(),
            citations_why: "the protocol has no citations in messages",
            detail_why: Some("the protocol has one resolution for all images: `mediaResolution`"),
        }
        .check(message, at, self.warnings);
    }

    fn parts(&mut self, message: &'a ChatMessage, at: usize) -> Result<Vec<Part<'a>>> {
        let mut parts = Vec::new();
        match &message.content {
            None => {}
            Some(MessageContent::Text(text)) if text.is_empty() => {}
            Some(MessageContent::Text(text)) => parts.push(plain(text)),
            Some(MessageContent::Parts(list)) => {
                for (part_at, content) in list.iter().enumerate() {
                    let subject = format!("messages[{at}].content[{part_at}]");
                    let part = self.part(content, &subject);
                    // Generated parts must not fail the conversation.
                    let lenient = self.lenient || message.role == Role::Assistant;
                    parts.extend(self.taken(part, (at, part_at), lenient)?);
                }
            }
        }
        Ok(parts)
    }

    /// Reports a part that cannot be sent, as an error or a warning.
    fn taken(
        &mut self,
        part: Result<Option<Part<'a>>, Refusal>,
        (at, part_at): (usize, usize),
        lenient: bool,
    ) -> Result<Option<Part<'a>>> {
        let subject = format!("messages[{at}].content[{part_at}]");
        match part {
            Ok(part) => Ok(part),
            Err(refusal) if lenient => {
                self.warn(WarningKind::Dropped, subject, &refusal.why);
                Ok(None)
            }
            Err(refusal) => Err(refusal.into_error(&subject, &self.provider.name)),
        }
    }

    /// Returns a message of the model.
    fn assistant_content(&mut self, message: &'a ChatMessage, at: usize) -> Result<Content<'a>> {
        self.calls = message
            .parts()
            .iter()
            .filter_map(|part| match part {
                ContentPart::ToolCall(call) => Some(call),
                _ => None,
            })
            .collect();
        let mut parts = self.parts(message, at)?;
        let calls = || |part: &Part<'a>| matches!(part, Part::Fields(fields) if fields.function_call.is_some());
        let signed = parts
            .iter()
            .filter(|part| calls()(part))
            .any(|part| matches!(part, Part::Fields(fields) if fields.thought_signature.is_some()));
        // Calls from elsewhere have no signature, and these models refuse the first of a message without one.
        if self.is_current
            && !signed
            && let Some(Part::Fields(first)) = parts.iter_mut().find(|part| calls()(part))
        {
            first.thought_signature = Some(Cow::Borrowed(NO_SIGNATURE));
        }
        Ok(Content { role: "model", parts })
    }

    fn part(
        &mut self,
        content: &'a ContentPart,
        subject: &str,
    ) -> Result<Option<Part<'a>>, Refusal> {
        let signature = |state: &'a Option<Box<ProviderState>>| {
            let data = &self.own(state)?.data;
            // The second form is the one of the compatible chat endpoint.
            let compatible = || data.get("extra_content")?.get("google")?.get("thought_signature");
            data.get("thoughtSignature").or_else(compatible)?.as_str().map(Cow::Borrowed)
        };
        let of_media = |content: &'a ContentPart, thought_signature: Option<Cow<'a, str>>| {
            let media = media::media(content)?.map(|(_, media)| media);
            Ok::<_, Refusal>(
                media
                    .is_some()
                    .then(|| part(Fields { media, thought_signature, ..Fields::default() })),
            )
        };
        Ok(match content {
            ContentPart::Text(text) => {
                let thought_signature = signature(&text.provider_state);
                // An empty text is there only for its signature.
                (!text.text.is_empty() || thought_signature.is_some()).then(|| {
                    let text = Some(Cow::Borrowed(text.text.as_str()));
                    part(Fields { text, thought_signature, ..Fields::default() })
                })
            }
            ContentPart::Thinking(thoughts) => {
                let written = thoughts.signature.as_deref().map(Cow::Borrowed);
                signature(&thoughts.provider_state).or(written).map(|signature| {
                    part(Fields {
                        text: Some(Cow::Borrowed(thoughts.thinking.as_str())),
                        thought: Some(true),
                        thought_signature: Some(signature),
                        ..Fields::default()
                    })
                })
            }
            ContentPart::ToolCall(call) => {
                let thought_signature = signature(&call.provider_state);
                let args = arguments(&call.arguments);
                let (id, name) = (self.call_id(call), self.names.sent(&call.name));
                if matches!(args, Arguments::Text(_)) {
                    let why =
                        "the arguments are not a JSON object: sent as the field `arguments` of one";
                    self.warn(WarningKind::Converted, subject.to_owned(), why);
                }
                let function_call = Some(Call { id, name, args });
                Some(part(Fields { function_call, thought_signature, ..Fields::default() }))
            }
            ContentPart::ImageUrl { .. }
            | ContentPart::VideoUrl { .. }
            | ContentPart::InputAudio { .. }
            | ContentPart::File { .. } => of_media(content, None)?,
            ContentPart::Image(image) => of_media(content, signature(&image.provider_state))?,
            // Audio that is known only by an id of another provider.
            ContentPart::Audio(audio) if audio.data.is_empty() && audio.transcript.is_some() => {
                let why = "audio without data cannot be sent: its transcript is sent instead";
                self.warn(WarningKind::Converted, subject.to_owned(), why);
                audio.transcript.as_deref().filter(|words| !words.is_empty()).map(plain)
            }
            ContentPart::Audio(audio) => of_media(content, signature(&audio.provider_state))?,
            ContentPart::GeneratedFile(file) => of_media(content, signature(&file.provider_state))?,
            ContentPart::CodeExecution(code) => {
                let mut fields =
                    json!({ "language": code.language.to_ascii_uppercase(), "code": code.code });
                if let Some(id) = &code.id {
                    fields["id"] = id.as_str().into();
                }
                Some(part(Fields {
                    executable_code: Some(fields),
                    thought_signature: signature(&code.provider_state),
                    ..Fields::default()
                }))
            }
            ContentPart::CodeResult(result) => {
                let own = self.own(&result.provider_state);
                let word = own.and_then(|state| state.data.get("outcome")?.as_str());
                let word = word.unwrap_or(match result.outcome {
                    CodeOutcome::Ok => "OUTCOME_OK",
                    CodeOutcome::Error => "OUTCOME_FAILED",
                    CodeOutcome::Timeout => "OUTCOME_DEADLINE_EXCEEDED",
                    CodeOutcome::Unknown => "OUTCOME_UNSPECIFIED",
                });
                let mut fields = json!({ "outcome": word, "output": result.output });
                if let Some(id) = &result.id {
                    fields["id"] = id.as_str().into();
                }
                Some(part(Fields {
                    code_execution_result: Some(fields),
                    thought_signature: signature(&result.provider_state),
                    ..Fields::default()
                }))
            }
            ContentPart::ServerToolCall(call) if self.own(&call.provider_state).is_some() => {
                let mut fields = json!({ "toolType": call.name });
                if !call.id.is_empty() {
                    fields["id"] = call.id.as_str().into();
                }
                if call.arguments.as_object().is_none_or(|args| !args.is_empty()) {
                    fields["args"] = call.arguments.clone();
                }
                Some(part(Fields {
                    tool_call: Some(fields),
                    thought_signature: signature(&call.provider_state),
                    ..Fields::default()
                }))
            }
            ContentPart::ServerToolResult(result) if self.own(&result.provider_state).is_some() => {
                let own = self.own(&result.provider_state);
                let tool = own.and_then(|state| state.data.get("toolType"));
                let mut fields = json!({ "toolType": tool });
                if !result.tool_call_id.is_empty() {
                    fields["id"] = result.tool_call_id.as_str().into();
                }
                if !result.content.is_null() {
                    fields["response"] = result.content.clone();
                }
                Some(part(Fields {
                    tool_response: Some(fields),
                    thought_signature: signature(&result.provider_state),
                    ..Fields::default()
                }))
            }
            ContentPart::Opaque(opaque) if opaque.provider == self.provider.name => {
                Some(Part::Raw(&opaque.data))
            }
            other => {
                let why = format!("the `{}` of another provider is not sent", other.kind());
                self.warn(WarningKind::Dropped, subject.to_owned(), &why);
                None
            }
        })
    }

    /// Returns the state that this provider made.
    fn own(&self, state: &'a Option<Box<ProviderState>>) -> Option<&'a ProviderState> {
        state.as_deref().filter(|state| state.provider == self.provider.name)
    }

    /// Returns the id that the provider gave to a call. An id that the library made means nothing to the provider.
    fn call_id(&self, call: &'a ToolCallPart) -> Option<&'a str> {
        self.own(&call.provider_state)?.data.get("id")?.as_str()
    }

    /// Returns the results of a round: one message, in the order of the calls.
    fn results(&mut self, round: &'a [ChatMessage], first: usize) -> Result<Content<'a>> {
        let mut sorted: Vec<(usize, usize, &'a ChatMessage)> = round
            .iter()
            .enumerate()
            .map(|(number, message)| (self.call_of(number, message), first + number, message))
            .collect();
        sorted.sort_by_key(|(place, ..)| *place);
        let mut parts = Vec::with_capacity(sorted.len());
        let mut beside = Vec::new();
        for (place, at, message) in sorted {
            let call = self.calls.get(place).copied();
            let name = call.map(|call| call.name.as_str()).or(message.name.as_deref());
            let mut text = Cow::Borrowed("");
            let mut shown = Vec::new();
            match &message.content {
                None => {}
                Some(MessageContent::Text(plain)) => text = Cow::Borrowed(plain.as_str()),
                Some(MessageContent::Parts(list)) => {
                    for (part_at, content) in list.iter().enumerate() {
                        match content {
                            ContentPart::Text(plain) if text.is_empty() => {
                                text = Cow::Borrowed(plain.text.as_str());
                            }
                            ContentPart::Text(plain) => text.to_mut().push_str(&plain.text),
                            other => {
                                let subject = format!("messages[{at}].content[{part_at}]");
                                let part = self.part(other, &subject);
                                let part = self.taken(part, (at, part_at), self.lenient)?;
                                if let Some(Part::Fields(fields)) = part {
                                    shown.extend(fields.media);
                                }
                            }
                        }
                    }
                }
            }
            let inside = self.is_current;
            let (within, after) = if inside { (shown, Vec::new()) } else { (Vec::new(), shown) };
            beside.extend(after);
            parts.push(part(Fields {
                function_response: Some(CallResult {
                    id: call.and_then(|call| self.call_id(call)),
                    name: self.names.sent(name.unwrap_or_default()),
                    response: response(text, message.is_error),
                    parts: within,
                }),
                ..Fields::default()
            }));
        }
        // Older models see images only beside a result, not in it.
        parts.extend(
            beside
                .into_iter()
                .map(|media| part(Fields { media: Some(media), ..Fields::default() })),
        );
        Ok(Content { role: "user", parts })
    }

    /// Returns the index of the call that a result belongs to. Results nearly always have the order of their calls, so
    /// the call with the same number is checked first.
    fn call_of(&self, number: usize, message: &ChatMessage) -> usize {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        if self.calls.get(number).is_some_and(|call| call.id == id) {
            return number;
        }
        self.calls.iter().position(|call| call.id == id).unwrap_or(usize::MAX)
    }
}
