//! The laws over the traffic of Amazon Bedrock's Converse, and a second, naive reading of its wire.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::agree;
use crate::recordings::corpus::Recording;

laws_of!("bedrock-converse", crate::recordings::bedrock::agrees);

/// All words, calls, sources and counts, on both sides.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    text: String,
    thinking: String,
    calls: Vec<(String, String, Value)>,
    citations: usize,
    counts: [Option<u64>; 2],
    reason: Option<String>,
}

/// Reads frames without looking at their checksums: the names of events, and their content.
pub(crate) fn events(mut bytes: &[u8]) -> Vec<(String, Value)> {
    let mut events = Vec::new();
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap()) as usize;
    while bytes.len() >= 16 {
        let (length, headers) = (number(&bytes[..4]), number(&bytes[4..8]));
        let Some(frame) = bytes.get(..length) else { break };
        let head = String::from_utf8_lossy(&frame[12..12 + headers]).into_owned();
        let name = head.split(":event-type\u{7}\0").nth(1).unwrap_or_default();
        let length = usize::from(name.as_bytes().first().copied().unwrap_or_default());
        let name = name.get(1..=length).unwrap_or_default().to_owned();
        let content = &frame[12 + headers..frame.len() - 4];
        events.push((name, serde_json::from_slice(content).unwrap()));
        bytes = &bytes[frame.len()..];
    }
    events
}

/// Whether the end of the content has arrived.
pub(crate) fn has_stopped(bytes: &[u8]) -> bool {
    events(bytes).iter().any(|(name, _)| name == "messageStop")
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    agree(recording, of_response, of_wire)
}

fn of_response(response: &ChatResponse) -> Sums {
    let usage = &response.usage;
    let mut sums = Sums {
        counts: [usage.prompt_tokens, usage.completion_tokens],
        reason: response.choices[0].raw_finish_reason.clone(),
        ..Sums::default()
    };
    for part in &response.choices[0].content {
        match part {
            ResponsePart::Text(text) => {
                sums.text.push_str(&text.text);
                sums.citations += text.citations.len();
            }
            ResponsePart::Thinking(thoughts) => sums.thinking.push_str(&thoughts.thinking),
            ResponsePart::ToolCall(call) => {
                sums.calls.push((call.id.clone(), call.name.clone(), call.parse().unwrap()));
            }
            ResponsePart::ServerToolCall(call) => {
                sums.calls.push((call.id.clone(), call.name.clone(), call.arguments.clone()));
            }
            ResponsePart::ServerToolResult(_) => {}
            other => panic!("{other:?}"),
        }
    }
    sums
}

fn of_wire(recording: &Recording) -> Sums {
    let mut sums = Sums::default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !recording.streaming {
        let body: Value = serde_json::from_slice(&recording.body).unwrap();
        for block in body["output"]["message"]["content"].as_array().unwrap() {
            sums.text += &text(&block["text"]);
            let cited = &block["citationsContent"];
            sums.text += &text(&cited["content"][0]["text"]);
            sums.citations += cited["citations"].as_array().map_or(0, Vec::len);
            sums.thinking += &text(&block["reasoningContent"]["reasoningText"]["text"]);
            let call = &block["toolUse"];
            if call.is_object() {
                let input = call["input"].clone();
                sums.calls.push((text(&call["toolUseId"]), text(&call["name"]), input));
            }
        }
        end(&body, &mut sums);
        return sums;
    }
    let mut inputs: Vec<String> = Vec::new();
    for (name, event) in events(&recording.body) {
        let delta = &event["delta"];
        sums.text += &text(&delta["text"]);
        sums.thinking += &text(&delta["reasoningContent"]["text"]);
        sums.citations += usize::from(delta["citation"].is_object());
        let call = &event["start"]["toolUse"];
        if call.is_object() {
            sums.calls.push((text(&call["toolUseId"]), text(&call["name"]), Value::Null));
            inputs.push(String::new());
        }
        if let Some(input) = delta["toolUse"]["input"].as_str() {
            inputs.last_mut().unwrap().push_str(input);
        }
        if matches!(name.as_str(), "messageStop" | "metadata") {
            end(&event, &mut sums);
        }
    }
    for (call, input) in sums.calls.iter_mut().zip(inputs) {
        call.2 = serde_json::from_str(&input).unwrap();
    }
    sums
}

fn end(value: &Value, sums: &mut Sums) {
    if let Some(reason) = value["stopReason"].as_str() {
        sums.reason = Some(reason.to_owned());
    }
    let usage = &value["usage"];
    if usage.is_object() {
        sums.counts = [usage["inputTokens"].as_u64(), usage["outputTokens"].as_u64()];
    }
}
