//! The laws over Cohere's own traffic, and a second, naive reading of its wire.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::agree;
use crate::recordings::corpus::Recording;

laws_of!("cohere-v2", crate::recordings::cohere::agrees);

/// All words, calls, sources and counts, on both sides.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    text: String,
    thinking: String,
    calls: Vec<String>,
    /// Where the cited words begin and end.
    cited: Vec<[Option<u64>; 2]>,
    counts: [Option<u64>; 3],
    reason: Option<String>,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    agree(recording, of_response, of_wire)
}

fn of_response(response: &ChatResponse) -> Sums {
    let usage = &response.usage;
    let mut sums = Sums {
        counts: [usage.prompt_tokens, usage.completion_tokens, usage.details.cached_tokens],
        reason: response.choices[0].raw_finish_reason.clone(),
        ..Sums::default()
    };
    for part in &response.choices[0].content {
        match part {
            ResponsePart::Text(text) => {
                sums.text.push_str(&text.text);
                for citation in &text.citations {
                    sums.cited.push(match citation {
                        agentloop::Citation::Url(url) => [url.start_index, url.end_index],
                        agentloop::Citation::File(file) => [file.start_index, file.end_index],
                        other => panic!("{other:?}"),
                    });
                }
            }
            ResponsePart::Thinking(thoughts) => sums.thinking.push_str(&thoughts.thinking),
            ResponsePart::ToolCall(call) => {
                sums.calls.push(format!("{} {} {}", call.id, call.name, call.arguments));
            }
            other => panic!("{other:?}"),
        }
    }
    sums
}

fn of_wire(recording: &Recording) -> Sums {
    let mut sums = Sums::default();
    let text = String::from_utf8_lossy(&recording.body);
    if !recording.streaming {
        let body: Value = serde_json::from_str(&text).unwrap();
        let message = &body["message"];
        sums.thinking.push_str(message["tool_plan"].as_str().unwrap_or_default());
        message["content"].as_array().into_iter().flatten().for_each(|it| words(it, &mut sums));
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            sums.calls.push(begun(call));
        }
        message["citations"].as_array().into_iter().flatten().for_each(|it| cited(it, &mut sums));
        end(&body, &mut sums);
        return sums;
    }
    for line in text.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let message = &event["delta"]["message"];
        words(&message["content"], &mut sums);
        sums.thinking.push_str(message["tool_plan"].as_str().unwrap_or_default());
        if message["citations"].is_object() {
            cited(&message["citations"], &mut sums);
        }
        let call = &message["tool_calls"];
        if call["id"].is_string() {
            sums.calls.push(begun(call));
        } else if let Some(more) = call["function"]["arguments"].as_str() {
            sums.calls.last_mut().unwrap().push_str(more);
        }
        if event["type"] == "message-end" {
            end(&event["delta"], &mut sums);
        }
    }
    // No arguments at all are an empty object.
    for call in sums.calls.iter_mut().filter(|call| call.ends_with(' ')) {
        call.push_str("{}");
    }
    sums
}

fn words(block: &Value, sums: &mut Sums) {
    sums.text.push_str(block["text"].as_str().unwrap_or_default());
    sums.thinking.push_str(block["thinking"].as_str().unwrap_or_default());
}

fn begun(call: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let function = &call["function"];
    format!("{} {} {}", text(&call["id"]), text(&function["name"]), text(&function["arguments"]))
}

fn cited(citation: &Value, sums: &mut Sums) {
    if citation["type"].as_str().is_none_or(|kind| kind == "TEXT_CONTENT") {
        let places = [citation["start"].as_u64(), citation["end"].as_u64()];
        let sources = citation["sources"].as_array().unwrap().len();
        sums.cited.extend(std::iter::repeat_n(places, sources));
    }
}

fn end(value: &Value, sums: &mut Sums) {
    let usage = if value["usage"].is_object() { &value["usage"] } else { &value["meta"] };
    let tokens = &usage["tokens"];
    sums.counts = [
        tokens["input_tokens"].as_u64(),
        tokens["output_tokens"].as_u64(),
        usage["cached_tokens"].as_u64(),
    ];
    sums.reason = value["finish_reason"].as_str().map(str::to_owned);
}
