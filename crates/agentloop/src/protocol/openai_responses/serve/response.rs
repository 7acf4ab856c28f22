//! Writes complete responses.

use bytes::Bytes;
use serde_json::{Value, json};

use super::item::{item, item_id};
use super::{compaction, echo};
use crate::chat::{ChatResponse, Choice, FinishReason, Usage};
use crate::error::{Error, ErrorKind};
use crate::protocol::openai::serve::Remembered;
use crate::protocol::openai::serve::fields::Fields;
use crate::protocol::openai::serve::write::tokens;
use crate::protocol::serve::Reply;

pub(super) use crate::protocol::openai::serve::{write_error, write_model, write_models};

/// Writes the body of a complete response: of its first choice, because the wire has no others.
pub(super) fn write_body(response: &ChatResponse, reply: &Reply) -> Bytes {
    let mut to = Vec::new();
    complete(response, &id(&response.id, response.created), reply).write(&mut to);
    Bytes::from(to)
}

/// A response as the wire has it, at one moment.
#[derive(Debug)]
pub(super) struct Snapshot<'a> {
    pub(super) id: &'a str,
    pub(super) created: i64,
    pub(super) model: &'a str,
    pub(super) status: Status,
    pub(super) error: Option<Value>,
    pub(super) output: Vec<Value>,
    pub(super) usage: Option<Value>,
    pub(super) reply: &'a Reply,
}

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    InProgress,
    Completed,
    Incomplete(&'static str),
    Failed,
}

impl Status {
    /// Returns how a response ended.
    fn of(reason: &FinishReason) -> Self {
        match reason {
            FinishReason::Length => Self::Incomplete("max_output_tokens"),
            FinishReason::ContentFilter => Self::Incomplete("content_filter"),
            FinishReason::Error => Self::Failed,
            _ => Self::Completed,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
            Self::Incomplete(_) => "incomplete",
            Self::Failed => "failed",
        }
    }
}

impl Snapshot<'_> {
    /// Appends the response as JSON.
    pub(super) fn write(&self, to: &mut Vec<u8>) {
        let details = match self.status {
            Status::Incomplete(reason) => json!({ "reason": reason }),
            _ => Value::Null,
        };
        let own = json!({
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "status": self.status.word(),
            "error": self.error,
            "incomplete_details": details,
            "model": self.model,
            "output": self.output,
            "usage": self.usage,
        });
        let own = own.to_string();
        to.extend_from_slice(own.strip_suffix('}').unwrap_or(&own).as_bytes());
        to.push(b',');
        match Remembered::of(self.reply).echo.as_str() {
            "" => to.extend_from_slice(echo::of_request(&Fields::new()).as_bytes()),
            echo => to.extend_from_slice(echo.as_bytes()),
        }
        to.push(b'}');
    }
}

/// Returns the id of a response; the provider may have sent none.
pub(super) fn id(id: &str, created: Option<i64>) -> String {
    match id {
        "" => format!("resp_{:x}", created.unwrap_or(0)),
        id => id.to_owned(),
    }
}

/// Returns a complete response.
pub(super) fn complete<'a>(
    response: &'a ChatResponse,
    id: &'a str,
    reply: &'a Reply,
) -> Snapshot<'a> {
    let nothing = Choice::default();
    let choice = response.choices.first().unwrap_or(&nothing);
    let mut snapshot = Snapshot {
        id,
        created: response.created.unwrap_or(0),
        model: &response.model,
        status: Status::of(&choice.finish_reason),
        error: None,
        output: Vec::new(),
        usage: (!response.usage.is_empty()).then(|| usage(&response.usage)),
        reply,
    };
    if Remembered::of(reply).is_compaction {
        snapshot.status = Status::Completed;
        snapshot.output = vec![compaction::item(&item_id("cmp", id, 0), &choice.text())];
        return snapshot;
    }
    if snapshot.status == Status::Failed {
        let error = Error::new(ErrorKind::Server, "the response of the provider is incomplete");
        snapshot.error = Some(response_error(&error));
    }
    let parts = choice.content.iter().enumerate();
    snapshot.output = parts.filter_map(|(at, part)| item(id, at, part, reply)).collect();
    if let Some(sure) = &choice.logprobs {
        let message = snapshot.output.iter_mut().find(|item| item["type"] == "message");
        if let Some(message) = message {
            message["content"][0]["logprobs"] = tokens(&sure.content);
        }
    }
    snapshot
}

fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let (input, output) = (usage.prompt_tokens.unwrap_or(0), usage.completion_tokens.unwrap_or(0));
    // Clients require the details too.
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": details.cached_tokens.unwrap_or(0),
            "cache_write_tokens": details.cache_write_tokens.unwrap_or(0),
        },
        "output_tokens": output,
        "output_tokens_details": { "reasoning_tokens": details.reasoning_tokens.unwrap_or(0) },
        "total_tokens": usage.total_tokens.unwrap_or(input.saturating_add(output)),
    })
}

/// Returns an error as a response has it. Clients choose by the code what to do next.
pub(super) fn response_error(error: &Error) -> Value {
    // The official SDKs know the last three. The first two are those by which Codex stops, and shortens the conversation.
    let code = match error.kind() {
        ErrorKind::Quota | ErrorKind::SpendingLimit => "insufficient_quota",
        ErrorKind::ContextLength => "context_length_exceeded",
        ErrorKind::RateLimit => "rate_limit_exceeded",
        ErrorKind::InvalidRequest | ErrorKind::ContentFilter => "invalid_prompt",
        _ => "server_error",
    };
    json!({ "code": code, "message": error.message() })
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    Bytes::from(json!({ "object": "response.input_tokens", "input_tokens": tokens }).to_string())
}
