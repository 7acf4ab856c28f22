//! Writes the conversation: messages → steps.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::parts::{CallArguments, Content, Entry, Outcome, Rest, Step, medium, text};
use crate::chat::{
    ChatMessage, CodeOutcome, CodeResultPart, ContentPart, MessageContent, ProviderState, Role,
    TextPart, ThinkingPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::Refusal;
use crate::protocol::google::arguments::{Arguments, arguments};
use crate::protocol::messages::{Lacks, warning};
use crate::protocol::{Prepared, ToolNames};
use crate::provider::Provider;

/// Turns messages into steps.
pub(super) struct Conversation<'a, 'w> {
    provider: &'a Provider,
    names: &'a ToolNames,
    warnings: &'w mut Vec<Warning>,
    /// Whether parts that cannot be sent are left out.
    lenient: bool,
    steps: Vec<Entry<'a>>,
    /// The names of the calls of the last message of the model, by their ids.
    calls: HashMap<&'a str, &'a str>,
}

impl<'a, 'w> Conversation<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        names: &'a ToolNames,
        lenient: bool,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        Self { provider, names, warnings, lenient, steps: Vec::new(), calls: HashMap::new() }
    }

    /// Returns everything but the instructions.
    pub(super) fn encode(mut self, prepared: &'a Prepared<'_>) -> Result<Vec<Entry<'a>>> {
        self.steps.reserve(prepared.messages.len());
        for (number, message) in prepared.messages.iter().enumerate() {
            let at = prepared.place(number);
            self.check(at, message);
            let before = self.steps.len();
            match message.role {
                Role::System => continue,
                Role::User => {
                    let content = self.contents(message, at)?;
                    if !content.is_empty() {
                        let kind = Cow::Borrowed("user_input");
                        self.push(Step { kind, content, ..Step::default() });
                    }
                }
                Role::Assistant => self.assistant(message, at)?,
                Role::Tool => self.result(message, at)?,
            }
            if self.steps.len() == before {
                let why = "an empty message is left out";
                self.warn(WarningKind::Repaired, format!("messages[{at}]"), why);
            }
        }
        Ok(self.steps)
    }

    fn push(&mut self, step: Step<'a>) {
        self.steps.push(Entry::Step(Box::new(step)));
    }

    fn warn(&mut self, kind: WarningKind, subject: String, why: &str) {
        self.warnings.push(warning(kind, subject, why));
    }

    /// Warns of what a message has and the protocol has no place for.
    fn check(&mut self, at: usize, message: &ChatMessage) {
        Lacks {
            // In a response citations are for the reader.
            citations: |text: &TextPart| message.origin.is_none() && !text.citations.is_empty(),
            citations_why: "citations are not sent in messages",
            detail_why: Some("the protocol has other words for the resolution of an image"),
        }
        .check(message, at, self.warnings);
    }

    /// Returns the contents of a message of the user.
    fn contents(&mut self, message: &'a ChatMessage, at: usize) -> Result<Vec<Content<'a>>> {
        let parts = match &message.content {
            None => return Ok(Vec::new()),
            Some(MessageContent::Text(plain)) if plain.is_empty() => return Ok(Vec::new()),
            Some(MessageContent::Text(plain)) => return Ok(vec![text(plain)]),
            Some(MessageContent::Parts(parts)) => parts,
        };
        let mut contents = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            if let ContentPart::Text(part) = part {
                if !part.text.is_empty() {
                    contents.push(text(&part.text));
                }
                continue;
            }
            let subject = format!("messages[{at}].content[{number}]");
            contents.extend(self.medium(part, None, subject, self.lenient)?);
        }
        Ok(contents)
    }

    /// Returns a part that is a medium. What cannot be sent is an error, or a warning.
    fn medium(
        &mut self,
        part: &'a ContentPart,
        own: Option<&'a Map<String, Value>>,
        subject: String,
        lenient: bool,
    ) -> Result<Option<Content<'a>>> {
        match medium(part, own) {
            Ok(Some(content)) => Ok(Some(content)),
            Ok(None) => {
                let why = format!("the `{}` of another provider is not sent", part.kind());
                self.warn(WarningKind::Dropped, subject, &why);
                Ok(None)
            }
            Err(refusal) => self.refused(refusal, subject, lenient),
        }
    }

    fn refused(
        &mut self,
        refusal: Refusal,
        subject: String,
        lenient: bool,
    ) -> Result<Option<Content<'a>>> {
        if lenient {
            self.warn(WarningKind::Dropped, subject, &refusal.why);
            Ok(None)
        } else {
            Err(refusal.into_error(&subject, &self.provider.name))
        }
    }

    /// Writes a message of the model. Texts and media that follow each other are contents of one output.
    fn assistant(&mut self, message: &'a ChatMessage, at: usize) -> Result<()> {
        self.calls.clear();
        if let Some(MessageContent::Text(plain)) = &message.content
            && !plain.is_empty()
        {
            self.output(Rest::default(), text(plain), true);
        }
        // Whether the next content starts an output of its own.
        let mut is_new = true;
        for (number, part) in message.parts().iter().enumerate() {
            let subject = || format!("messages[{at}].content[{number}]");
            match part {
                ContentPart::Text(part) => {
                    let rest = self.rest(&part.provider_state);
                    if !part.text.is_empty() {
                        self.output(rest, text(&part.text), is_new || rest.fields.is_some());
                        is_new = false;
                    }
                    continue;
                }
                // Audio that is known only by an id of another provider.
                ContentPart::Audio(audio)
                    if audio.data.is_empty() && audio.transcript.is_some() =>
                {
                    let why = "audio without data cannot be sent: its transcript is sent instead";
                    self.warn(WarningKind::Converted, subject(), why);
                    let words = audio.transcript.as_deref().unwrap_or_default();
                    if !words.is_empty() {
                        self.output(Rest::default(), text(words), is_new);
                        is_new = false;
                    }
                    continue;
                }
                ContentPart::Thinking(thinking) => self.thought(thinking, subject()),
                ContentPart::ToolCall(call) => {
                    let args = arguments(&call.arguments);
                    if matches!(args, Arguments::Text(_)) {
                        let why = "the arguments are not a JSON object: sent as the field `arguments` of one";
                        self.warn(WarningKind::Converted, subject(), why);
                    }
                    self.calls.insert(&call.id, &call.name);
                    self.push(Step {
                        kind: "function_call".into(),
                        rest: self.rest(&call.provider_state),
                        id: Some(&call.id),
                        name: Some(self.names.sent(&call.name)),
                        arguments: Some(CallArguments::Function(args)),
                        ..Step::default()
                    });
                }
                ContentPart::Opaque(opaque)
                    if opaque.provider == self.provider.name
                        && opaque.data.get("step").is_some_and(Value::is_object) =>
                {
                    self.steps.extend(opaque.data.get("step").map(Entry::Raw));
                }
                ContentPart::CodeExecution(_)
                | ContentPart::CodeResult(_)
                | ContentPart::ServerToolCall(_)
                | ContentPart::ServerToolResult(_) => match self.own_tool(part) {
                    Some(step) => self.push(step),
                    None => {
                        let why = format!("the `{}` of another API is not sent", part.kind());
                        self.warn(WarningKind::Dropped, subject(), &why);
                    }
                },
                part => {
                    let state = state_of(part);
                    let own = self.own(state).and_then(|data| data.get("content")?.as_object());
                    let rest = self.rest_of(self.own(state));
                    // Generated parts must not fail the conversation.
                    if let Some(content) = self.medium(part, own, subject(), true)? {
                        let has_more = rest.fields.is_some_and(|fields| fields.len() > 1);
                        self.output(rest, content, is_new || has_more);
                        is_new = false;
                    }
                    continue;
                }
            }
            is_new = true;
        }
        Ok(())
    }

    /// Adds a content to the output of the model, or to a new one.
    fn output(&mut self, rest: Rest<'a>, content: Content<'a>, is_new: bool) {
        match self.steps.last_mut() {
            Some(Entry::Step(last)) if !is_new && last.kind == "model_output" => {
                last.content.push(content);
            }
            _ => {
                let kind = Cow::Borrowed("model_output");
                self.push(Step { kind, rest, content: vec![content], ..Step::default() });
            }
        }
    }

    /// Writes a thought of this API. Others have no signature that it takes.
    fn thought(&mut self, thinking: &'a ThinkingPart, subject: String) {
        let state = thinking.provider_state.as_deref();
        let own = self.own(state);
        let is_of_step = own.is_some_and(|data| data.get("step").is_some());
        let signature = thinking.signature.as_deref().filter(|signature| !signature.is_empty());
        if !is_of_step && (signature.is_none() || own.is_some_and(|data| !data.is_null())) {
            let why = "thinking without a signature of this API is not sent";
            self.warn(WarningKind::Dropped, subject, why);
            return;
        }
        let mut rest = self.rest_of(own);
        let others = rest.fields.and_then(|fields| fields.get("summary")?.as_array());
        rest.except = &["summary"];
        let mut summary = Vec::new();
        if !thinking.thinking.is_empty() {
            summary.push(text(&thinking.thinking));
        }
        summary.extend(others.into_iter().flatten().map(Content::Raw));
        self.push(Step { kind: "thought".into(), rest, signature, summary, ..Step::default() });
    }

    /// Returns the step of one of the provider's own tools, if it came in this API.
    fn own_tool(&self, part: &'a ContentPart) -> Option<Step<'a>> {
        let rest = self.rest_of(self.own(state_of(part)));
        let kind = rest.fields?.get("type")?.as_str()?;
        let step = Step { kind: kind.into(), rest, ..Step::default() };
        Some(match part {
            ContentPart::ServerToolCall(call) => Step {
                id: Some(call.id.as_str()).filter(|id| !id.is_empty()),
                name: (kind == "mcp_server_tool_call").then_some(call.name.as_str()),
                arguments: call
                    .arguments
                    .as_object()
                    .is_none_or(|arguments| !arguments.is_empty())
                    .then_some(CallArguments::Own(Cow::Borrowed(&call.arguments))),
                ..step
            },
            ContentPart::ServerToolResult(result) => Step {
                call_id: Some(result.tool_call_id.as_str()).filter(|id| !id.is_empty()),
                result: (!result.content.is_null()).then_some(Outcome::Own(&result.content)),
                is_error: result.is_error.then_some(true),
                ..step
            },
            ContentPart::CodeExecution(code) => {
                let more = rest.fields?.get("arguments").and_then(Value::as_object);
                let mut arguments = more.cloned().unwrap_or_default();
                arguments.insert("code".to_owned(), code.code.as_str().into());
                arguments.insert("language".to_owned(), code.language.as_str().into());
                Step {
                    rest: Rest { except: &["arguments"], ..rest },
                    id: code.id.as_deref(),
                    arguments: Some(CallArguments::Own(Cow::Owned(arguments.into()))),
                    ..step
                }
            }
            ContentPart::CodeResult(CodeResultPart { id, outcome, output, .. }) => Step {
                call_id: id.as_deref(),
                result: Some(Outcome::Text(Cow::Borrowed(output))),
                is_error: (*outcome != CodeOutcome::Ok).then_some(true),
                ..step
            },
            _ => return None,
        })
    }

    /// Returns the data of the state that this provider made.
    fn own(&self, state: Option<&'a ProviderState>) -> Option<&'a Value> {
        state.filter(|state| state.provider == self.provider.name).map(|state| &state.data)
    }

    fn rest(&self, state: &'a Option<Box<ProviderState>>) -> Rest<'a> {
        self.rest_of(self.own(state.as_deref()))
    }

    /// Returns the rest of the step that state has.
    fn rest_of(&self, data: Option<&'a Value>) -> Rest<'a> {
        Rest { fields: data.and_then(|data| data.get("step")?.as_object()), except: &[] }
    }

    /// Writes the result of a call.
    fn result(&mut self, message: &'a ChatMessage, at: usize) -> Result<()> {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let known = self.calls.get(id).copied();
        let name = known.or(message.name.as_deref()).map(|name| self.names.sent(name));
        let mut contents = self.contents(message, at)?;
        let result = match &mut contents[..] {
            [] => Outcome::Text(Cow::Borrowed("")),
            [Content::Text { text, .. }] => Outcome::Text(std::mem::take(text)),
            _ => Outcome::Contents(contents),
        };
        self.push(Step {
            kind: "function_result".into(),
            call_id: Some(id),
            name,
            result: Some(result),
            is_error: message.is_error.then_some(true),
            ..Step::default()
        });
        Ok(())
    }
}

/// Returns the state of a part.
fn state_of(part: &ContentPart) -> Option<&ProviderState> {
    match part {
        ContentPart::Image(part) => part.provider_state.as_deref(),
        ContentPart::Audio(part) => part.provider_state.as_deref(),
        ContentPart::GeneratedFile(part) => part.provider_state.as_deref(),
        ContentPart::CodeExecution(part) => part.provider_state.as_deref(),
        ContentPart::CodeResult(part) => part.provider_state.as_deref(),
        ContentPart::ServerToolCall(part) => part.provider_state.as_deref(),
        ContentPart::ServerToolResult(part) => part.provider_state.as_deref(),
        _ => None,
    }
}
