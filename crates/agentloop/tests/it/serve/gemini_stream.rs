//! What a server of Gemini's API writes.

use agentloop::protocol::serve::{self, StreamWriter, write_body, write_error};
use agentloop::{
    ChatResponse, ChatStreamEvent, Error, ErrorKind, FinishReason, ModelInfo, OpaquePart,
    PartDelta, PartStart, Protocol, ProviderState, ResponsePart, TextPart, ThinkingPart,
    ToolCallPart, Usage,
};
use serde_json::{Value, json};

fn body(response: &ChatResponse) -> Value {
    serde_json::from_slice(&write_body(Protocol::Gemini, response)).unwrap()
}

fn chunks(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split_terminator("\n\n")
        .map(|frame| serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap())
        .collect()
}

fn written(events: &[ChatStreamEvent]) -> Vec<Value> {
    let mut writer = StreamWriter::new(Protocol::Gemini, true);
    chunks(&events.iter().flat_map(|event| writer.write(event)).collect::<Vec<u8>>())
}

fn signed(signature: &str) -> Option<Box<ProviderState>> {
    Some(Box::new(ProviderState::new("", json!({"thoughtSignature": signature}))))
}

fn example() -> ChatResponse {
    let mut call = ToolCallPart::new("call_1", "f", r#"{"a": 1}"#);
    call.provider_state = signed("Y2FsbA==");
    let mut last = TextPart::new("");
    last.provider_state = signed("bGFzdA==");
    let mut response = ChatResponse::from_parts(
        "lab/m",
        [
            ResponsePart::Thinking(ThinkingPart::new("Hm.")),
            ResponsePart::Text(TextPart::new("I call.")),
            ResponsePart::ToolCall(call),
            ResponsePart::Text(last),
        ],
    );
    response.id = "r1".to_owned();
    response.choices[0].finish_reason = FinishReason::ToolCalls;
    response.choices[0].raw_finish_reason = Some("tool_calls".to_owned());
    let mut usage = Usage::default();
    (usage.prompt_tokens, usage.completion_tokens) = (Some(10), Some(5));
    usage.details.reasoning_tokens = Some(2);
    response.usage = usage;
    response
}

#[test]
fn a_response_of_another_api_has_the_fields_and_words_of_this_one() {
    assert_eq!(
        body(&example()),
        json!({
            "candidates": [{
                "content": {"role": "model", "parts": [
                    {"text": "Hm.", "thought": true},
                    {"text": "I call."},
                    {"functionCall": {"id": "call_1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "Y2FsbA=="},
                    {"text": "", "thoughtSignature": "bGFzdA=="},
                ]},
                "finishReason": "STOP", "index": 0,
            }],
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "totalTokenCount": 15, "thoughtsTokenCount": 2},
            "modelVersion": "m", "responseId": "r1",
        })
    );
}

/// Gemini CLI takes the usage from the chunk with the finish reason, and google-genai keeps a turn only if every chunk has
/// a part.
#[test]
fn the_last_chunk_has_the_finish_reason_and_the_usage_and_every_chunk_a_part() {
    let stream = written(&example().unfold());
    let parts: Vec<&Value> =
        stream.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
    assert_eq!(
        json!(parts),
        json!([
            {"text": "Hm.", "thought": true},
            {"text": "I call."},
            {"functionCall": {"id": "call_1", "name": "f", "args": {"a": 1}}, "thoughtSignature": "Y2FsbA=="},
            {"text": "", "thoughtSignature": "bGFzdA=="},
            {"text": ""},
        ])
    );
    for chunk in &stream {
        assert_eq!((&chunk["modelVersion"], &chunk["responseId"]), (&json!("m"), &json!("r1")));
        assert_eq!(chunk["candidates"][0]["content"]["role"], "model");
    }
    let (last, others) = stream.split_last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["totalTokenCount"], 15);
    let ended = |chunk: &Value| chunk["candidates"][0].get("finishReason").is_some();
    assert!(!others.iter().any(ended));
}

#[test]
fn every_finish_reason_is_one_of_the_api() {
    for (reason, raw, word) in [
        (FinishReason::Stop, Some("end_turn"), "STOP"),
        (FinishReason::Length, Some("max_tokens"), "MAX_TOKENS"),
        (FinishReason::ContentFilter, Some("PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
        (FinishReason::ContentFilter, Some("refusal"), "SAFETY"),
        (FinishReason::Other("EOS".into()), Some("EOS"), "OTHER"),
        (FinishReason::Error, None, "MALFORMED_RESPONSE"),
    ] {
        let mut response = ChatResponse::from_parts("lab/m", ["a"]);
        response.choices[0].finish_reason = reason;
        response.choices[0].raw_finish_reason = raw.map(str::to_owned);
        assert_eq!(body(&response)["candidates"][0]["finishReason"], word, "{raw:?}");
        let stream = written(&response.unfold());
        assert_eq!(stream.last().unwrap()["candidates"][0]["finishReason"], word, "{raw:?}");
    }
}

#[test]
fn state_of_another_api_stays_out() {
    let mut call = ToolCallPart::new("call_1", "f", "not json");
    let state = json!({"type": "function_call", "id": "fc_1", "status": "completed"});
    call.provider_state = Some(Box::new(ProviderState::new("openai", state)));
    let item = json!({"type": "image_generation_call", "id": "ig_1"});
    let mut opaque = OpaquePart::default();
    opaque.data = item;
    let response = ChatResponse::from_parts(
        "lab/m",
        [ResponsePart::ToolCall(call), ResponsePart::Opaque(opaque)],
    );
    assert_eq!(
        body(&response)["candidates"][0]["content"]["parts"],
        json!([{"functionCall": {"id": "call_1", "name": "f", "args": {"arguments": "not json"}}}])
    );
}

#[test]
fn a_part_that_arrives_whole_is_written_with_all_its_content() {
    let start =
        |part_index, part| ChatStreamEvent::ContentStart { choice_index: 0, part_index, part };
    let done =
        |part_index, part| ChatStreamEvent::ContentDone { choice_index: 0, part_index, part };
    let mut text = TextPart::new("Hi");
    text.provider_state = signed("dGV4dA==");
    let stream = written(&[
        start(0, PartStart::Thinking {}),
        done(0, ResponsePart::Thinking(ThinkingPart::new("Hm."))),
        start(1, PartStart::Text {}),
        done(1, ResponsePart::Text(text)),
    ]);
    let parts: Vec<&Value> =
        stream.iter().map(|chunk| &chunk["candidates"][0]["content"]["parts"][0]).collect();
    assert_eq!(
        json!(parts),
        json!([{"text": "Hm.", "thought": true}, {"text": "Hi"}, {"text": "", "thoughtSignature": "dGV4dA=="}])
    );
}

/// google-genai for Python recognises an error in a stream by how its JSON starts.
#[test]
fn an_error_after_content_is_the_last_chunk() {
    let error = Error::new(ErrorKind::Overloaded, "busy");
    let mut writer = StreamWriter::new(Protocol::Gemini, true);
    let text = PartDelta::Text { text: "Hi".into() };
    writer.write(&ChatStreamEvent::ContentDelta { choice_index: 0, part_index: 0, delta: text });
    let last = writer.write(&ChatStreamEvent::Error { error: Box::new((&error).into()) });
    assert!(last.starts_with(b"data: {\"error\":"));
    assert_eq!(
        chunks(&last),
        [json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}})]
    );
}

#[test]
fn errors_have_the_words_of_the_api() {
    let named = |error: Error| -> Value {
        serde_json::from_slice(&write_error(Protocol::Gemini, &error)).unwrap()
    };
    for (status, word) in [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (402, "FAILED_PRECONDITION"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (529, "UNAVAILABLE"),
    ] {
        let error = named(Error::new(ErrorKind::InvalidRequest, "no").with_status(status));
        assert_eq!(error["error"]["status"], word);
        assert_eq!(error["error"]["code"], status);
    }
    let error = named(Error::new(ErrorKind::Quota, "no").with_code("budget_exhausted"));
    assert_eq!(error["error"]["code"], 429);
    assert_eq!(error["error"]["details"][0]["reason"], "budget_exhausted");
}

#[test]
fn models_and_counts_have_the_fields_of_the_api() {
    let mut model = ModelInfo::new("lab", "lab/m");
    (model.context_window, model.max_output_tokens) = (Some(1000), Some(100));
    let list: Value =
        serde_json::from_slice(&serve::write_models(Protocol::Gemini, &[model])).unwrap();
    assert_eq!(
        list["models"][0],
        json!({
            "name": "models/lab/m", "displayName": "lab/m", "version": "", "description": "",
            "supportedGenerationMethods": ["generateContent", "countTokens"],
            "inputTokenLimit": 1000, "outputTokenLimit": 100,
        })
    );
    assert_eq!(serve::write_count(Protocol::Gemini, 8), r#"{"totalTokens":8}"#);
}
