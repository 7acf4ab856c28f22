//! No value of a body is lost: each is in the response, typed or as metadata, or it is on the list below.

use std::collections::HashSet;

use serde_json::Value;

use crate::recordings::corpus::Recording;
use crate::recordings::over;

/// Where values are that a response does not repeat, as the ends of paths. Lists are `[]`.
///
/// They say what the typed form says in other words (kinds, roles, units, sums of counts), repeat the request (Responses), or
/// say nothing (paddings, fixed fingerprints).
const NOT_KEPT: &[&str] = &[
    // Kinds and roles.
    "role",
    "type",
    "object",
    "modality",
    "codeExecutionResult.outcome",
    "executableCode.language",
    "status",
    // Counts and costs that are added up or converted.
    "usage.input_tokens",
    "promptTokenCount",
    "candidatesTokenCount",
    "toolUsePromptTokenCount",
    "tokenCount",
    "cost_in_usd_ticks",
    "usage.prompt_tokens",
    "usage.completion_tokens",
    "completion_tokens_details.reasoning_tokens",
    "tool_calls.[].index",
    "prompt_tokens_details.cached_tokens",
    // The time of creation in another form.
    "createTime",
    "created_at",
    // The conversation as numbers, which an older call of Ollama repeats.
    "context.[]",
    "function.index",
    "done",
    // Numbers of tokens, of which the texts are kept.
    "token_ids.[]",
    // Text that is split into thinking and text, and arguments that are split into fields.
    "message.content",
    "response",
    "executed_tools.[].arguments",
    // Fixed words.
    "system_fingerprint",
];

/// The fields of the request that a Responses body repeats.
const REPEATED: &[&str] = &[
    "instructions",
    "input",
    "tools",
    "tool_choice",
    "text",
    "prompt",
    "temperature",
    "top_p",
    "truncation",
    "max_output_tokens",
    "max_tool_calls",
    "reasoning",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "top_logprobs",
];

fn leaves<'a>(value: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(value, &format!("{path}.{name}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                leaves(item, &format!("{path}.[]"), found);
            }
        }
        other => found.push((path.to_owned(), other)),
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) if number.as_f64() != Some(0.0) => Some(
            number.as_f64().map_or_else(|| number.to_string(), |number| format!("{number:.10e}")),
        ),
        _ => None,
    }
}

fn is_kept(recording: &Recording) -> Result<(), String> {
    if !recording.is_answer() || recording.streaming {
        return Ok(());
    }
    let Ok(body) = serde_json::from_slice::<Value>(&recording.body) else { return Ok(()) };
    let decoded = recording.decode();
    let response = serde_json::to_value(decoded.response()?).unwrap();
    let mut found = Vec::new();
    leaves(&response, "", &mut found);
    // The arguments of a call are an object on some wires and text in every response.
    let arguments: Vec<Value> = found
        .iter()
        .filter_map(|(path, value)| value.as_str().filter(|_| path.ends_with(".arguments")))
        .filter_map(|text| serde_json::from_str(text).ok())
        .collect();
    arguments.iter().for_each(|value| leaves(value, "", &mut found));
    let values: HashSet<String> = found.iter().filter_map(|(_, value)| shown(value)).collect();
    let texts: String = found.iter().filter_map(|(_, value)| value.as_str()).collect();
    let mut wire = Vec::new();
    leaves(&body, "", &mut wire);
    let repeated = |path: &str| {
        recording.protocol == agentloop::Protocol::OpenAiResponses
            && REPEATED.iter().any(|name| {
                path.strip_prefix('.').is_some_and(|path| path.split('.').next() == Some(*name))
            })
    };
    let lost: Vec<String> = wire
        .into_iter()
        .filter(|(path, _)| !NOT_KEPT.iter().any(|end| path.ends_with(&format!(".{end}"))))
        .filter(|(path, _)| !repeated(path))
        .filter_map(|(path, value)| {
            let shown = shown(value)?;
            let within = value.as_str().is_some_and(|text| texts.contains(text));
            (!values.contains(&shown) && !within).then(|| format!("{path} = {value:.60}"))
        })
        .collect();
    if lost.is_empty() { Ok(()) } else { Err(lost.join(", ")) }
}

#[test]
fn every_value_of_a_body_is_in_the_response() {
    for wire in crate::recordings::corpus::CHAT_WIRES {
        over(wire, is_kept);
    }
}
