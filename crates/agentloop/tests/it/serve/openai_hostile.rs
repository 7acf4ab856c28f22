//! Requests that no client should send.

use agentloop::Protocol;
use agentloop::carry::Carrier;
use agentloop::protocol::serve::{StreamWriter, read_chat, write_body_for};
use agentloop::{ChatResponse, ErrorKind, ProviderState, ResponsePart, ThinkingPart, ToolCallPart};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};

const CHAT: Protocol = Protocol::OpenAiChat;
const RESPONSES: Protocol = Protocol::OpenAiResponses;

fn chat() -> Value {
    let text = r#"{"model": "m", "stream": false, "stream_options": {"include_usage": true}, "temperature": 1.0, "top_p": 1.0, "top_k": 1,
        "max_tokens": 1, "max_completion_tokens": 1, "stop": "x", "seed": 1, "n": 1, "frequency_penalty": 0.0,
        "presence_penalty": 0.0, "parallel_tool_calls": true, "response_format": {"type": "json_object"},
        "modalities": ["text"], "audio": {"voice": "v", "format": "wav"}, "verbosity": "low", "reasoning_effort": "low",
        "logprobs": true, "top_logprobs": 1, "logit_bias": {"1": 1}, "service_tier": "flex", "prompt_cache_key": "k",
        "user": "u", "safety_identifier": "s", "metadata": {"a": "b"}, "web_search_options": {}, "functions": [{"name": "old"}],
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true}},
                  {"type": "custom", "custom": {"name": "g", "description": "d"}}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "f"}}]}},
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "name": "n", "content": [{"type": "text", "text": "t"}, {"type": "image_url", "image_url": {"url": "u", "detail": "low"}},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}, {"type": "file", "file": {"file_data": "d", "filename": "f"}}]},
            {"role": "assistant", "content": "c", "reasoning_content": "r", "refusal": "x", "audio": {"id": "a"}, "reasoning_details": [{"text": "t"}],
             "thinking_blocks": [{"type": "thinking", "thinking": "t", "signature": "s"}],
             "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "i"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "r"}]}"#;
    serde_json::from_str(text).unwrap()
}

fn responses() -> Value {
    let text = r#"{"model": "m", "stream": false, "instructions": "i", "temperature": 1.0, "top_p": 1.0, "max_output_tokens": 1,
        "parallel_tool_calls": true, "top_logprobs": 1, "service_tier": "flex", "prompt_cache_key": "k", "user": "u",
        "safety_identifier": "s", "metadata": {"a": "b"}, "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "schema": {}, "strict": true}}, "include": ["x"],
        "tools": [{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": true},
                  {"type": "custom", "name": "g", "description": "d"}, {"type": "web_search"}, {"type": "local_shell"},
                  {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "f"}]},
                  {"type": "tool_search", "execution": "client"}],
        "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
        "input": [
            {"type": "message", "role": "developer", "content": "s"},
            {"role": "user", "content": [{"type": "input_text", "text": "t"}, {"type": "input_image", "image_url": "u", "detail": "low"},
                {"type": "input_file", "file_data": "d", "filename": "f"}, {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}]},
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "t"}], "content": null, "encrypted_content": "e"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "t"}]},
            {"type": "function_call", "call_id": "c1", "name": "f", "namespace": "n", "arguments": "{}"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "i"},
            {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "t"}]},
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "t"},
            {"type": "additional_tools", "tools": [{"type": "function", "name": "h"}]},
            {"type": "compaction", "encrypted_content": "e"}, {"type": "compaction_trigger"}]}"#;
    serde_json::from_str(text).unwrap()
}

fn read(protocol: Protocol, body: &Value) -> Result<(), agentloop::Error> {
    read_chat(protocol, "/v1", body.to_string().as_bytes()).map(drop)
}

#[test]
fn both_samples_are_read() {
    read(CHAT, &chat()).unwrap();
    read(RESPONSES, &responses()).unwrap();
}

/// Fields that may be any JSON, or are kept without being read.
const ANYTHING: [&str; 3] = ["output", "id", "type"];

/// Replaces each leaf by a value of another type: it is an error that names the field, or it is allowed to be anything.
#[test]
fn a_field_of_the_wrong_type_is_an_error_that_names_it() {
    for (protocol, sample) in [(CHAT, chat()), (RESPONSES, responses())] {
        for name in sample.as_object().unwrap().keys() {
            for wrong in [json!({"a": {"b": 1}}), json!(1.5), json!([[1]]), json!("?")] {
                let mut body = sample.clone();
                let is_same_kind =
                    std::mem::discriminant(&body[name]) == std::mem::discriminant(&wrong);
                if is_same_kind || matches!(name.as_str(), "stop" | "input" | "tool_choice") {
                    continue;
                }
                body[name] = wrong.clone();
                let Err(error) = read(protocol, &body) else {
                    panic!("{protocol:?}: `{name}` may be {wrong}");
                };
                assert_eq!(error.kind(), ErrorKind::InvalidRequest);
                assert_eq!(error.status(), Some(400));
                assert!(error.message().contains(name.as_str()), "{name}: {error}");
            }
        }
    }
}

#[test]
fn a_wrong_type_inside_a_message_is_an_error_that_names_the_place() {
    let places = |value: &Value| {
        let mut found = Vec::new();
        leaves(value, String::new(), &mut found);
        found
    };
    for (protocol, sample, list) in [(CHAT, chat(), "messages"), (RESPONSES, responses(), "input")]
    {
        for place in places(&sample[list]) {
            let name = place.rsplit('/').next().unwrap();
            if ANYTHING.contains(&name) || place.contains("reasoning_details") {
                continue;
            }
            let mut body = sample.clone();
            *body[list].pointer_mut(&place).unwrap() = json!(17);
            let Err(error) = read(protocol, &body) else {
                assert!(
                    place.contains("encrypted_content"),
                    "{protocol:?}: {place} may be a number"
                );
                continue;
            };
            let at: String = place[1..].chars().take_while(char::is_ascii_digit).collect();
            assert!(error.message().contains(&format!("{list}[{at}]")), "{place}: {error}");
        }
    }
}

fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| leaves(value, format!("{path}/{name}"), found));
        }
        Value::Array(list) => {
            list.iter()
                .enumerate()
                .for_each(|(at, value)| leaves(value, format!("{path}/{at}"), found));
        }
        Value::Null => {}
        _ => found.push(path),
    }
}

#[test]
fn every_optional_field_may_be_null() {
    for (protocol, sample, required) in
        [(CHAT, chat(), ["messages"]), (RESPONSES, responses(), ["input"])]
    {
        for name in
            sample.as_object().unwrap().keys().filter(|name| !required.contains(&name.as_str()))
        {
            let mut body = sample.clone();
            body[name] = Value::Null;
            read(protocol, &body).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn strange_conversations_are_read_or_refused() {
    let deep = format!("{{\"messages\":{}", "[".repeat(100_000));
    for body in [
        "",
        "[]",
        "null",
        "1",
        "{",
        "{}",
        r#"{"messages":1}"#,
        r#"{"messages":[1]}"#,
        r#"{"messages":[{}]}"#,
        &deep,
    ] {
        for protocol in [CHAT, RESPONSES] {
            let error = read_chat(protocol, "/v1", body.as_bytes()).unwrap_err();
            assert_eq!(error.status(), Some(400), "{body}");
        }
    }
    // Results before their calls, the same id twice, nothing at all: repaired or refused where the provider is known.
    let call = json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f"}}]});
    let result = json!({"role": "tool", "tool_call_id": "c", "content": ""});
    for messages in [
        json!([]),
        json!([result, call]),
        json!([call, call, result, result]),
        json!([{"role": "user", "content": []}]),
    ] {
        read(CHAT, &json!({"messages": messages})).unwrap();
    }
    let call = json!({"type": "function_call", "call_id": "c", "name": "f"});
    let result = json!({"type": "function_call_output", "call_id": "c", "output": null});
    for input in [json!([]), json!(""), json!([result, call]), json!([call, call, result, result])]
    {
        read(RESPONSES, &json!({"input": input})).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// However a request is damaged, it is read or refused, and whatever is remembered of it a response can be written.
    #[test]
    fn damaged_requests_do_not_panic(
        is_chat in any::<bool>(),
        changes in vec((any::<Index>(), 0usize..12, select(vec!["null", "{", "[", "\"", "1", "", "\\ud800", ":", "é", "true,"])), 0..5),
    ) {
        let (protocol, sample) = if is_chat { (CHAT, chat()) } else { (RESPONSES, responses()) };
        let mut bytes = sample.to_string().into_bytes();
        for (at, removed, added) in changes {
            let at = at.index(bytes.len() + 1);
            let end = (at + removed).min(bytes.len());
            bytes.splice(at..end, added.bytes());
        }
        if let Ok(served) = read_chat(protocol, "/v1", &bytes) {
            let calls = served.request.tools.iter().filter_map(|tool| tool.name()).map(|name| {
                ResponsePart::from(ToolCallPart::new("c", name, "{\"input\":1"))
            });
            let response = ChatResponse::from_parts("lab/m", calls.collect::<Vec<_>>());
            let body = write_body_for(protocol, &response, &served.reply);
            serde_json::from_slice::<Value>(&body).unwrap();
            let mut writer = StreamWriter::for_reply(protocol, true, &served.reply);
            for event in response.unfold() {
                writer.write(&event);
            }
        }
    }
}

/// Found by the harness of hostile inputs: a stream of 69 kB became one of 3 MB, which had the name of its model in each chunk.
#[test]
fn a_long_name_of_a_model_is_not_repeated_in_every_event() {
    for protocol in Protocol::ALL {
        let mut response = ChatResponse::from_parts("lab/m", ["a"; 100]);
        response.id = "i".repeat(100_000);
        response.model = "é".repeat(50_000);
        let mut writer = StreamWriter::new(*protocol, true);
        let written: usize = response.unfold().iter().map(|event| writer.write(event).len()).sum();
        assert!(written < 1_500_000, "{protocol:?}: {written} bytes");
    }
}

/// Found by the harness of hostile inputs: every thinking block of a response kept the name of its model.
#[test]
fn a_long_name_of_a_model_is_not_kept_with_every_part() {
    let thinking = || {
        let mut part = ThinkingPart::new("hm");
        part.provider_state =
            Some(Box::new(ProviderState::new("anthropic", json!({"signature": "s"}))));
        ResponsePart::Thinking(part)
    };
    let mut response = ChatResponse::from_parts("anthropic/m", (0..100).map(|_| thinking()));
    response.model = "m".repeat(100_000);
    for part in &mut response.choices[0].content {
        if let ResponsePart::Thinking(part) = part
            && let Some(state) = &mut part.provider_state
        {
            state.model = None;
        }
    }
    let carried = Carrier::new(CHAT, Protocol::Anthropic).response(response);
    let size = serde_json::to_string(&carried).unwrap().len();
    assert!(size < 1_000_000, "{size}");
}
