//! Items that come whole: items → parts.

use serde_json::{Map, Value};

use super::message::without;
use super::server_tools::{further, word};
use crate::chat::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, ImagePart, OpaquePart, ProviderState,
    ResponsePart, ServerToolCallPart, ServerToolResultPart, ToolCallPart,
};

type Item = Map<String, Value>;

/// Returns the parts of an item. `id` is the one by which its result is found.
pub(super) fn parts(item: Item, id: &str, provider: &str) -> Vec<ResponsePart> {
    let state = || Some(Box::new(ProviderState::new(provider, Value::Object(item.clone()))));
    match word(&item, "type") {
        "image_generation_call" if !word(&item, "result").is_empty() => {
            let kept = Value::Object(without(&item, &["result"]));
            vec![ResponsePart::Image(ImagePart {
                mime_type: match word(&item, "output_format") {
                    "" => "image/png".to_owned(),
                    format => format!("image/{format}"),
                },
                data: word(&item, "result").to_owned(),
                provider_state: Some(Box::new(ProviderState::new(provider, kept))),
                ..ImagePart::default()
            })]
        }
        "program" => vec![ResponsePart::CodeExecution(CodeExecutionPart {
            id: Some(id.to_owned()),
            language: "javascript".to_owned(),
            code: word(&item, "code").to_owned(),
            provider_state: state(),
        })],
        "program_output" => vec![ResponsePart::CodeResult(CodeResultPart {
            id: Some(id.to_owned()),
            outcome: outcome(word(&item, "status") != "failed"),
            output: text(item.get("result").or_else(|| item.get("output"))),
            provider_state: state(),
            ..CodeResultPart::default()
        })],
        "sandbox_results" => sandbox(&item, id, provider),
        kind if client_tool(&item).is_some() => {
            let name = kind.strip_suffix("_call").unwrap_or(kind).to_owned();
            vec![ResponsePart::ToolCall(ToolCallPart {
                id: id.to_owned(),
                name,
                arguments: client_tool(&item).unwrap_or_default(),
                provider_state: state(),
            })]
        }
        kind if kind.ends_with("_output") => {
            let content = without(&item, &["type", "id", "call_id", "status"]);
            vec![ResponsePart::ServerToolResult(ServerToolResultPart {
                tool_call_id: id.to_owned(),
                content: Value::Object(content),
                is_error: word(&item, "status") == "failed",
                provider_state: state(),
            })]
        }
        kind if kind.ends_with("_results") => searched(&item, kind, id, provider),
        kind => vec![ResponsePart::Opaque(OpaquePart {
            provider: provider.to_owned(),
            kind: kind.to_owned(),
            data: Value::Object(item),
        })],
    }
}

/// Returns the arguments of a call of a tool that the protocol knows by name and the caller runs; `None` if the item is
/// none.
pub(super) fn client_tool(item: &Item) -> Option<String> {
    let names: &[&str] = match word(item, "type") {
        "shell_call" | "local_shell_call" => &["action"],
        "apply_patch_call" => &["operation"],
        "computer_call" => &["action", "actions", "pending_safety_checks"],
        "tool_search_call" => &["arguments"],
        _ => return None,
    };
    if let [only] = names {
        return Some(item.get(*only).map_or_else(|| "{}".to_owned(), Value::to_string));
    }
    let mut arguments = item.clone();
    arguments.retain(|name, value| names.contains(&name.as_str()) && !value.is_null());
    Some(Value::Object(arguments).to_string())
}

/// Returns a run of code with what it printed.
fn sandbox(item: &Item, id: &str, provider: &str) -> Vec<ResponsePart> {
    let language = Some(word(item, "language")).filter(|word| !word.is_empty());
    let mut parts = vec![ResponsePart::CodeExecution(CodeExecutionPart {
        id: Some(id.to_owned()),
        language: language.unwrap_or("python").to_owned(),
        code: word(item, "code").to_owned(),
        provider_state: Some(Box::new(ProviderState::new(provider, Value::Object(item.clone())))),
    })];
    let results = item.get("results").and_then(Value::as_array);
    for result in results.into_iter().flatten() {
        let exit_code = result.get("exit_code").and_then(Value::as_i64);
        let stderr = text(result.get("stderr"));
        let failed = exit_code.is_some_and(|code| code != 0);
        let stdout = text(result.get("stdout"));
        parts.push(ResponsePart::CodeResult(CodeResultPart {
            id: Some(id.to_owned()),
            outcome: outcome(!failed),
            output: if failed && !stderr.is_empty() { stderr.clone() } else { stdout },
            stderr: Some(stderr).filter(|text| !text.is_empty()),
            exit_code,
            provider_state: further(item, provider),
            ..CodeResultPart::default()
        }));
    }
    parts
}

/// Returns the result of a provider's tool that is reported without its call.
fn searched(item: &Item, kind: &str, id: &str, provider: &str) -> Vec<ResponsePart> {
    let (mut asked, mut found) = (Item::new(), Item::new());
    for (name, value) in item {
        match name.as_str() {
            "type" | "id" | "status" => {}
            "queries" | "query" | "urls" => {
                asked.insert(name.clone(), value.clone());
            }
            _ => {
                found.insert(name.clone(), value.clone());
            }
        }
    }
    let whole = ProviderState::new(provider, Value::Object(item.clone()));
    vec![
        ResponsePart::ServerToolCall(ServerToolCallPart {
            id: id.to_owned(),
            name: kind.strip_suffix("_results").unwrap_or(kind).to_owned(),
            arguments: Value::Object(asked),
            provider_state: Some(Box::new(whole)),
        }),
        ResponsePart::ServerToolResult(ServerToolResultPart {
            tool_call_id: id.to_owned(),
            content: Value::Object(found),
            is_error: false,
            provider_state: further(item, provider),
        }),
    ]
}

fn outcome(well: bool) -> CodeOutcome {
    if well { CodeOutcome::Ok } else { CodeOutcome::Error }
}

fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}
