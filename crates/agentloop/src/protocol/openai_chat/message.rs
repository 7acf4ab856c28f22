//! Writes the conversation.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::Value;

use super::growing::REFERENCES;
use super::parts::{self, Piece, WirePart};
use crate::chat::{
    ChatMessage, ChatRequest, Citation, ContentPart, MessageContent, Role, Warning, WarningKind,
    file_citation,
};
use crate::error::Result;
use crate::protocol::messages::{not_in_response, warning};
use crate::protocol::tool_calls::WIRE_TYPE;
use crate::protocol::{Prepared, free_text};
use crate::provider::Provider;
use crate::provider::quirks::{
    CacheMarkers, ParsedFiles, ReasoningEcho, SpeakerName, ToolResultName,
};

/// A message on the wire. Nothing that is absent is written, but for the content of a message that has only calls.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    content: WireContent<'a>,
    name: Option<&'a str>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    /// Files that the provider parsed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<&'a Value>,
    audio: Option<&'a Value>,
    /// Opaque state of the whole message.
    extra_content: Option<&'a Value>,
    thought_signature: Option<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireToolCall<'a>>,
    tool_call_id: Option<&'a str>,
}

#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    #[default]
    Null,
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum WireToolCall<'a> {
    Known(WireCall<'a>),
    /// A call of an earlier response, unchanged.
    Kept(&'a Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'a str,
    function: Option<WireFunction<'a>>,
    custom: Option<WireCustom<'a>>,
    extra_content: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Debug, Serialize)]
struct WireCustom<'a> {
    name: &'a str,
    input: Cow<'a, str>,
}

/// Writes the messages of one request.
pub(super) struct Messages<'a, 'w> {
    provider: &'a Provider,
    request: &'a ChatRequest,
    prepared: &'a Prepared<'a>,
    instructions: Option<&'a ChatMessage>,
    /// The role of instructions.
    system: &'static str,
    warnings: &'w mut Vec<Warning>,
    /// The tool that each call named, for providers that want the name with the result.
    tools: HashMap<&'a str, &'a str>,
}

impl<'a, 'w> Messages<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        request: &'a ChatRequest,
        prepared: &'a Prepared<'a>,
        instructions: Option<&'a ChatMessage>,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        let system = Role::System.as_str();
        Self { provider, request, prepared, instructions, system, warnings, tools: HashMap::new() }
    }

    /// Sets the role of instructions.
    pub(super) fn with_system(self, system: &'static str) -> Self {
        Self { system, ..self }
    }

    pub(super) fn encode(mut self) -> Result<Vec<WireMessage<'a>>> {
        let prepared = self.prepared;
        let mut wire = Vec::with_capacity(prepared.messages.len() + 1);
        // Our own instructions are first, where they do not move when the conversation grows.
        if let Some(instructions) = self.instructions {
            wire.push(self.plain(instructions, 0)?);
        }
        for (at, message) in prepared.messages.iter().enumerate() {
            let at = prepared.place(at);
            if message.cache_control.is_some() {
                self.warn(WarningKind::Dropped, format!("messages[{at}].cache_control"), || {
                    "cache markers are accepted on parts only".to_owned()
                });
            }
            wire.push(match message.role {
                Role::System | Role::User => self.plain(message, at)?,
                Role::Assistant => self.assistant(message, at)?,
                Role::Tool => self.tool(message, at)?,
            });
        }
        Ok(wire)
    }

    fn warn(&mut self, kind: WarningKind, subject: String, why: impl FnOnce() -> String) {
        self.warnings.push(warning(kind, subject, &why()));
    }

    fn name(&mut self, message: &'a ChatMessage, at: usize) -> Option<&'a str> {
        let name = message.name.as_deref()?;
        if self.provider.quirks.speaker_name == SpeakerName::Accepted {
            return Some(name);
        }
        let provider = self.provider.name.clone();
        self.warn(WarningKind::Dropped, format!("messages[{at}].name"), || {
            format!("{provider} does not accept the name of an author")
        });
        None
    }

    fn plain(&mut self, message: &'a ChatMessage, at: usize) -> Result<WireMessage<'a>> {
        let content = match &message.content {
            None => WireContent::Text(Cow::Borrowed("")),
            Some(MessageContent::Text(text)) => WireContent::Text(Cow::Borrowed(text)),
            Some(MessageContent::Parts(parts)) => self.parts(parts, at, false)?,
        };
        let role = match message.role {
            Role::System => self.system,
            role => role.as_str(),
        };
        Ok(WireMessage { role, content, name: self.name(message, at), ..WireMessage::default() })
    }

    /// Parts as the provider takes them; what it cannot take is an error, or a warning if the caller is lenient.
    fn parts(
        &mut self,
        parts: &'a [ContentPart],
        at: usize,
        of_tool: bool,
    ) -> Result<WireContent<'a>> {
        // A single text is sent as a string, unless it has a cache marker that the provider accepts.
        if let [ContentPart::Text(text)] = parts
            && (text.cache_control.is_none()
                || self.provider.quirks.cache_markers == CacheMarkers::Refused)
        {
            if text.cache_control.is_some() {
                let why = format!("{} does not accept cache markers", self.provider.name);
                self.warn(WarningKind::Dropped, format!("messages[{at}].content[0]"), || why);
            }
            return Ok(WireContent::Text(Cow::Borrowed(&text.text)));
        }
        let mut wire = Vec::with_capacity(parts.len());
        for (part_at, part) in parts.iter().enumerate() {
            let subject = || format!("messages[{at}].content[{part_at}]");
            match parts::encode(part, self.provider, of_tool) {
                Ok((part, None)) => wire.push(part),
                Ok((part, Some(why))) => {
                    wire.push(part);
                    self.warn(WarningKind::Dropped, subject(), || why);
                }
                Err(refusal) if self.request.lenient => {
                    self.warn(WarningKind::Dropped, subject(), || refusal.why);
                }
                Err(refusal) => return Err(refusal.into_error(&subject(), &self.provider.name)),
            }
        }
        if wire.is_empty() {
            return Ok(WireContent::Text(Cow::Borrowed("")));
        }
        Ok(WireContent::Parts(wire))
    }

    fn tool(&mut self, message: &'a ChatMessage, at: usize) -> Result<WireMessage<'a>> {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let mut content = match &message.content {
            None => WireContent::Text(Cow::Borrowed("")),
            Some(MessageContent::Text(text)) => WireContent::Text(Cow::Borrowed(text)),
            Some(MessageContent::Parts(parts)) => self.parts(parts, at, true)?,
        };
        // The wire has no flag for a failed tool: the model reads it in the text.
        if message.is_error {
            match &mut content {
                WireContent::Parts(parts) => {
                    parts.insert(0, WirePart::Text { text: "Error:", cache_control: None });
                }
                WireContent::Text(text) => *text = Cow::Owned(format!("Error: {text}")),
                WireContent::Null => {}
            }
        }
        let name = message.name.as_deref().or_else(|| self.tools.get(id).copied());
        Ok(WireMessage {
            role: "tool",
            content,
            name: name
                .filter(|_| self.provider.quirks.tool_result_name == ToolResultName::Required),
            tool_call_id: Some(id),
            ..WireMessage::default()
        })
    }

    fn assistant(&mut self, message: &'a ChatMessage, at: usize) -> Result<WireMessage<'a>> {
        let mut assistant = AssistantMessage {
            of_response: message.origin.is_some(),
            ..AssistantMessage::default()
        };
        match &message.content {
            None => {}
            Some(MessageContent::Text(text)) => assistant.text(text),
            Some(MessageContent::Parts(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    self.assistant_part(part, &mut assistant, (at, part_at));
                }
            }
        }
        let name = self.name(message, at);
        let mut wire = WireMessage { role: "assistant", name, ..WireMessage::default() };
        let echo = self.provider.quirks.reasoning_echo;
        let thoughts = (!assistant.thoughts.is_empty()).then(|| assistant.thoughts.concat());
        match echo {
            ReasoningEcho::ReasoningContent => wire.reasoning_content = thoughts,
            ReasoningEcho::ReasoningContentRequired => {
                let thinks = self.request.thinking.is_none_or(|how| how.enabled != Some(false));
                wire.reasoning_content = thoughts.or_else(|| thinks.then(String::new));
            }
            ReasoningEcho::Reasoning => wire.reasoning = thoughts,
            ReasoningEcho::ReasoningDetails if assistant.details.is_empty() => {
                wire.reasoning = thoughts;
            }
            ReasoningEcho::ReasoningDetails => wire.reasoning_details = assistant.details,
            ReasoningEcho::ThinkingChunk | ReasoningEcho::Never => {}
        }
        wire.content = if assistant.is_listed {
            WireContent::Parts(assistant.content)
        } else if assistant.content.is_empty() {
            // A message with only tool calls or only audio has no text. An empty message has an empty text.
            if assistant.calls.is_empty() && assistant.audio.is_none() {
                WireContent::Text(Cow::Borrowed(""))
            } else {
                WireContent::Null
            }
        } else {
            WireContent::Text(joined(&assistant.content))
        };
        wire.tool_calls = assistant.calls;
        wire.annotations = assistant.annotations;
        wire.audio = assistant.audio;
        wire.extra_content = assistant.extra_content;
        wire.thought_signature = assistant.thought_signature;
        Ok(wire)
    }

    fn assistant_part(
        &mut self,
        part: &'a ContentPart,
        assistant: &mut AssistantMessage<'a>,
        (at, part_at): (usize, usize),
    ) {
        let provider = self.provider.name.as_ref();
        // The state of other providers is gone by now.
        let state = |state: &'a Option<Box<crate::chat::ProviderState>>, name: &str| {
            state.as_deref()?.data.get(name)
        };
        let why = match part {
            ContentPart::Text(text) => {
                let own = text.provider_state.as_deref();
                parts::with_references(&text.text, own, |piece| match piece {
                    Piece::Text(text) => assistant.text(text),
                    Piece::Kept(chunk) => assistant.list(WirePart::Kept(chunk)),
                });
                assistant.extra_content =
                    state(&text.provider_state, "extra_content").or(assistant.extra_content);
                assistant.thought_signature = state(&text.provider_state, "thought_signature")
                    .or(assistant.thought_signature);
                // In a response pages are for the reader. In a history of unknown origin they may be meant to be sent.
                let mut are_sent = own.is_some_and(|own| own.data.get(REFERENCES).is_some());
                if !are_sent {
                    let returned = self.provider.quirks.parsed_files == ParsedFiles::Returned;
                    are_sent = true;
                    for citation in &text.citations {
                        let parsed = match citation {
                            Citation::File(file) if returned => {
                                file_citation::parsed(file, provider)
                            }
                            _ => None,
                        };
                        are_sent &= parsed.is_some() || !citation.is_missed(assistant.of_response);
                        assistant.annotations.extend(parsed);
                    }
                }
                if are_sent {
                    return;
                }
                format!("{provider} does not accept citations")
            }
            // A call has an id, a piece of content has none.
            ContentPart::Opaque(opaque) if opaque.data["id"].is_string() => {
                assistant.calls.push(WireToolCall::Kept(&opaque.data));
                return;
            }
            ContentPart::Opaque(opaque) if opaque.data.is_object() => {
                assistant.list(WirePart::Kept(&opaque.data));
                return;
            }
            ContentPart::ToolCall(call) => {
                let extra = state(&call.provider_state, "extra_content");
                let kind = state(&call.provider_state, "type").and_then(Value::as_str);
                let custom = matches!(kind, Some("custom" | "custom_tool_call"));
                let mut wire = self.call(&call.id, &call.name, &call.arguments, extra);
                if custom {
                    wire.r#type = "custom";
                    wire.function = None;
                    let input = free_text::input(&call.arguments);
                    wire.custom = Some(WireCustom { name: &call.name, input });
                } else if let Some(Value::String(kind)) = state(&call.provider_state, WIRE_TYPE) {
                    wire.r#type = kind;
                }
                assistant.calls.push(WireToolCall::Known(wire));
                return;
            }
            ContentPart::Thinking(thinking) => match self.provider.quirks.reasoning_echo {
                ReasoningEcho::Never => format!("{provider} does not accept thinking"),
                ReasoningEcho::ThinkingChunk => {
                    assistant.list(WirePart::thinking(thinking));
                    return;
                }
                _ => {
                    if let Some(Value::Array(details)) =
                        state(&thinking.provider_state, "reasoning_details")
                    {
                        assistant.details.extend(details);
                    }
                    assistant.thoughts.push(&thinking.thinking);
                    return;
                }
            },
            ContentPart::Audio(audio) => {
                if let Some(own) = audio.provider_state.as_deref()
                    && own.data.get("id").is_some()
                {
                    assistant.audio = Some(&own.data);
                    return;
                }
                if let Some(transcript) = &audio.transcript {
                    assistant.text(transcript);
                }
                not_in_response(provider, part)
            }
            _ => not_in_response(provider, part),
        };
        self.warn(WarningKind::Dropped, format!("messages[{at}].content[{part_at}]"), || why);
    }

    fn call(
        &mut self,
        id: &'a str,
        name: &'a str,
        arguments: &'a str,
        extra_content: Option<&'a Value>,
    ) -> WireCall<'a> {
        self.tools.insert(id, name);
        let arguments = if arguments.trim().is_empty() { "{}" } else { arguments };
        WireCall {
            id,
            r#type: "function",
            function: Some(WireFunction { name, arguments }),
            custom: None,
            extra_content,
        }
    }
}

/// The pieces of an assistant's message, sorted.
#[derive(Default)]
struct AssistantMessage<'a> {
    /// Texts and the parts between them, in order.
    content: Vec<WirePart<'a>>,
    /// Whether the content has to be a list, because not all of it is text.
    is_listed: bool,
    thoughts: Vec<&'a str>,
    details: Vec<&'a Value>,
    annotations: Vec<&'a Value>,
    calls: Vec<WireToolCall<'a>>,
    audio: Option<&'a Value>,
    extra_content: Option<&'a Value>,
    thought_signature: Option<&'a Value>,
    /// Whether the message is known to be a response.
    of_response: bool,
}

impl<'a> AssistantMessage<'a> {
    fn text(&mut self, text: &'a str) {
        if !text.is_empty() {
            self.content.push(WirePart::text(text));
        }
    }

    /// Adds a piece that requires a list.
    fn list(&mut self, part: WirePart<'a>) {
        self.content.push(part);
        self.is_listed = true;
    }
}

/// Joins texts.
fn joined<'a>(content: &[WirePart<'a>]) -> Cow<'a, str> {
    let mut texts = content.iter().filter_map(|part| match part {
        WirePart::Text { text, .. } => Some(*text),
        _ => None,
    });
    match (texts.next(), texts.next()) {
        (first, None) => Cow::Borrowed(first.unwrap_or_default()),
        (first, second) => Cow::Owned(first.into_iter().chain(second).chain(texts).collect()),
    }
}
