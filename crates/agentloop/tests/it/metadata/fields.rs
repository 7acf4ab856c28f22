//! Fields that no type has are provider metadata.

use agentloop::inspect;
use agentloop::{AgentLoop, ChatMessage, ChatRequest, Protocol};
use serde_json::{Value, json};

use super::{body_of, stream_of};

#[test]
fn unknown_fields_of_a_chat_completion_are_metadata_of_the_response_or_the_choice() {
    let usage = json!({ "prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7, "queue_time": 0.5,
                        "prompt_tokens_details": { "cached_tokens": 1, "text_tokens": 2 },
                        "cost": { "total_cost": 0.25, "request_cost": 0.2 } });
    let chunk = |field: &str| {
        let message =
            json!({ "role": "assistant", "content": "hi", "gateway_route": { "final_stop": "x" } });
        let choice =
            json!({ "index": 0, "finish_reason": "stop", "matched_stop": 200_002, field: message });
        json!({ "id": "c", "object": "chat.completion", "model": "m", "time_info": { "total_time": 1.5 },
                "x_groq": { "id": "req_1", "seed": 7 }, "nothing": null, "usage": usage, "choices": [choice] })
    };
    let response = body_of("openai", Protocol::OpenAiChat, &chunk("message"));
    assert_eq!(
        Value::Object(response.provider_metadata.clone()),
        json!({
            "usage": { "queue_time": 0.5, "cost": { "total_cost": 0.25, "request_cost": 0.2 },
                       "prompt_tokens_details": { "text_tokens": 2 } },
            "xGroq": { "id": "req_1", "seed": 7 },
            "timeInfo": { "total_time": 1.5 },
        })
    );
    assert_eq!(
        Value::Object(response.choices[0].provider_metadata.clone()),
        json!({ "matchedStop": 200_002, "gatewayRoute": { "final_stop": "x" } })
    );
    assert_eq!(stream_of("openai", Protocol::OpenAiChat, &[chunk("delta")]), response);
}

#[test]
fn unknown_fields_of_the_other_protocols_are_metadata_too() {
    let candidate = json!({ "content": { "parts": [{ "text": "hi" }] }, "finishReason": "STOP", "tokenCount": 9 });
    let usage = json!({ "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2,
                        "cacheTokensDetails": [{ "modality": "TEXT", "tokenCount": 1 }] });
    let body = json!({ "candidates": [candidate], "usageMetadata": usage, "newField": [1] });
    let response = body_of("google", Protocol::Gemini, &body);
    assert_eq!(response.provider_metadata["newField"], json!([1]));
    assert_eq!(
        response.provider_metadata["usageMetadata"]["cacheTokensDetails"][0]["modality"],
        "TEXT"
    );
    assert_eq!(response.choices[0].provider_metadata["tokenCount"], 9);
    assert_eq!(stream_of("google", Protocol::Gemini, &[body]), response);

    let usage =
        json!({ "input_tokens": 1, "output_tokens": 1, "cost_details": { "upstream": 0.5 } });
    let body = json!({ "type": "message", "id": "m", "role": "assistant", "model": "m", "new_field": 5,
                       "content": [{ "type": "text", "text": "hi" }], "stop_reason": "end_turn", "usage": usage });
    let response = body_of("anthropic", Protocol::Anthropic, &body);
    assert_eq!(response.provider_metadata["newField"], 5);
    assert_eq!(response.provider_metadata["usage"], json!({ "cost_details": { "upstream": 0.5 } }));

    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "context_details": { "input_tokens": 8 },
                        "output_tokens_details": { "reasoning_tokens": 0, "image_tokens": 3 } });
    let body = json!({ "id": "r", "object": "response", "status": "completed", "model": "m", "completed_at": 17,
                       "temperature": 0.3, "output": [], "usage": usage });
    let response = body_of("openai", Protocol::OpenAiResponses, &body);
    assert_eq!(
        Value::Object(response.provider_metadata),
        json!({ "completedAt": 17, "usage": { "context_details": { "input_tokens": 8 },
                "output_tokens_details": { "image_tokens": 3 } } })
    );
}

#[test]
fn a_signature_of_the_message_is_sent_back_with_its_text() {
    let extra = json!({ "google": { "thought_signature": "c2ln" } });
    let message = json!({ "role": "assistant", "content": "hi", "extra_content": extra });
    let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
    let body = json!({ "id": "c", "model": "m", "choices": [choice] });
    let response = body_of("google", Protocol::OpenAiChat, &body);
    let state = response.choices[0].content[0].provider_state().unwrap();
    assert_eq!(state.data["extra_content"], extra);

    let mut response = body_of("openrouter", Protocol::OpenAiChat, &body);
    response.provider = "openrouter".to_owned();
    let request = ChatRequest::new("openrouter/google/gemini-3-flash").messages([
        ChatMessage::user("a"),
        response.into_message(),
        ChatMessage::user("b"),
    ]);
    let sent = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap();
    let sent: Value = serde_json::from_str(sent.body.get()).unwrap();
    assert_eq!(sent["messages"][1]["extra_content"], extra);
}
