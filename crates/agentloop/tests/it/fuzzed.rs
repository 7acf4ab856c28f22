//! What fuzzing found, reduced.

use crate::support;

use agentloop::ChatResponse;
use serde_json::{Value, json};
use support::{Wire, decode};

#[track_caller]
fn answered(wire: &Wire, body: &Value) -> ChatResponse {
    let response = decode(wire, body.to_string().as_bytes()).response().unwrap();
    let stored = serde_json::to_string(&response).unwrap();
    assert_eq!(serde_json::from_str::<ChatResponse>(&stored).unwrap(), response);
    response
}

/// A finish reason that was kept as an unknown value became, once stored, the known reason of the same name.
#[test]
fn a_reason_in_our_own_words_is_that_reason() {
    for word in ["stop", "length", "content_filter", "error", "tool_calls", "of_tomorrow"] {
        let answers = [
            answered(
                &Wire::of("groq"),
                &json!({ "choices": [{ "message": { "content": "a" }, "finish_reason": word }] }),
            ),
            answered(
                &Wire::of_responses(false),
                &json!({ "id": "r", "object": "response", "status": "incomplete", "output": [],
                    "incomplete_details": { "reason": word } }),
            ),
            answered(
                &Wire::of("anthropic"),
                &json!({ "type": "message", "content": [], "stop_reason": word }),
            ),
            answered(
                &Wire::of("google"),
                &json!({ "candidates": [{ "content": { "parts": [{ "text": "a" }] }, "finishReason": word }] }),
            ),
        ];
        for answer in answers {
            // No response here has pending calls.
            let expected = if word == "tool_calls" { "stop" } else { word };
            assert_eq!(answer.finish_reason().unwrap().as_str(), expected, "{}", answer.provider);
        }
    }
}
