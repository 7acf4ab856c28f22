//! What is particular to the wire of OpenAI's responses: a second, naive reading of it, and how it says why it ended.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::corpus::Recording;
use crate::recordings::{agree, over};

/// All that a reader may not lose, in order.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    text: String,
    thinking: Vec<String>,
    encrypted: Vec<String>,
    calls: Vec<(String, String, String)>,
    code: String,
    citations: usize,
    images: usize,
    item_ids: Vec<String>,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    agree(recording, of_response, of_wire)
}

/// Usage as on the wire.
fn counts(recording: &Recording) -> Result<(), String> {
    let read = |response: &ChatResponse| {
        let (usage, details) = (&response.usage, &response.usage.details);
        let total = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
        (total, details.cached_tokens, details.reasoning_tokens)
    };
    let wire = |recording: &Recording| {
        let wire = &answer(recording)["usage"];
        let names = ["input_tokens", "output_tokens", "total_tokens"];
        let cached = wire["input_tokens_details"]["cached_tokens"].as_u64();
        let reasoning = wire["output_tokens_details"]["reasoning_tokens"].as_u64();
        (names.map(|name| wire[name].as_u64()), cached, reasoning)
    };
    agree(recording, read, wire)
}

/// Whether an event ends the response.
pub(crate) fn says_why(text: &str) -> bool {
    let ends = ["response.completed", "response.incomplete", "response.failed", "[DONE]"];
    let mut lines = text.lines().filter(|line| line.starts_with("data:"));
    lines.any(|line| {
        let data = line.trim_start_matches("data:").trim();
        data == "[DONE]"
            || serde_json::from_str::<Value>(data)
                .is_ok_and(|event| ends.iter().any(|end| event["type"] == *end))
    })
}

/// Whether the response has the feature in the form that only this wire has.
pub(crate) fn shows(response: &ChatResponse, feature: &str) -> bool {
    let made_of = |part: &ResponsePart, test: &dyn Fn(&Value) -> bool| {
        part.provider_state().is_some_and(|state| test(&state.data))
    };
    let any = |test: &dyn Fn(&Value) -> bool| {
        response.choices.iter().flat_map(|choice| &choice.content).any(|part| made_of(part, test))
    };
    match feature {
        "redacted_thinking" => any(&|item| item["encrypted_content"].is_string()),
        "server_tool" => any(&|item| item["type"] == "image_generation_call"),
        // The provider sends them only on request.
        "search_results" => any(&|item| {
            matches!(item["type"].as_str(), Some("web_search_call" | "file_search_call"))
                && item["results"].is_null()
                && item["action"]["sources"].is_null()
        }),
        _ => false,
    }
}

fn of_response(response: &ChatResponse) -> Sums {
    let mut sums = Sums::default();
    for part in &response.choices[0].content {
        let state = part.provider_state().map(|state| &state.data);
        if let Some(state) = state.filter(|state| state["more"] != true) {
            sums.item_ids.push(string(&state["id"]));
            sums.encrypted.extend(state["encrypted_content"].as_str().map(str::to_owned));
        }
        match part {
            ResponsePart::Text(text) => {
                sums.text.push_str(&text.text);
                sums.citations += text.citations.len();
            }
            ResponsePart::Thinking(thinking) => sums.thinking.push(thinking.thinking.clone()),
            ResponsePart::ToolCall(call) => {
                sums.calls.push((call.id.clone(), call.name.clone(), call.arguments.clone()));
            }
            ResponsePart::CodeExecution(code) => sums.code.push_str(&code.code),
            ResponsePart::Image(_) => sums.images += 1,
            ResponsePart::Opaque(opaque) => sums.item_ids.push(string(&opaque.data["id"])),
            _ => {}
        }
    }
    // Items that run side by side end in any order.
    sums.item_ids.sort();
    sums
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn of_wire(recording: &Recording) -> Sums {
    let mut sums = Sums::default();
    for item in items(recording) {
        let text = |name: &str| string(&item[name]);
        let joined = |name: &str, field: &str| -> Vec<String> {
            item[name].as_array().into_iter().flatten().map(|part| string(&part[field])).collect()
        };
        sums.item_ids.push(text("id"));
        match item["type"].as_str().unwrap() {
            "message" => {
                for content in item["content"].as_array().unwrap() {
                    sums.text.push_str(&string(&content["text"]));
                    sums.text.push_str(&string(&content["refusal"]));
                    sums.citations += content["annotations"].as_array().map_or(0, Vec::len);
                }
            }
            "reasoning" => {
                let (content, summary) = (joined("content", "text"), joined("summary", "text"));
                let text = if content.is_empty() { summary } else { content };
                sums.thinking.push(text.join("\n\n"));
                sums.encrypted.extend(item["encrypted_content"].as_str().map(str::to_owned));
            }
            "function_call" => sums.calls.push((text("call_id"), text("name"), text("arguments"))),
            "tool_search_call" if item["execution"] == "client" => {
                let arguments = item["arguments"].to_string();
                sums.calls.push((text("call_id"), "tool_search".to_owned(), arguments));
            }
            "program" => sums.code.push_str(&text("code")),
            "code_interpreter_call" => {
                let arguments = serde_json::from_str(&text("arguments")).unwrap_or(Value::Null);
                sums.code.push_str(&string(&arguments["code"]));
                sums.code.push_str(&text("code"));
                let outputs = item["outputs"].as_array().into_iter().flatten();
                sums.images += outputs.filter(|output| output["type"] == "image").count();
            }
            "image_generation_call" => sums.images += 1,
            _ => {}
        }
    }
    sums.item_ids.sort();
    sums
}

/// The response as it is repeated at the end.
fn answer(recording: &Recording) -> Value {
    if !recording.streaming {
        return serde_json::from_slice(&recording.body).unwrap();
    }
    let last = recording.values().into_iter().rfind(|event| event["response"].is_object());
    last.unwrap()["response"].take()
}

/// The items of a body; of a stream those that ended, in their order.
fn items(recording: &Recording) -> Vec<Value> {
    if !recording.streaming {
        return answer(recording)["output"].as_array().unwrap().clone();
    }
    let mut done = recording.values();
    done.retain(|event| event["type"] == "response.output_item.done");
    done.sort_by_key(|event| event["output_index"].as_u64());
    done.into_iter().map(|mut event| event["item"].take()).collect()
}

laws_of!("openai-responses", crate::recordings::responses::agrees);

#[test]
fn usage_matches_the_counts_on_the_wire() {
    over("openai-responses", counts);
}
