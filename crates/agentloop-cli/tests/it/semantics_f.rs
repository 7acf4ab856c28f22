//! Gemini: requests and responses, rule by rule.

use crate::common;

use common::{Outcome, decode, encode};
use serde_json::{Value, json};

const GOOGLE: &str = "--provider google";

fn encoded(model: &str, more: Value) -> Value {
    let mut request = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    if let (Some(fields), Value::Object(more)) = (request.as_object_mut(), more) {
        fields.extend(more);
    }
    encode("", &request).response()
}

fn body(more: Value) -> Value {
    encoded("google/gemini-2.5-flash", more)["body"].take()
}

/// Formats a stream of these chunks.
fn answer(chunks: &[Value]) -> Outcome {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    decode(&format!("{GOOGLE} --stream"), &stream)
}

fn chunk(parts: Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    json!({"responseId": "r1", "modelVersion": "gemini", "candidates": [candidate]})
}

fn choice(run: &Outcome) -> Value {
    run.response()["choices"][0].take()
}

fn calls(results: Value) -> Value {
    json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
            {"id": "b", "type": "function", "function": {"name": "now", "arguments": ""}},
        ]},
        {"role": "tool", "tool_call_id": "b", "content": results[1]},
        {"role": "tool", "tool_call_id": "a", "content": results[0]},
    ])
}

#[test]
fn the_path_contains_the_model_and_the_stream_flag() {
    let whole = encoded("google/gemini-2.5-flash", json!({}));
    assert_eq!(
        whole["url"],
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent"
    );
    assert_eq!(whole["headers"]["x-goog-api-key"], "***");
    let request = json!({"model": "google/models/gemini-2.5-flash", "messages": [{"role": "user", "content": "x"}]});
    let stream = encode("--stream", &request).response();
    assert_eq!(
        stream["url"],
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    );
}

#[test]
fn f1_results_of_a_step_are_one_message_in_call_order() {
    let body = body(json!({"messages": calls(json!(["sun", "{\"hour\": 12}"]))}));
    let turns = body["contents"].as_array().unwrap();
    assert_eq!(turns.len(), 3, "{body}");
    assert_eq!(turns[2]["role"], "user");
    let parts = &turns[2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["name"], "weather");
    assert_eq!(parts[1]["functionResponse"]["name"], "now");
    for part in parts.as_array().unwrap() {
        assert!(part["functionResponse"]["response"].is_object(), "{part}");
    }
    assert!(
        turns[1]["parts"][1]["functionCall"]["args"].is_object()
            || turns[1]["parts"][1]["functionCall"].get("args").is_none()
    );
}

#[test]
fn f1_every_result_is_an_object() {
    for result in ["plain text", "[1,2]", "7", "null", "\"quoted\"", ""] {
        let body = body(json!({"messages": calls(json!([result, "x"]))}));
        assert!(
            body["contents"][2]["parts"][0]["functionResponse"]["response"].is_object(),
            "{result}"
        );
    }
}

#[test]
fn f2_signatures_return_on_their_part_and_other_history_gets_a_placeholder() {
    let signed = json!({"provider": "google", "data": {"thoughtSignature": "c2ln"}});
    let turn = |origin: &str, state: Value| {
        let mut call = json!({"type": "tool_call", "id": "a", "name": "f", "arguments": "{}"});
        if !state.is_null() {
            call["providerState"] = state;
        }
        json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "origin": {"provider": origin, "model": "m"}, "content": [call,
                {"type": "tool_call", "id": "b", "name": "f", "arguments": "{}"}]},
            {"role": "tool", "tool_call_id": "a", "content": "1"},
            {"role": "tool", "tool_call_id": "b", "content": "2"},
        ])
    };
    let own = encoded("google/gemini-3.6-flash", json!({"messages": turn("google", signed)}));
    let parts = &own["body"]["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], "c2ln");
    assert_eq!(parts[1].get("thoughtSignature"), None);
    let foreign =
        encoded("google/gemini-3.6-flash", json!({"messages": turn("openai", Value::Null)}));
    let parts = &foreign["body"]["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], "skip_thought_signature_validator");
    assert_eq!(parts[1].get("thoughtSignature"), None);
}

#[test]
fn f3_schemas_are_sent_as_json_schema() {
    let schema = json!({"type": "object", "properties": {"a": {"type": ["string", "null"]}}});
    let asked = body(json!({
        "tools": [{"type": "function", "function": {"name": "f", "parameters": schema}},
                  {"type": "function", "function": {"name": "g"}}],
    }));
    let declarations = &asked["tools"][0]["functionDeclarations"];
    assert_eq!(declarations[0]["parametersJsonSchema"]["type"], "object");
    assert_eq!(declarations[1].get("parametersJsonSchema"), None);
    let body = body(json!({
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": schema}},
    }));
    assert_eq!(body["generationConfig"]["responseMimeType"], "application/json");
    assert_eq!(body["generationConfig"]["responseJsonSchema"]["type"], "object");
}

#[test]
fn f4_remote_media_is_file_data_with_a_known_type_or_refused() {
    let ask = |part: Value| json!({"model": "google/gemini-2.5-flash", "messages": [{"role": "user", "content": [part]}]});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let png = encode("", &ask(image("https://x.test/a.png?size=2"))).response();
    assert_eq!(
        png["body"]["contents"][0]["parts"][0]["fileData"],
        json!({"fileUri": "https://x.test/a.png?size=2", "mimeType": "image/png"})
    );
    let data = encode("", &ask(image("data:image/webp;base64,AAAA"))).response();
    assert_eq!(
        data["body"]["contents"][0]["parts"][0]["inlineData"],
        json!({"mimeType": "image/webp", "data": "AAAA"})
    );
    let unknown = encode("", &ask(image("https://x.test/picture")));
    assert_ne!(unknown.code, Some(0), "{unknown}");
    assert!(!unknown.stdout.contains("jpeg"), "{unknown}");
    let pdf = encode(
        "",
        &ask(json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}})),
    )
    .response();
    assert_eq!(pdf["body"]["contents"][0]["parts"][0]["inlineData"]["mimeType"], "application/pdf");
}

#[test]
fn f5_text_is_incremental_and_parts_start_at_the_right_place() {
    let run = answer(&[
        chunk(json!([{"text": "Hm", "thought": true}]), None),
        chunk(json!([{"text": ".", "thought": true}]), None),
        chunk(json!([{"text": "Ro"}]), None),
        chunk(json!([{"text": "me"}]), None),
        chunk(json!([{"functionCall": {"name": "f", "args": {"a": 1}}}]), None),
        chunk(json!([{"functionCall": {"name": "f", "args": {"a": 2}}}]), None),
        chunk(json!([{"text": "", "thoughtSignature": "c2ln"}]), Some("STOP")),
    ]);
    let choice = choice(&run);
    let kinds: Vec<&str> = choice["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["thinking", "text", "tool_call", "tool_call", "text"], "{choice}");
    assert_eq!(choice["content"][1]["text"], "Rome");
    assert_ne!(choice["content"][2]["id"], choice["content"][3]["id"]);
    assert_eq!(choice["content"][4]["providerState"]["data"]["thoughtSignature"], "c2ln");
    assert_eq!(choice["finishReason"], "tool_calls");
    assert_eq!(choice["rawFinishReason"], "STOP");
}

#[test]
fn f6_every_finish_reason_except_stop_takes_precedence_over_calls() {
    for (raw, unified) in [
        ("STOP", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
    ] {
        let run = answer(&[chunk(json!([{"functionCall": {"name": "f", "args": {}}}]), Some(raw))]);
        assert_eq!(choice(&run)["finishReason"], unified, "{raw}");
    }
}

#[test]
fn f6_a_blocked_prompt_and_an_empty_candidate_are_responses() {
    let blocked = decode(
        GOOGLE,
        r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":4}}"#,
    );
    assert_eq!(choice(&blocked)["finishReason"], "content_filter");
    let empty =
        decode(GOOGLE, r#"{"responseId":"r","candidates":[{"finishReason":"STOP","index":0}]}"#);
    assert_eq!(choice(&empty)["content"], json!([]));
    assert_eq!(choice(&empty)["finishReason"], "stop");
}

#[test]
fn f6_usage_has_the_common_definition() {
    let mut last = chunk(json!([{"text": "hi"}]), Some("STOP"));
    last["usageMetadata"] = json!({"promptTokenCount": 10, "toolUsePromptTokenCount": 3, "candidatesTokenCount": 5,
        "thoughtsTokenCount": 7, "totalTokenCount": 25, "cachedContentTokenCount": 4});
    let usage = answer(&[last]).response()["usage"].take();
    assert_eq!(usage["promptTokens"], 13);
    assert_eq!(usage["completionTokens"], 12);
    assert_eq!(usage["totalTokens"], 25);
    assert_eq!(usage["details"]["reasoningTokens"], 7);
    assert_eq!(usage["details"]["cachedTokens"], 4);
}

#[test]
fn f7_grounding_offsets_become_characters_of_their_part() {
    let mut last = chunk(json!([{"text": "Größe: 5 m"}]), Some("STOP"));
    last["candidates"][0]["groundingMetadata"] = json!({
        "groundingChunks": [{"web": {"uri": "https://a.test", "title": "A"}}],
        "groundingSupports": [{"segment": {"startIndex": 9, "endIndex": 12, "text": "5 m"}, "groundingChunkIndices": [0]}],
    });
    let choice = choice(&answer(&[last]));
    let citations = choice["content"][0]["citations"].as_array().unwrap();
    assert_eq!(citations.len(), 1);
    assert_eq!(
        (citations[0]["startIndex"].as_u64(), citations[0]["endIndex"].as_u64()),
        (Some(7), Some(10))
    );
    assert_eq!(citations[0]["url"], "https://a.test");
}

#[test]
fn f7_draft_images_inside_thoughts_are_not_output() {
    let run = answer(&[chunk(
        json!([
            {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": true},
            {"inlineData": {"mimeType": "image/png", "data": "BBBB"}},
        ]),
        Some("STOP"),
    )]);
    let images: Vec<Value> = choice(&run)["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|part| part["type"] == "image")
        .cloned()
        .collect();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0]["data"], "BBBB");
}

#[test]
fn both_stream_formats_and_the_complete_body_decode_to_the_same_response() {
    let chunks =
        [chunk(json!([{"text": "Ro"}]), None), chunk(json!([{"text": "me"}]), Some("STOP"))];
    let sse = answer(&chunks).response();
    let array = decode(&format!("{GOOGLE} --stream"), &json!(chunks).to_string()).response();
    assert_eq!(sse, array);
    let cut = decode(&format!("{GOOGLE} --stream --cut 3"), &json!(chunks).to_string()).response();
    assert_eq!(sse, cut);
    let body =
        decode(GOOGLE, &chunk(json!([{"text": "Rome"}]), Some("STOP")).to_string()).response();
    assert_eq!(sse, body);
}

#[test]
fn a_stream_without_a_finish_reason_is_incomplete() {
    let error = answer(&[chunk(json!([{"text": "Ro"}]), None)]).error();
    assert_eq!(error["kind"], "incomplete_stream");
}

#[test]
fn an_invalid_key_is_an_authentication_error_despite_status_400() {
    let body = json!({"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}});
    let error = decode(&format!("{GOOGLE} --status 400"), &body.to_string()).error();
    assert_eq!(error["kind"], "auth");
    let body = json!([{"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "46s"}]}}]);
    let error = decode(&format!("{GOOGLE} --status 429"), &body.to_string()).error();
    assert_eq!(
        (error["kind"].as_str(), error["retryAfterMs"].as_u64()),
        (Some("rate_limit"), Some(46_000))
    );
}

#[test]
fn f8_embeddings_are_decoded() {
    let one =
        decode(&format!("{GOOGLE} --embed"), r#"{"embedding":{"values":[0.5,1.0]}}"#).response();
    assert_eq!(one["embeddings"], json!([[0.5, 1.0]]));
    let many = decode(
        &format!("{GOOGLE} --embed"),
        r#"{"embeddings":[{"values":[1.0]},{"values":[2.0]}]}"#,
    )
    .response();
    assert_eq!(many["embeddings"], json!([[1.0], [2.0]]));
    assert_eq!(many.get("usage"), None);
}
