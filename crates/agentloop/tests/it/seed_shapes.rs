//! The JSON of every unified type is the seed's, to the letter.

use agentloop::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// `json` reads as `T` and is written back as it was.
fn round_trips<T: Serialize + DeserializeOwned>(json: &Value) -> T {
    let value: T =
        serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error} in {json}"));
    assert_eq!(serde_json::to_value(&value).unwrap(), *json);
    value
}

#[test]
fn messages_are_written_as_openai_writes_them() {
    for message in [
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "Hello", "name": "ada"}),
        json!({"role": "user", "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        ]}),
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
        ]}),
        json!({"role": "tool", "content": "42", "tool_call_id": "call_1"}),
    ] {
        round_trips::<ChatMessage>(&message);
    }
}

#[test]
fn a_developer_message_is_a_system_message() {
    let message: ChatMessage =
        serde_json::from_value(json!({"role": "developer", "content": "x"})).unwrap();
    assert_eq!(message.role, Role::System);
}

#[test]
fn every_parameter_of_a_request_is_read_and_written() {
    let request = round_trips::<ChatRequest>(&json!({
        "model": "openai/gpt-4o",
        "messages": [{"role": "user", "content": "Hello"}],
        "temperature": 0.5, "top_p": 0.75, "max_tokens": 10, "stop": ["a", "b"], "seed": 7, "n": 2,
        "frequency_penalty": 0.5, "presence_penalty": -0.5,
        "tools": [{"type": "function", "function": {
            "name": "get_weather", "description": "Get weather", "strict": true,
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }}],
        "tool_choice": {"type": "function", "function": {"name": "get_weather"}},
        "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "r", "strict": true, "schema": {"type": "object"},
        }},
        "logprobs": true, "top_logprobs": 3, "logit_bias": {"50256": -100.0},
        "stream": true, "stream_options": {"include_usage": true},
        "user": "u1", "metadata": {"k": "v"},
    }));
    assert_eq!(request.tool_choice, Some(ToolChoice::function("get_weather")));
}

#[test]
fn stop_is_one_or_many_and_formats_are_three() {
    round_trips::<ChatRequest>(&json!({"model": "m", "messages": [], "stop": "a"}));
    for choice in ["auto", "required", "none"] {
        round_trips::<ToolChoice>(&json!(choice));
    }
    for format in [json!({"type": "text"}), json!({"type": "json_object"})] {
        round_trips::<ResponseFormat>(&format);
    }
}

#[test]
fn a_field_that_no_request_has_is_refused_by_name() {
    let error = serde_json::from_value::<ChatRequest>(
        json!({"model": "m", "messages": [], "temprature": 1}),
    )
    .unwrap_err();
    assert!(error.to_string().contains("temprature"), "{error}");
}

#[test]
fn every_part_of_a_response_is_the_seed_s() {
    for part in [
        json!({"type": "text", "text": "hi"}),
        json!({"type": "text", "text": "hi", "citations": [
            {"type": "url", "url": "u", "title": "t", "citedText": "c", "startIndex": 0, "endIndex": 2},
            {"type": "document", "documentIndex": 0, "documentTitle": "t", "citedText": "c",
             "startCharIndex": 1, "endCharIndex": 2},
            {"type": "page", "documentIndex": 0, "documentTitle": "t", "citedText": "c",
             "startPage": 1, "endPage": 2},
        ]}),
        json!({"type": "tool_call", "id": "1", "name": "f", "arguments": "{}"}),
        json!({"type": "thinking", "thinking": "hm", "signature": "s"}),
        json!({"type": "redacted_thinking", "data": "x"}),
        json!({"type": "image", "mimeType": "image/png", "data": "AA=="}),
        json!({"type": "audio", "mimeType": "audio/wav", "data": "AA==", "transcript": "t",
               "expiresAt": 17}),
        json!({"type": "code_execution", "language": "python", "code": "1"}),
        json!({"type": "code_result", "outcome": "ok", "output": "1"}),
        json!({"type": "server_tool_call", "id": "1", "name": "web_search", "arguments": {"q": 1}}),
        json!({"type": "server_tool_result", "toolCallId": "1", "content": [1]}),
    ] {
        let part = round_trips::<ResponsePart>(&part);
        // Whatever a response holds, a message can hold in the same form.
        let json = serde_json::to_value(&part).unwrap();
        let in_message = round_trips::<ContentPart>(&json);
        assert_eq!(in_message, part.into());
    }
}

#[test]
fn every_event_is_the_seed_s() {
    let response = json!({
        "id": "1", "provider": "p", "model": "m",
        "choices": [{"index": 0, "content": [{"type": "text", "text": "hi"}], "finishReason": "stop",
                     "rawFinishReason": "eos"}],
        "usage": {"promptTokens": 1, "completionTokens": 2, "totalTokens": 3,
                  "details": {"reasoningTokens": 1, "cachedTokens": 1, "cacheWriteTokens": 0,
                              "audioPromptTokens": 0, "audioCompletionTokens": 0,
                              "promptTokensByModality": {"TEXT": 1},
                              "completionTokensByModality": {"TEXT": 2}}},
        "providerMetadata": {"systemFingerprint": "fp"},
    });
    round_trips::<ChatResponse>(&response);
    let content = |kind: &str, name: &str, value: Value| json!({"type": kind, "choiceIndex": 0, "partIndex": 1, name: value});
    let mut events = vec![
        json!({"type": "message.start", "id": "1", "model": "m", "provider": "p"}),
        json!({"type": "message.delta", "choiceIndex": 0, "finishReason": "tool_calls"}),
        json!({"type": "usage", "usage": {"promptTokens": 1}}),
        json!({"type": "metadata", "providerMetadata": {"serviceTier": "default"}}),
        json!({"type": "metadata", "choiceIndex": 1, "providerMetadata": {"safetyRatings": []}}),
        json!({"type": "message.done", "response": response}),
        content("content.done", "part", json!({"type": "text", "text": "hi"})),
        content("content.citation", "citation", json!({"type": "url", "url": "u"})),
    ];
    for start in [
        json!({"type": "text"}),
        json!({"type": "tool_call", "id": "1", "name": "f"}),
        json!({"type": "thinking"}),
        json!({"type": "image", "mimeType": "image/png"}),
        json!({"type": "audio", "mimeType": "audio/wav"}),
        json!({"type": "code_execution", "language": "python"}),
        json!({"type": "server_tool_call", "id": "1", "name": "f"}),
    ] {
        events.push(content("content.start", "part", start));
    }
    for delta in [
        json!({"type": "text", "text": "a"}),
        json!({"type": "tool_call.arguments", "arguments": "{"}),
        json!({"type": "thinking", "thinking": "a"}),
        json!({"type": "thinking.signature", "signature": "a"}),
        json!({"type": "image", "data": "AA=="}),
        json!({"type": "audio", "data": "AA=="}),
        json!({"type": "audio.transcript", "transcript": "a"}),
        json!({"type": "citation", "citation": {"type": "url", "url": "u"}}),
    ] {
        events.push(content("content.delta", "delta", delta));
    }
    for event in &events {
        round_trips::<ChatStreamEvent>(event);
    }
}

#[test]
fn embeddings_are_the_seed_s() {
    round_trips::<EmbedRequest>(&json!({"model": "m", "input": "a"}));
    round_trips::<EmbedRequest>(&json!({"model": "m", "input": ["a", "b"], "dimensions": 256}));
    round_trips::<EmbedResponse>(&json!({
        "model": "m", "provider": "p", "embeddings": [[0.5, 1.0]],
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }));
}

#[test]
fn an_error_writes_every_field_also_when_it_is_absent() {
    let error =
        Error::new(ErrorKind::RateLimit, "slow down").with_provider("groq").with_status(429);
    assert_eq!(
        serde_json::to_value(&error).unwrap(),
        json!({"kind": "rate_limit", "message": "slow down", "provider": "groq", "model": null,
               "status": 429, "code": null, "param": null, "retryable": true, "retryAfterMs": null,
               "requestId": null, "raw": null, "partial": null})
    );
    round_trips::<Error>(&serde_json::to_value(&error).unwrap());
}

#[test]
fn accessors_collect_the_parts_that_they_name() {
    let choice: Choice = serde_json::from_value(json!({
        "index": 0, "finishReason": "stop", "content": [
            {"type": "thinking", "thinking": "a"},
            {"type": "text", "text": "b"},
            {"type": "thinking", "thinking": "c"},
            {"type": "tool_call", "id": "1", "name": "f", "arguments": "{\"x\": 1}"},
            {"type": "image", "mimeType": "image/png", "data": "AA=="},
            {"type": "audio", "mimeType": "audio/wav", "data": "AA=="},
            {"type": "text", "text": "d"},
        ],
    }))
    .unwrap();
    assert_eq!(choice.text(), "bd");
    assert_eq!(choice.thinking().as_deref(), Some("ac"));
    assert_eq!(choice.images().count(), 1);
    assert_eq!(choice.audio().unwrap().mime_type, "audio/wav");
    let call = choice.tool_calls().next().unwrap();
    assert_eq!(call.parse::<Value>().unwrap(), json!({"x": 1}));
    assert_eq!(choice.clone().into_message().parts().len(), choice.content.len());
}

#[test]
fn the_types_can_cross_threads() {
    fn sent<T: Send + Sync>() {}
    sent::<AgentLoop>();
    sent::<ChatRequest>();
    sent::<ChatResponse>();
    sent::<ChatStreamEvent>();
    sent::<Error>();
    sent::<Provider>();
    fn object_safe(_: &dyn transport::Transport, _: &dyn middleware::Middleware) {}
    let _ = object_safe;
    fn stream_is_sent<T: Send>() {}
    stream_is_sent::<ChatStream>();
}
