//! Converts a chat request to what the engine needs.

use std::hash::{BuildHasher as _, RandomState};

use agentloop::{ChatRequest, Error, ErrorKind, ResponseFormat, Result, ToolChoice};
use serde_json::Value;

use crate::grammar::{CALL_START, Grammar, Tool};
use crate::job::{GrammarUse, Sampling};
use crate::prompt::{self, Conversation, Message};

/// The most alternatives of a token that are reported.
const MAX_TOP_LOGPROBS: u32 = 20;

/// The settings of llama.cpp's own server, for requests that do not set them.
const DEFAULT_TEMPERATURE: f64 = 0.8;
const DEFAULT_TOP_P: f64 = 0.95;
const DEFAULT_TOP_K: u32 = 40;
const DEFAULT_MIN_P: f64 = 0.05;

/// A chat request, as the engine needs it.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) conversation: Conversation,
    pub(crate) max_tokens: Option<u64>,
    pub(crate) stop: Vec<String>,
    pub(crate) sampling: Sampling,
    pub(crate) grammar: Option<GrammarUse>,
    pub(crate) logprobs: Option<usize>,
    pub(crate) has_tools: bool,
    pub(crate) warnings: Vec<String>,
}

impl Plan {
    pub(crate) fn of(request: &ChatRequest) -> Result<Self> {
        let mut warnings = Vec::new();
        if request.n.is_some_and(|choices| choices > 1) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "a local model writes one choice; send several requests",
            )
            .with_param("n"));
        }
        let mut tools = prompt::tools(request)?;
        if matches!(request.tool_choice, Some(ToolChoice::None)) {
            tools.clear();
        }
        let (grammar, has_tools) = plan_grammar(request, &tools, &mut warnings)?;
        let mut conversation = Conversation::of(request, &tools)?;
        if let Some(ResponseFormat::JsonObject {} | ResponseFormat::JsonSchema { .. }) =
            &request.response_format
            && conversation.messages.is_empty()
        {
            conversation.messages.push(Message { role: "user", text: String::new() });
        }
        for (name, is_set) in [
            ("logit_bias", request.logit_bias.as_ref().is_some_and(|bias| !bias.is_empty())),
            ("modalities", request.modalities.iter().any(|it| it != "text")),
            ("audio", request.audio.is_some()),
            ("reasoning_effort", request.reasoning_effort.is_some()),
            ("thinking", request.thinking.is_some()),
            ("verbosity", request.verbosity.is_some()),
            ("service_tier", request.service_tier.is_some()),
        ] {
            if is_set {
                warnings.push(format!("`{name}` is not supported by local models and was ignored"));
            }
        }
        let logprobs = match (request.logprobs, request.top_logprobs) {
            (Some(true), top) => Some(top.unwrap_or(0).min(MAX_TOP_LOGPROBS) as usize),
            _ => None,
        };
        Ok(Self {
            conversation,
            max_tokens: request.max_tokens,
            stop: request.stop.as_ref().map(|stop| stop.as_slice().to_vec()).unwrap_or_default(),
            sampling: plan_sampling(request, &mut warnings),
            grammar,
            logprobs,
            has_tools,
            warnings,
        })
    }
}

/// Chooses the grammar: that of the tools if one must be called, else that of the response format. Tools that may be called have a
/// grammar that applies from the beginning of a call.
fn plan_grammar(
    request: &ChatRequest,
    tools: &[Tool],
    warnings: &mut Vec<String>,
) -> Result<(Option<GrammarUse>, bool)> {
    let is_parallel = request.parallel_tool_calls != Some(false);
    let mut forced = match &request.tool_choice {
        Some(ToolChoice::Required) => Some(tools.to_vec()),
        Some(ToolChoice::Function(name)) => {
            let named: Vec<Tool> =
                tools.iter().filter(|tool| tool.name == *name).cloned().collect();
            if named.is_empty() {
                let message =
                    format!("the tool choice names {name:?}, which is not one of the tools");
                return Err(
                    Error::new(ErrorKind::InvalidRequest, message).with_param("tool_choice")
                );
            }
            Some(named)
        }
        Some(ToolChoice::Provider(_)) => {
            warnings.push(
                "the tool choice is not one that local models know; `auto` is used".to_owned(),
            );
            None
        }
        _ => None,
    };
    if forced.as_ref().is_some_and(Vec::is_empty) {
        forced = None;
    }
    let format = match &request.response_format {
        Some(ResponseFormat::JsonObject {}) => Some(Grammar::of_json()?),
        Some(ResponseFormat::JsonSchema { json_schema }) => {
            Some(Grammar::of_schema(&json_schema.schema)?)
        }
        _ => None,
    };
    let (grammar, after, has_tools) = match (forced, format) {
        (Some(forced), _) => (Grammar::of_tools(&forced, is_parallel)?, None, true),
        (None, Some(format)) => {
            if !tools.is_empty() {
                warnings.push(
                    "the response format leaves no room for tool calls, so no tool is called"
                        .to_owned(),
                );
            }
            (format, None, false)
        }
        (None, None) if !tools.is_empty() => {
            (Grammar::of_tools(tools, is_parallel)?, Some(CALL_START), true)
        }
        (None, None) => return Ok((None, false)),
    };
    warnings.extend(grammar.warnings);
    Ok((Some(GrammarUse { text: grammar.text, after }), has_tools))
}

fn plan_sampling(request: &ChatRequest, warnings: &mut Vec<String>) -> Sampling {
    let extra = |name: &str| request.extra_body.get(name).and_then(Value::as_f64);
    let mut bounded = |name: &str, value: f64, least: f64, most: f64| {
        let used = if value.is_finite() { value.clamp(least, most) } else { least };
        if used != value {
            warnings.push(format!("`{name}` is {value}, but {used} was used"));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the engine has single precision")]
        {
            used as f32
        }
    };
    Sampling {
        temperature: bounded(
            "temperature",
            request.temperature.unwrap_or(DEFAULT_TEMPERATURE),
            0.0,
            5.0,
        ),
        top_p: bounded("top_p", request.top_p.unwrap_or(DEFAULT_TOP_P), 0.0, 1.0),
        top_k: i32::try_from(request.top_k.unwrap_or(DEFAULT_TOP_K)).unwrap_or(i32::MAX),
        min_p: bounded("min_p", extra("min_p").unwrap_or(DEFAULT_MIN_P), 0.0, 1.0),
        repeat_penalty: bounded(
            "repeat_penalty",
            extra("repeat_penalty").unwrap_or(1.0),
            0.1,
            10.0,
        ),
        frequency_penalty: bounded(
            "frequency_penalty",
            request.frequency_penalty.unwrap_or(0.0),
            -2.0,
            2.0,
        ),
        presence_penalty: bounded(
            "presence_penalty",
            request.presence_penalty.unwrap_or(0.0),
            -2.0,
            2.0,
        ),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "any 32 bits are a seed"
        )]
        seed: match request.seed {
            Some(seed) => seed as u32,
            // Two hashers of the standard library have different random keys.
            None => RandomState::new().hash_one(0) as u32,
        },
    }
}

#[cfg(test)]
mod tests;
