//! Fields that belong to one choice stay with it.

use agentloop::{ChatStreamEvent, Fold, Protocol};
use serde_json::{Value, json};

use super::{body_of, stream_of};

fn choices(field: &str) -> Value {
    let filtered = |severity: &str| json!({ "hate": { "filtered": false, "severity": severity } });
    json!({
        "id": "c", "model": "m", "choices": [
            { "index": 0, "finish_reason": "stop", field: { "role": "assistant", "content": "one" },
              "native_finish_reason": "STOP", "content_filter_results": filtered("safe") },
            { "index": 1, "finish_reason": "length", field: { "role": "assistant", "content": "two" },
              "native_finish_reason": "MAX_TOKENS", "content_filter_results": filtered("low") },
        ],
    })
}

#[test]
fn choices_do_not_overwrite_each_others_metadata() {
    let body = body_of("openai", Protocol::OpenAiChat, &choices("message"));
    let [first, second] = body.choices.as_slice() else { panic!("two choices") };
    assert_eq!(first.provider_metadata["nativeFinishReason"], "STOP");
    assert_eq!(second.provider_metadata["nativeFinishReason"], "MAX_TOKENS");
    assert_eq!(second.provider_metadata["contentFilterResults"]["hate"]["severity"], "low");
    assert!(!body.provider_metadata.contains_key("nativeFinishReason"));
    assert_eq!(stream_of("openai", Protocol::OpenAiChat, &[choices("delta")]), body);
}

#[test]
fn candidates_do_not_overwrite_each_others_metadata() {
    let candidate = |index: u32, probability: &str| {
        json!({ "index": index, "finishReason": "STOP", "avgLogprobs": -0.5 - f64::from(index),
                "content": { "parts": [{ "text": "hi" }] },
                "safetyRatings": [{ "category": "X", "probability": probability }] })
    };
    let body = json!({ "candidates": [candidate(0, "LOW"), candidate(1, "HIGH")] });
    let response = body_of("google", Protocol::Gemini, &body);
    let rating = |at: usize| {
        response.choices[at].provider_metadata["safetyRatings"][0]["probability"].clone()
    };
    assert_eq!((rating(0), rating(1)), (json!("LOW"), json!("HIGH")));
    assert_eq!(response.choices[1].provider_metadata["avgLogprobs"], -1.5);
    // The first candidate's ratings are also the response's.
    assert_eq!(response.provider_metadata["safetyRatings"][0]["probability"], "LOW");
    assert_eq!(stream_of("google", Protocol::Gemini, &[body]), response);
}

#[test]
fn a_metadata_event_without_a_choice_belongs_to_the_response() {
    let mut fold = Fold::new();
    for event in [
        json!({ "type": "message.start", "id": "r", "model": "m", "provider": "p" }),
        json!({ "type": "metadata", "providerMetadata": { "a": 1 } }),
        json!({ "type": "metadata", "choiceIndex": 1, "providerMetadata": { "a": 2, "b": 3 } }),
        json!({ "type": "metadata", "choiceIndex": 1, "providerMetadata": { "b": 4 } }),
        json!({ "type": "message.delta", "choiceIndex": 1, "finishReason": "stop" }),
    ] {
        fold.push(&serde_json::from_value::<ChatStreamEvent>(event).unwrap()).unwrap();
    }
    let response = serde_json::to_value(fold.finish().unwrap()).unwrap();
    assert_eq!(response["providerMetadata"], json!({ "a": 1 }));
    assert_eq!(response["choices"][0]["providerMetadata"], json!({ "a": 2, "b": 4 }));
}
