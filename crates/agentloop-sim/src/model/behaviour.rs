//! What the model does, by its id.

use std::fmt::Write as _;

use agentloop::{
    ChatRequest, Citation, FinishReason, ResponseFormat, ResponsePart, TextPart, ThinkingPart,
    ToolCallPart, ToolChoice, ToolDefinition, UrlCitation,
};
use serde_json::{Value, json};

use super::conversation::{last_user_text, request_hash, results};
use super::{MAX_DELTAS, media, schema};
use crate::script::Turn;

/// How many words an answer has that runs to its length, when the request does not say.
const DEFAULT_LENGTH: u64 = 16;

/// What is said beside an echo.
const HINT: &str = "(This is a simulated model. For a real one set a key, GROQ_API_KEY for example, \
    and name one of its models; `agentloop providers` shows all.)";

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
}

impl Behaviour {
    /// The ids that a simulator lists.
    pub(super) const IDS: [&'static str; 10] = [
        "echo", "think", "tools", "cite", "refuse", "length", "json", "long-500", "image", "audio",
    ];

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
            _ => match id.strip_prefix("long-").map(str::parse) {
                Some(Ok(words)) => Self::Long(words),
                _ => Self::Echo,
            },
        }
    }

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
            Self::Echo | Self::Think | Self::Tools | Self::Json => self.with_tools(request),
        }
    }

    /// Calls tools while there are no results, then answers.
    fn with_tools(self, request: &ChatRequest) -> Turn {
        let results = results(request);
        let mut parts = Vec::new();
        if self == Self::Think {
            parts.push(think(request, results.len()));
        }
        let calls =
            if results.is_empty() { calls(request, self == Self::Tools) } else { Vec::new() };
        if calls.is_empty() {
            parts.push(text(self.answer(request, &results)));
        } else {
            parts.extend(calls);
        }
        Turn::new(parts)
    }

    fn answer(self, request: &ChatRequest, results: &[(String, String)]) -> String {
        let said = last_user_text(request);
        match &request.response_format {
            Some(ResponseFormat::JsonSchema { json_schema }) => {
                return schema::instance(&json_schema.schema).to_string();
            }
            Some(ResponseFormat::JsonObject {}) => return json_of(&said, results).to_string(),
            _ if self == Self::Json => return json_of(&said, results).to_string(),
            _ => {}
        }
        if !results.is_empty() {
            let mut answer = String::new();
            for (at, (tool, result)) in results.iter().enumerate() {
                let space = if at == 0 { "" } else { "\n" };
                // Writing to a string cannot fail.
                let _ = write!(answer, "{space}{tool} says: {result}");
            }
            return answer;
        }
        if said.is_empty() {
            return HINT.to_owned();
        }
        format!("{said}\n\n{HINT}")
    }
}

fn text(text: impl Into<String>) -> ResponsePart {
    ResponsePart::Text(TextPart::new(text))
}

fn json_of(said: &str, results: &[(String, String)]) -> Value {
    let results: Vec<Value> =
        results.iter().map(|(tool, result)| json!({ "tool": tool, "result": result })).collect();
    if results.is_empty() {
        json!({ "echo": said })
    } else {
        json!({ "echo": said, "results": results })
    }
}

fn think(request: &ChatRequest, results: usize) -> ResponsePart {
    let said = super::words(&last_user_text(request));
    let thoughts = match results {
        0 => format!("The user wrote {said} words. I say them again."),
        1 => "The result is there. I answer from it.".to_owned(),
        some => format!("All {some} results are there. I answer from them."),
    };
    ResponsePart::Thinking(ThinkingPart::new(thoughts))
}

/// Calls of the tools that the request wants called.
fn calls(request: &ChatRequest, all: bool) -> Vec<ResponsePart> {
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
    let mut said = String::with_capacity(words * 8);
    for word in 1..=words {
        let space = if word == 1 { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(said, "{space}word{word}");
    }
    Turn::text(said)
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
        part.citations.push(Citation::Url(UrlCitation {
            url: format!("https://example.com/{page}"),
            title: Some(title.to_owned()),
            start_index: Some(start),
            end_index: Some(part.text.chars().count() as u64),
            ..UrlCitation::default()
        }));
    }
    part.text.push('.');
    Turn::new([ResponsePart::Text(part)])
}
