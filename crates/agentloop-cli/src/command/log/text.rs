//! Describes the parts of messages that are not text.

use agentloop::{ChatMessage, ContentPart, MessageContent};
use serde_json::{Value, json};

use super::list;
use crate::store::{Conversation, ResponseRecord, StoredMessage};

/// A piece of a message.
#[derive(Debug, PartialEq)]
pub(super) enum Piece<'a> {
    Text(&'a str),
    Thinking(&'a str),
    /// A call of a tool: its name and its arguments.
    Call(&'a str, &'a str),
    /// Something that cannot be shown as text.
    Other(&'static str),
}

/// Returns the pieces of a message in order.
pub(super) fn pieces(message: &ChatMessage) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = match &message.content {
        Some(MessageContent::Text(text)) => vec![Piece::Text(text)],
        Some(MessageContent::Parts(parts)) => parts.iter().map(describe).collect(),
        _ => Vec::new(),
    };
    let calls = message.tool_calls.iter();
    pieces.extend(calls.map(|call| Piece::Call(&call.function.name, &call.function.arguments)));
    pieces
}

fn describe(part: &ContentPart) -> Piece<'_> {
    match part {
        ContentPart::Text(text) => Piece::Text(&text.text),
        ContentPart::Thinking(thinking) => Piece::Thinking(&thinking.thinking),
        ContentPart::ToolCall(call) => Piece::Call(&call.name, &call.arguments),
        ContentPart::ServerToolCall(call) => Piece::Call(&call.name, "on the provider's side"),
        ContentPart::ImageUrl { .. } | ContentPart::Image(_) => Piece::Other("image"),
        ContentPart::InputAudio { .. } | ContentPart::Audio(_) => Piece::Other("audio"),
        ContentPart::File { .. } | ContentPart::GeneratedFile(_) => Piece::Other("file"),
        ContentPart::VideoUrl { .. } => Piece::Other("video"),
        ContentPart::CodeExecution(_) => Piece::Other("code that the provider ran"),
        ContentPart::CodeResult(_) => Piece::Other("output of code that the provider ran"),
        ContentPart::ServerToolResult(_) => Piece::Other("result of a tool of the provider"),
        ContentPart::RedactedThinking(_) => Piece::Other("encrypted thinking"),
        _ => Piece::Other("other content"),
    }
}

/// Describes a response in a few words: the model, the time, the tokens, the cost, and how it ended.
pub(super) fn describe_response(record: &ResponseRecord) -> Vec<String> {
    let mut words = Vec::new();
    if let (Some(provider), Some(model)) = (&record.provider, &record.model) {
        words.push(format!("{provider}/{model}"));
    }
    if let Some(time) = record.duration {
        words.push(format!("{:.1} s", time.as_secs_f64()));
    }
    if let Some(usage) = &record.usage {
        let count =
            |tokens: Option<u64>| tokens.map_or("?".to_owned(), |tokens| tokens.to_string());
        words.push(format!(
            "{} + {} tokens",
            count(usage.prompt_tokens),
            count(usage.completion_tokens)
        ));
    }
    if let Some(cost) = &record.cost {
        words.push(format!("${}", cost.usd));
    }
    if record.state != crate::store::ResponseState::Complete {
        words.push("incomplete".to_owned());
    } else if let Some(reason) = record.finish_reason.as_ref().filter(|reason| *reason != "stop") {
        words.push(reason.clone());
    }
    if let Some(error) = &record.error {
        words.push(error.message.clone());
    }
    words
}

/// Returns everything that is stored about a conversation.
pub(super) fn to_json(talk: &Conversation, messages: &[StoredMessage]) -> Value {
    let mut document = list::to_json(talk);
    document["messages"] = messages
        .iter()
        .map(|stored| {
            let mut entry =
                json!({ "created": crate::time::format_utc(stored.created), "message": stored.message });
            if let Some(record) = &stored.response {
                entry["response"] = response_to_json(record);
            }
            entry
        })
        .collect();
    document
}

fn response_to_json(record: &ResponseRecord) -> Value {
    json!({
        "state": record.state.as_str(),
        "provider": record.provider,
        "model": record.model,
        "finishReason": record.finish_reason,
        "usage": record.usage,
        "cost": record.cost,
        "durationMs": record.duration.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        "warnings": record.warnings,
        "error": record.error,
    })
}
