//! Writes a conversation that is judged as a whole.

use serde::Serialize;

use super::write::{WirePart, part};
use crate::chat::{ChatMessage, ContentPart, MessageContent, ModerateRequest, Role, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::task::TaskBody;
use crate::provider::Provider;
use crate::provider::quirks::ModerationForm;

/// A message as Mistral describes it (its API description: `ChatModerationRequest`).
#[skip_serializing_none]
#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
    tool_call_id: Option<&'a str>,
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    r#type: &'static str,
    function: WireFunction<'a>,
}

#[derive(Clone, Copy, Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

/// A piece of a message that is judged.
enum Piece<'a> {
    Part(WirePart<'a>),
    Call { id: &'a str, function: WireFunction<'a> },
}

/// Writes the messages, and returns the path of the call.
///
/// # Errors
///
/// Fails if the request has inputs as well, or if a message has a part that the provider does not moderate.
pub(super) fn write(
    provider: &Provider,
    request: &ModerateRequest,
    body: &mut TaskBody<'_>,
) -> Result<&'static str> {
    if !request.input.is_empty() {
        let message =
            "the request has inputs and a conversation, but only one of them is moderated";
        return Err(Error::new(ErrorKind::InvalidRequest, message)
            .with_hint("send two requests, one with `input` and one with `messages`"));
    }
    let form = provider.quirks.tasks.moderation;
    let mut has_thinking = false;
    let mut messages = Vec::with_capacity(request.messages.len());
    for message in &request.messages {
        let pieces = pieces(message, &mut has_thinking)?;
        let is_image = |piece: &Piece<'_>| matches!(piece, Piece::Part(WirePart::ImageUrl { .. }));
        if form == ModerationForm::TextsAndConversations && pieces.iter().any(is_image) {
            let message = format!("{} moderates only the texts of a conversation", provider.name);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        messages.push((message, pieces));
    }
    if has_thinking {
        let why = "the thinking in the messages is not moderated";
        body.warn(WarningKind::Dropped, "thinking", why);
    }
    if form == ModerationForm::TextsAndConversations {
        let messages = messages.into_iter().map(|(message, pieces)| wire(message, pieces));
        body.fixed("input", &messages.collect::<Vec<_>>())?;
        return Ok("/chat/moderations");
    }
    let why = format!("{} moderates no conversations: the messages are one text", provider.name);
    body.warn(WarningKind::Converted, "messages", why);
    let parts: Vec<WirePart<'_>> =
        messages.into_iter().flat_map(|(_, pieces)| pieces).map(judged).collect();
    let texts: Option<Vec<&str>> = parts.iter().map(text_of).collect();
    match texts {
        Some(texts) => body.fixed("input", &[texts.join("\n\n")])?,
        None => body.fixed("input", &parts)?,
    }
    Ok("/moderations")
}

/// Returns the pieces of a message, without thinking.
fn pieces<'a>(message: &'a ChatMessage, has_thinking: &mut bool) -> Result<Vec<Piece<'a>>> {
    let mut pieces = Vec::new();
    match &message.content {
        Some(MessageContent::Text(text)) => pieces.push(Piece::Part(WirePart::Text { text })),
        Some(MessageContent::Parts(parts)) => {
            for each in parts {
                match each {
                    ContentPart::Thinking(_) | ContentPart::RedactedThinking(_) => {
                        *has_thinking = true;
                    }
                    ContentPart::ToolCall(call) => pieces.push(Piece::Call {
                        id: &call.id,
                        function: WireFunction { name: &call.name, arguments: &call.arguments },
                    }),
                    other => pieces.push(Piece::Part(part(other)?)),
                }
            }
        }
        None => {}
    }
    pieces.extend(message.tool_calls.iter().map(|call| Piece::Call {
        id: &call.id,
        function: WireFunction { name: &call.function.name, arguments: &call.function.arguments },
    }));
    Ok(pieces)
}

fn wire<'a>(message: &'a ChatMessage, pieces: Vec<Piece<'a>>) -> WireMessage<'a> {
    let is_tool = message.role == Role::Tool;
    let mut wire = WireMessage {
        role: message.role.as_str(),
        content: String::new(),
        tool_calls: Vec::new(),
        tool_call_id: message.tool_call_id.as_deref().filter(|_| is_tool),
        name: message.name.as_deref().filter(|_| is_tool),
    };
    for piece in pieces {
        match piece {
            Piece::Call { id, function } if message.role == Role::Assistant => {
                wire.tool_calls.push(WireCall { id, r#type: "function", function });
            }
            piece => wire.content.push_str(text_of(&judged(piece)).unwrap_or_default()),
        }
    }
    wire
}

/// Returns what is judged of a piece: of a call, its arguments.
fn judged(piece: Piece<'_>) -> WirePart<'_> {
    match piece {
        Piece::Part(part) => part,
        Piece::Call { function, .. } => WirePart::Text { text: function.arguments },
    }
}

fn text_of<'a>(part: &WirePart<'a>) -> Option<&'a str> {
    match part {
        WirePart::Text { text } => Some(text),
        WirePart::ImageUrl { .. } => None,
    }
}
