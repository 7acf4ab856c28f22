//! The laws over Ollama's own traffic, and a second, naive reading of its wire.

use agentloop::{ChatResponse, ResponsePart};
use serde_json::Value;

use crate::recordings::agree;
use crate::recordings::corpus::Recording;

laws_of!("ollama-native", crate::recordings::ollama::agrees);

/// Whether some line ends the response.
pub(crate) fn says_why(text: &str) -> bool {
    text.lines().any(|line| {
        serde_json::from_str(line).is_ok_and(|value: Value| value["done"] == Value::Bool(true))
    })
}

/// All words, all calls and the counts, on both sides.
#[derive(Debug, Default, PartialEq)]
struct Sums {
    /// Text and thinking without white space and tags, which belong to neither.
    words: String,
    calls: Vec<String>,
    counts: [Option<u64>; 2],
    reason: Option<String>,
}

pub(crate) fn agrees(recording: &Recording) -> Result<(), String> {
    agree(recording, of_response, of_wire)
}

fn words(text: &str) -> String {
    let plain = text.replace("<think>", "").replace("</think>", "");
    plain.chars().filter(|letter| !letter.is_whitespace()).collect()
}

fn of_response(response: &ChatResponse) -> Sums {
    let mut sums = Sums {
        counts: [response.usage.prompt_tokens, response.usage.completion_tokens],
        reason: response.choices[0].raw_finish_reason.clone(),
        ..Sums::default()
    };
    for part in &response.choices[0].content {
        match part {
            ResponsePart::Text(text) => sums.words.push_str(&words(&text.text)),
            ResponsePart::Thinking(thoughts) => sums.words.push_str(&words(&thoughts.thinking)),
            ResponsePart::ToolCall(call) => {
                assert!(!call.id.is_empty());
                let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
                sums.calls.push(format!("{} {arguments}", call.name));
            }
            other => panic!("{other:?}"),
        }
    }
    sums
}

fn of_wire(recording: &Recording) -> Sums {
    let mut sums = Sums::default();
    let text = String::from_utf8_lossy(&recording.body);
    for value in serde_json::Deserializer::from_str(&text).into_iter::<Value>() {
        let value = value.unwrap();
        let message = &value["message"];
        for text in [&message["thinking"], &message["content"], &value["response"]] {
            sums.words.push_str(&words(text.as_str().unwrap_or_default()));
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let name = function["name"].as_str().unwrap();
            sums.calls.push(format!("{name} {}", function["arguments"]));
        }
        for (at, name) in ["prompt_eval_count", "eval_count"].iter().enumerate() {
            sums.counts[at] = value[name].as_u64().or(sums.counts[at]);
        }
        sums.reason = value["done_reason"].as_str().map(str::to_owned).or(sums.reason);
    }
    sums
}
