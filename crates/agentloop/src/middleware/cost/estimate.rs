//! What a call may use, before and without anybody saying.

use std::time::SystemTime;

use crate::middleware::Request;
use crate::models::ModelData;
use crate::request::{ChatMessage, ChatRequest, ContentPart, ToolDefinition};
use crate::response::{Usage, Usd};

/// How many bytes of text a token has, about. Fewer in other scripts than the Latin, where a letter has more bytes.
const BYTES_PER_TOKEN: u64 = 4;

/// What a message adds to its text, in tokens.
const PER_MESSAGE: u64 = 8;

/// What an image, a sound, a video or a file adds, in tokens, where only its provider could count it.
const PER_MEDIUM: u64 = 2_000;

/// The longest answer that is reckoned with, where neither the request nor what is known of the model says one.
const LONGEST_ANSWER: u64 = 8_192;

/// So many bytes of text in tokens, about, rounded up.
pub(super) fn tokens_of(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN)
}

/// What a request may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) prompt_tokens: u64,
}

impl Estimate {
    pub(super) fn of(request: &Request) -> Self {
        let prompt_tokens = match request {
            Request::Chat(chat) | Request::Stream(chat) => prompt(chat),
            Request::Embed(embed) => {
                embed.input.as_slice().iter().map(|text| tokens_of(text.len() as u64)).sum()
            }
        };
        Self { prompt_tokens }
    }

    /// The most that the call can cost, if the price is known.
    pub(super) fn most(
        &self,
        request: &Request,
        model: &ModelData,
        now: SystemTime,
    ) -> Option<Usd> {
        let (longest, tier) = match request.chat() {
            Some(chat) => {
                let longest = chat.max_tokens.or(model.max_output_tokens).unwrap_or(LONGEST_ANSWER);
                let choices = u64::from(chat.n.unwrap_or(1).max(1));
                (longest.saturating_mul(choices), chat.service_tier.as_deref())
            }
            None => (0, None),
        };
        let usage = Usage {
            prompt_tokens: Some(self.prompt_tokens),
            completion_tokens: Some(longest),
            ..Usage::default()
        };
        // What is written to a cache costs more than what is only read.
        let mut written = usage.clone();
        written.details.cache_write_tokens = Some(self.prompt_tokens);
        let plain = model.cost(&usage, now, tier)?;
        let most =
            model.cost(&written, now, tier).map_or(plain.usd, |cost| cost.usd.max(plain.usd));
        Some(most)
    }
}

fn prompt(chat: &ChatRequest) -> u64 {
    let said: u64 = chat.messages.iter().map(message).sum();
    let tools: u64 = chat.tools.iter().map(tool).sum();
    said.saturating_add(tools)
}

fn message(message: &ChatMessage) -> u64 {
    let mut tokens = PER_MESSAGE;
    match &message.content {
        Some(crate::request::MessageContent::Text(text)) => tokens += tokens_of(text.len() as u64),
        Some(crate::request::MessageContent::Parts(parts)) => {
            tokens += parts.iter().map(part).sum::<u64>();
        }
        None => {}
    }
    let calls = message.tool_calls.iter();
    tokens + calls.map(|call| tokens_of(call.function.arguments.len() as u64)).sum::<u64>()
}

fn part(part: &ContentPart) -> u64 {
    match part {
        ContentPart::Text(text) => tokens_of(text.text.len() as u64),
        ContentPart::Thinking(thinking) => tokens_of(thinking.thinking.len() as u64),
        ContentPart::ToolCall(call) => tokens_of(call.arguments.len() as u64),
        _ => PER_MEDIUM,
    }
}

/// A tool is as long as its definition.
fn tool(tool: &ToolDefinition) -> u64 {
    serde_json::to_string(tool).map_or(0, |text| tokens_of(text.len() as u64))
}
