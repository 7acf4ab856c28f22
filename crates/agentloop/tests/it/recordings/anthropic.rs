//! What is particular to Anthropic's wire: a second, naive reading of it, and how it says why it ended.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::corpus::Recording;
use crate::recordings::{agree, over};

/// All that a reader may not lose, in order.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    text: String,
    thinking: String,
    signatures: String,
    redacted: Vec<String>,
    calls: Vec<(String, String, Value)>,
    server_ids: Vec<String>,
    citations: usize,
    blocks: usize,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    agree(recording, of_response, of_wire)
}

/// Usage as on the wire: counts beside the input belong to the prompt.
fn counts(recording: &Recording) -> Result<(), String> {
    let read = |response: &ChatResponse| {
        let usage = &response.usage;
        (usage.prompt_tokens, usage.completion_tokens, usage.details.cached_tokens)
    };
    agree(recording, read, counts_of_wire)
}

fn counts_of_wire(recording: &Recording) -> (Option<u64>, Option<u64>, Option<u64>) {
    let mut wire = serde_json::Map::new();
    for step in recording.values() {
        for usage_object in [&step["usage"], &step["message"]["usage"]] {
            for (name, value) in usage_object.as_object().into_iter().flatten() {
                if !value.is_null() {
                    wire.insert(name.clone(), value.clone());
                }
            }
        }
    }
    let number = |name: &str| wire.get(name).and_then(Value::as_u64);
    let cache = number("cache_read_input_tokens").unwrap_or(0)
        + number("cache_creation_input_tokens").unwrap_or(0);
    let prompt = number("input_tokens").map(|input| input + cache);
    (prompt, number("output_tokens"), number("cache_read_input_tokens"))
}

/// Whether some event names the reason of the end.
pub(crate) fn says_why(text: &str) -> bool {
    text.contains("message_stop")
        || text.match_indices("\"stop_reason\"").any(|(at, _)| {
            let rest = text[at + 13..].trim_start_matches([':', ' ']);
            rest.starts_with('"')
        })
}

fn of_response(response: &ChatResponse) -> Sums {
    let mut sums = Sums::default();
    let content = &response.choices[0].content;
    sums.blocks = content.len();
    for part in content {
        match part {
            ResponsePart::Text(text) => {
                sums.text.push_str(&text.text);
                sums.citations += text.citations.len();
            }
            ResponsePart::Thinking(thinking) => {
                sums.thinking.push_str(&thinking.thinking);
                sums.signatures.push_str(thinking.signature.as_deref().unwrap_or_default());
            }
            ResponsePart::RedactedThinking(redacted) => sums.redacted.push(redacted.data.clone()),
            ResponsePart::ToolCall(call) => {
                sums.calls.push((
                    call.id.clone(),
                    call.name.clone(),
                    json_or_text(&call.arguments),
                ));
            }
            ResponsePart::ServerToolCall(call) => sums.server_ids.push(call.id.clone()),
            ResponsePart::CodeExecution(code) => sums.server_ids.push(code.id.clone().unwrap()),
            ResponsePart::ServerToolResult(result) => {
                sums.server_ids.push(result.tool_call_id.clone());
            }
            ResponsePart::CodeResult(result) => sums.server_ids.push(result.id.clone().unwrap()),
            _ => {}
        }
    }
    sums
}

/// Arguments that were cut off are no JSON.
fn json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

/// Blocks of a body, or of a stream put together block by block.
fn blocks(recording: &Recording) -> Vec<Value> {
    let mut blocks: Vec<Value> = Vec::new();
    for step in recording.values() {
        if let Some(content) = step["content"].as_array() {
            blocks.clone_from(content);
        }
        if !step["content_block"].is_null() {
            blocks.push(step["content_block"].clone());
        }
        let delta = &step["delta"];
        let (Some(index), Some(kind)) = (step["index"].as_u64(), delta["type"].as_str()) else {
            continue;
        };
        let block = &mut blocks[usize::try_from(index).unwrap()];
        let mut add = |to: &str, from: &str| {
            let sum = block[to].as_str().unwrap_or_default().to_owned()
                + delta[from].as_str().unwrap_or_default();
            block[to] = Value::String(sum);
        };
        match kind {
            "text_delta" => add("text", "text"),
            "thinking_delta" => add("thinking", "thinking"),
            "signature_delta" => add("signature", "signature"),
            "input_json_delta" => add("streamed", "partial_json"),
            "citations_delta" => {
                let mut citations = block["citations"].as_array().cloned().unwrap_or_default();
                citations.push(delta["citation"].clone());
                block["citations"] = Value::Array(citations);
            }
            other => panic!("a delta of the kind {other}"),
        }
    }
    blocks
}

fn of_wire(recording: &Recording) -> Sums {
    let mut sums = Sums::default();
    for block in blocks(recording) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        sums.blocks += 1;
        match block["type"].as_str().unwrap() {
            "text" => {
                sums.text.push_str(&text("text"));
                sums.citations += block["citations"].as_array().map_or(0, Vec::len);
            }
            "thinking" => {
                sums.thinking.push_str(&text("thinking"));
                sums.signatures.push_str(&text("signature"));
            }
            "redacted_thinking" => sums.redacted.push(text("data")),
            "tool_use" => {
                let input = match text("streamed").as_str() {
                    "" => block["input"].clone(),
                    streamed => json_or_text(streamed),
                };
                sums.calls.push((text("id"), text("name"), input));
            }
            "server_tool_use" | "mcp_tool_use" => sums.server_ids.push(text("id")),
            kind if kind.ends_with("_tool_result") => sums.server_ids.push(text("tool_use_id")),
            _ => {}
        }
    }
    sums
}

laws_of!("anthropic-messages", crate::recordings::anthropic::agrees);

#[test]
fn usage_matches_the_counts_on_the_wire() {
    over("anthropic-messages", counts);
}
