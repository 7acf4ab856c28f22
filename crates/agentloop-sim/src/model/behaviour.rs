//! The behaviours that the id of a model selects.

use std::fmt::Write as _;

use agentloop::{
    ChatMessage, ChatRequest, Citation, FinishReason, ResponseFormat, ResponsePart, Role, TextPart,
    ThinkingPart, ToolCallPart, ToolChoice, ToolDefinition, UrlCitation,
};
use serde_json::{Value, json};

use super::conversation::{last_user_text, request_hash, tool_results};
use super::{MAX_DELTAS, media, schema};
use crate::script::Turn;

/// The number of words of `length`, if the request has no `max_tokens`.
const DEFAULT_LENGTH: u64 = 16;

/// The most texts that `history` shows.
const MAX_HISTORY: usize = 5;

/// The most characters of each text that `history` shows.
const MAX_HISTORY_CHARS: usize = 200;

/// The text after an echo.
const HINT: &str = "(This response is simulated. To use a real model, set a key (for example GROQ_API_KEY) \
    and then name a model. `agentloop providers` lists all providers.)";

/// A behaviour of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Behaviour {
    Echo,
    Think,
    Tools,
    Cite,
    Refuse,
    Length,
    Json,
    Long(usize),
    Image,
    Audio,
    History,
}

impl Behaviour {
    /// The model ids that a simulator lists.
    pub(super) const IDS: [&'static str; 11] = [
        "echo", "think", "tools", "cite", "refuse", "length", "json", "long-500", "image", "audio",
        "history",
    ];

    /// Returns the behaviour that an id selects.
    pub(super) fn of(id: &str) -> Self {
        match id {
            "think" => Self::Think,
            "tools" => Self::Tools,
            "cite" => Self::Cite,
            "refuse" => Self::Refuse,
            "length" => Self::Length,
            "json" => Self::Json,
            "image" => Self::Image,
            "audio" => Self::Audio,
            "history" => Self::History,
            _ => match id.strip_prefix("long-").map(str::parse) {
                Some(Ok(words)) => Self::Long(words),
                _ => Self::Echo,
            },
        }
    }

    /// Returns the response to a request.
    pub(super) fn turn(self, request: &ChatRequest) -> Turn {
        match self {
            Self::Cite => cite(),
            Self::Refuse => Turn::text("I cannot help with that.")
                .with_finish_reason(FinishReason::ContentFilter),
            Self::Length => {
                let words = request.max_tokens.unwrap_or(DEFAULT_LENGTH);
                long(usize::try_from(words).unwrap_or(MAX_DELTAS), request)
                    .with_finish_reason(FinishReason::Length)
            }
            Self::Long(words) => long(words, request),
            Self::Image => media::image(),
            Self::Audio => media::audio(request),
            Self::History => history(request),
            Self::Echo | Self::Think | Self::Tools | Self::Json => self.use_tools(request),
        }
    }

    /// Calls tools if there are no results yet, else responds.
    fn use_tools(self, request: &ChatRequest) -> Turn {
        let results = tool_results(request);
        let mut parts = Vec::new();
        if self == Self::Think {
            parts.push(think(request, results.len()));
        }
        let calls =
            if results.is_empty() { call_tools(request, self == Self::Tools) } else { Vec::new() };
        if calls.is_empty() {
            let text = self.write_text(request, &results);
            parts.push(ResponsePart::Text(TextPart::new(text)));
        } else {
            parts.extend(calls);
        }
        Turn::new(parts)
    }

    fn write_text(self, request: &ChatRequest, results: &[(String, String)]) -> String {
        let prompt = last_user_text(request);
        match &request.response_format {
            Some(ResponseFormat::JsonSchema { json_schema }) => {
                return schema::instance(&json_schema.schema).to_string();
            }
            Some(ResponseFormat::JsonObject {}) => return echo_json(&prompt, results).to_string(),
            _ if self == Self::Json => return echo_json(&prompt, results).to_string(),
            _ => {}
        }
        if !results.is_empty() {
            let mut text = String::new();
            for (at, (tool, result)) in results.iter().enumerate() {
                let space = if at == 0 { "" } else { "\n" };
                // Writing to a string cannot fail.
                let _ = write!(text, "{space}{tool} says: {result}");
            }
            return text;
        }
        if prompt.is_empty() {
            return HINT.to_owned();
        }
        format!("{prompt}\n\n{HINT}")
    }
}

fn echo_json(prompt: &str, results: &[(String, String)]) -> Value {
    let results: Vec<Value> =
        results.iter().map(|(tool, result)| json!({ "tool": tool, "result": result })).collect();
    if results.is_empty() {
        json!({ "echo": prompt })
    } else {
        json!({ "echo": prompt, "results": results })
    }
}

fn think(request: &ChatRequest, results: usize) -> ResponsePart {
    let words = super::count_words(&last_user_text(request));
    let thoughts = match results {
        0 => format!("The user wrote {words} words. I will repeat them."),
        1 => "The result is available. I respond with it.".to_owned(),
        some => format!("All {some} results are available. I respond with them."),
    };
    ResponsePart::Thinking(ThinkingPart::new(thoughts))
}

/// Calls the tools that the request allows.
fn call_tools(request: &ChatRequest, all: bool) -> Vec<ResponsePart> {
    let wanted: Option<&str> = match &request.tool_choice {
        Some(ToolChoice::None) => return Vec::new(),
        Some(ToolChoice::Function(name)) => Some(name),
        _ => None,
    };
    let many = all && wanted.is_none() && request.parallel_tool_calls != Some(false);
    let id = request_hash(request);
    request
        .tools
        .iter()
        .filter_map(|tool| match tool {
            ToolDefinition::Function { function, .. } => Some(function),
            _ => None,
        })
        .filter(|function| wanted.is_none_or(|name| name == function.name))
        .take(if many { usize::MAX } else { 1 })
        .enumerate()
        .map(|(at, function)| {
            let arguments = match &function.parameters {
                Some(parameters) => schema::arguments(parameters),
                None => json!({}),
            };
            let id = format!("call_{id:016x}_{at}");
            ResponsePart::ToolCall(ToolCallPart::new(id, &function.name, arguments.to_string()))
        })
        .collect()
}

fn long(words: usize, request: &ChatRequest) -> Turn {
    let choices = usize::try_from(request.n.unwrap_or(1).max(1)).unwrap_or(1);
    let words = words.min(MAX_DELTAS / choices);
    let mut text = String::with_capacity(words * 8);
    for word in 1..=words {
        let space = if word == 1 { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{space}word{word}");
    }
    Turn::text(text)
}

/// Shows the conversation that arrived: how many messages it has, and the last texts of the user.
fn history(request: &ChatRequest) -> Turn {
    let count = request.messages.len();
    let texts: Vec<String> = request
        .messages
        .iter()
        .rev()
        .filter(|message| message.role == Role::User)
        .take(MAX_HISTORY)
        .map(ChatMessage::text)
        .collect();
    let mut text = format!("{count} message{}. The user wrote:", if count == 1 { "" } else { "s" });
    for shown in texts.iter().rev() {
        let end = shown.char_indices().nth(MAX_HISTORY_CHARS).map_or(shown.len(), |(at, _)| at);
        let rest = if end < shown.len() { "…" } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {}{rest}", &shown[..end]);
    }
    Turn::text(text)
}

fn cite() -> Turn {
    let claims = [
        ("Water boils at 100 °C", "Boiling point", "boiling"),
        ("and freezes at 0 °C", "Freezing point", "freezing"),
    ];
    let mut part = TextPart::default();
    for (claim, title, page) in claims {
        if !part.text.is_empty() {
            part.text.push(' ');
        }
        let start = part.text.chars().count() as u64;
        part.text.push_str(claim);
        let page = UrlCitation::new(format!("https://example.com/{page}")).with_title(title);
        let end = part.text.chars().count() as u64;
        part.citations.push(Citation::Url(page.with_range(start, end)));
    }
    part.text.push('.');
    Turn::new([ResponsePart::Text(part)])
}
