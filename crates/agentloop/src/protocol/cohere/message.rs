//! Writes the conversation.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

use super::documents::{self, Documents};
use super::growing::PLAN;
use crate::chat::{
    AudioPart, ChatMessage, ChatRequest, Citation, ContentPart, ImageDetail, MessageContent,
    ProviderState, Role, TextPart, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::{MediaKind, Medium, Refusal, Source};
use crate::protocol::messages::{Lacks, not_in_response, warning};
use crate::protocol::{Prepared, Shown};
use crate::provider::Provider;

/// A message on the wire.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
pub(super) struct WireMessage<'a> {
    role: &'static str,
    tool_call_id: Option<&'a str>,
    tool_plan: Option<Cow<'a, str>>,
    content: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    citations: Vec<&'a Value>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Thinking {
        thinking: &'a str,
    },
    ImageUrl {
        image_url: Image<'a>,
    },
    /// A block of an earlier response, unchanged.
    #[serde(untagged)]
    Kept(&'a Value),
}

#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Image<'a> {
    url: Cow<'a, str>,
    detail: Option<ImageDetail>,
}

#[derive(Debug, Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Debug, Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// Writes the messages of one request.
pub(super) struct Messages<'a, 'w> {
    provider: &'a Provider,
    request: &'a ChatRequest,
    prepared: &'a Prepared<'a>,
    warnings: &'w mut Vec<Warning>,
}

impl<'a, 'w> Messages<'a, 'w> {
    pub(super) fn new(
        provider: &'a Provider,
        request: &'a ChatRequest,
        prepared: &'a Prepared<'a>,
        warnings: &'w mut Vec<Warning>,
    ) -> Self {
        Self { provider, request, prepared, warnings }
    }

    /// Writes all messages. The library's own instructions are first, where they do not move when the conversation grows.
    pub(super) fn encode(
        mut self,
        instructions: Option<&'a ChatMessage>,
    ) -> Result<Vec<WireMessage<'a>>> {
        let prepared = self.prepared;
        let mut wire = Vec::with_capacity(prepared.messages.len() + 1);
        if let Some(instructions) = instructions {
            wire.push(self.input(instructions, 0)?);
        }
        for (at, message) in prepared.messages.iter().enumerate() {
            let at = prepared.place(at);
            self.check(message, at);
            wire.push(match message.role {
                Role::Assistant => self.response(message, at),
                _ => self.input(message, at)?,
            });
        }
        Ok(wire)
    }

    fn warn(&mut self, kind: WarningKind, subject: String, why: &str) {
        self.warnings.push(warning(kind, subject, why));
    }

    /// Warns of what a message has and the protocol has no place for.
    fn check(&mut self, message: &ChatMessage, at: usize) {
        let (name, of_response) = (&self.provider.name, message.origin.is_some());
        let is_own = |citation: &Citation| state(citation, name).is_some();
        Lacks {
            // A citation of several sources is sent back with the first of them.
            citations: |text: &TextPart| {
                !text.citations.iter().any(is_own)
                    && text.citations.iter().any(|it| it.is_missed(of_response))
            },
            citations_why: "the protocol has no such citations in messages",
            detail_why: None,
        }
        .check(message, at, self.warnings);
    }

    /// Writes instructions, a message of the user or the result of a tool.
    fn input(&mut self, message: &'a ChatMessage, at: usize) -> Result<WireMessage<'a>> {
        let mut wire = WireMessage { role: message.role.as_str(), ..WireMessage::default() };
        let of_tool = message.role == Role::Tool;
        let mut blocks = Vec::new();
        let mut text = match &message.content {
            Some(MessageContent::Text(text)) => Some(Cow::Borrowed(text.as_str())),
            Some(MessageContent::Parts(parts)) => {
                for (part_at, part) in parts.iter().enumerate() {
                    if Documents::has(part) && message.role == Role::User {
                        continue;
                    }
                    let subject = || format!("messages[{at}].content[{part_at}]");
                    match block(part, self.provider, of_tool) {
                        Ok(block) => blocks.push(block),
                        Err(refusal) if self.request.lenient => {
                            self.warn(WarningKind::Dropped, subject(), &refusal.why);
                        }
                        Err(refusal) => {
                            return Err(refusal.into_error(&subject(), &self.provider.name));
                        }
                    }
                }
                match &mut blocks[..] {
                    [] => Some(Cow::Borrowed("")),
                    [Block::Text { text }] => Some(std::mem::take(text)),
                    _ => None,
                }
            }
            None => Some(Cow::Borrowed("")),
        };
        // The wire has no flag for a failed tool: the model reads it in the text.
        if message.is_error {
            match &mut text {
                Some(text) => *text = Cow::Owned(format!("Error: {text}")),
                None => blocks.insert(0, Block::Text { text: Cow::Borrowed("Error:") }),
            }
        }
        wire.content = Some(match text {
            Some(text) => Content::Text(text),
            None => Content::Blocks(blocks),
        });
        if of_tool {
            wire.tool_call_id = Some(message.tool_call_id.as_deref().unwrap_or_default());
        }
        Ok(wire)
    }

    /// Writes a message of the assistant. A part that cannot be sent must not fail the conversation.
    fn response(&mut self, message: &'a ChatMessage, at: usize) -> WireMessage<'a> {
        let mut wire = WireMessage { role: "assistant", ..WireMessage::default() };
        let parts = match &message.content {
            Some(MessageContent::Text(text)) => {
                wire.content = Some(Content::Text(Cow::Borrowed(text)));
                return wire;
            }
            Some(MessageContent::Parts(parts)) => parts.as_slice(),
            None => &[],
        };
        let mut blocks = Vec::new();
        for (part_at, part) in parts.iter().enumerate() {
            let provider = &self.provider.name;
            let why = match part {
                ContentPart::Text(text) => {
                    let own = text.citations.iter().filter_map(|it| state(it, provider));
                    wire.citations.extend(own);
                    if !text.text.is_empty() {
                        blocks.push(Block::Text { text: Cow::Borrowed(&text.text) });
                    }
                    continue;
                }
                ContentPart::Thinking(thinking) if is_plan(&thinking.provider_state) => {
                    let plan = wire.tool_plan.get_or_insert_default();
                    if plan.is_empty() {
                        *plan = Cow::Borrowed(&thinking.thinking);
                    } else {
                        plan.to_mut().push_str(&thinking.thinking);
                    }
                    continue;
                }
                ContentPart::Thinking(thinking) => {
                    blocks.push(Block::Thinking { thinking: &thinking.thinking });
                    continue;
                }
                ContentPart::ToolCall(call) => {
                    let text = call.arguments.trim();
                    let arguments = if matches!(text, "" | "null") { "{}" } else { text };
                    let function = WireFunction { name: &call.name, arguments };
                    wire.tool_calls.push(WireCall { id: &call.id, r#type: "function", function });
                    continue;
                }
                ContentPart::Opaque(opaque) if opaque.data.is_object() => {
                    blocks.push(Block::Kept(&opaque.data));
                    continue;
                }
                ContentPart::Audio(AudioPart { transcript: Some(text), .. }) => {
                    blocks.push(Block::Text { text: Cow::Borrowed(text) });
                    not_in_response(provider, part)
                }
                _ => not_in_response(provider, part),
            };
            let subject = format!("messages[{at}].content[{part_at}]");
            self.warn(WarningKind::Dropped, subject, &why);
        }
        wire.content = match &mut blocks[..] {
            [] if wire.tool_calls.is_empty() => Some(Content::Text(Cow::Borrowed(""))),
            [] => None,
            [Block::Text { text }] => Some(Content::Text(std::mem::take(text))),
            _ => Some(Content::Blocks(blocks)),
        };
        wire
    }
}

/// Returns whether thinking is the plan of a message with calls. The state of other providers is gone by now.
fn is_plan(state: &Option<Box<ProviderState>>) -> bool {
    state.as_deref().is_some_and(|state| state.data.get(PLAN).is_some())
}

/// Returns the citation as the provider sent it.
fn state<'a>(citation: &'a Citation, provider: &str) -> Option<&'a Value> {
    let state = match citation {
        Citation::Url(url) => url.provider_state.as_deref(),
        Citation::File(file) => file.provider_state.as_deref(),
        _ => None,
    };
    let own = state.filter(|state| state.provider == provider)?;
    own.data.get("sources").is_some().then_some(&own.data)
}

/// Returns where the provider takes a part of a tool's result.
pub(super) fn shown(part: &ContentPart, provider: &Provider) -> Shown {
    Shown::unless(|of_tool| block(part, provider, of_tool).err())
}

/// Returns a part as a block. Text files are sent as text, unless they are to be cited.
fn block<'a>(
    part: &'a ContentPart,
    provider: &Provider,
    of_tool: bool,
) -> Result<Block<'a>, Refusal> {
    let name = &provider.name;
    if let ContentPart::Text(text) = part {
        return Ok(Block::Text { text: Cow::Borrowed(&text.text) });
    }
    if let Some(text) = documents::in_words(part) {
        return Ok(Block::Text { text: Cow::Owned(text) });
    }
    let refused = || format!("{name} does not accept `{}` in this message", part.kind());
    let medium = Medium::of(part)?.ok_or_else(refused)?;
    if medium.kind != MediaKind::Image {
        return Err(format!("{name} does not accept {}", medium.kind.named()).into());
    }
    if of_tool {
        return Err(format!("{name} does not accept images in messages of tools").into());
    }
    let detail = match part {
        ContentPart::ImageUrl { image_url, .. } => image_url.detail,
        _ => None,
    };
    let url = match (medium.source, medium.written) {
        (Source::Address(url), _) => Cow::Borrowed(url),
        (Source::Inline(_), Some(written)) => Cow::Borrowed(written),
        (Source::Inline(data), None) => Cow::Owned(data.to_string()),
        (Source::Id(_), _) => return Err(format!("{name} has no uploaded files").into()),
    };
    Ok(Block::ImageUrl { image_url: Image { url, detail } })
}
