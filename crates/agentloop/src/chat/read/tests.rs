//! What is read, what is refused, and that everything that is written is read.

use serde_json::{Value, json};

use crate::chat::{ChatMessage, ChatRequest, Citation, ContentPart, MessageContent, ToolCall};

fn message(value: Value) -> ChatMessage {
    serde_json::from_value(value).unwrap()
}

fn refusal<T: serde::de::DeserializeOwned>(value: Value) -> String {
    serde_json::from_value::<T>(value).err().expect("it is read").to_string()
}

#[test]
fn an_unknown_field_of_a_part_is_refused_by_name() {
    for (part, name) in [
        (json!({"type": "text", "text": "a", "cache_kontrol": {}}), "cache_kontrol"),
        (json!({"type": "image_url", "image_url": {"url": "u"}, "detail": "low"}), "detail"),
        (json!({"type": "image_url", "image_url": {"url": "u", "size": 1}}), "size"),
        (
            json!({"type": "tool_call", "id": "1", "name": "f", "arguments": "{}", "input": 1}),
            "input",
        ),
        (json!({"type": "thinking", "thinking": "a", "sig": "b"}), "sig"),
        (
            json!({"type": "text", "text": "a", "providerState": {"provider": "p", "state": 1}}),
            "state",
        ),
        (json!({"type": "opaque", "provider": "p", "kind": "k", "data": 1, "more": 2}), "more"),
    ] {
        let why = refusal::<ContentPart>(part);
        assert!(why.contains(&format!("`{name}`")), "{why}");
    }
    assert!(refusal::<ContentPart>(json!({"type": "hologram"})).contains("`hologram`"));
    assert!(refusal::<ContentPart>(json!({"text": "a"})).contains("type"));
}

#[test]
fn an_unknown_field_of_a_call_or_a_message_is_refused_by_name() {
    for call in [
        json!({"id": "1", "function": {"name": "f", "arguments": "{}"}, "priority": 1}),
        json!({"id": "1", "function": {"name": "f", "arguments": "{}", "priority": 1}}),
    ] {
        assert!(refusal::<ToolCall>(call).contains("`priority`"));
    }
    assert!(refusal::<ToolCall>(json!({"id": "1", "type": "teleport"})).contains("`teleport`"));
    assert!(refusal::<ToolCall>(json!({"id": "1", "type": "function"})).contains("`function`"));
    let odd = json!({"role": "user", "content": "a", "mood": "good"});
    assert!(refusal::<ChatMessage>(odd).contains("`mood`"));
    let misplaced = json!({"role": "user", "content": "a", "refusal": "no"});
    assert!(refusal::<ChatMessage>(misplaced).contains("`refusal`"));
}

#[test]
fn null_is_the_same_as_absent() {
    let plain = json!({"model": "m", "messages": [{"role": "assistant", "content": "a"}]});
    let mut nulls = plain.clone();
    // Every field that a request and a message have, as far as JSON shows them.
    for name in [
        "temperature",
        "top_p",
        "top_k",
        "max_tokens",
        "stop",
        "seed",
        "n",
        "frequency_penalty",
        "presence_penalty",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "modalities",
        "audio",
        "image",
        "verbosity",
        "reasoning_effort",
        "thinking",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "stream",
        "stream_options",
        "service_tier",
        "prompt_cache_key",
        "user",
        "metadata",
        "extra_body",
        "extra_headers",
        "tags",
        "lenient",
        "strict",
        "output_strategy",
        "protocol",
        "fallbacks",
        "cache",
        "include_raw",
    ] {
        nulls[name] = Value::Null;
    }
    for name in [
        "name",
        "tool_calls",
        "tool_call_id",
        "is_error",
        "cache_control",
        "origin",
        "refusal",
        "annotations",
        "audio",
        "function_call",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "images",
        "extra_content",
        "executed_tools",
        "provider_metadata",
    ] {
        nulls["messages"][0][name] = Value::Null;
    }
    let read = |value| serde_json::from_value::<ChatRequest>(value).unwrap();
    assert_eq!(read(plain), read(nulls));
    let part: ContentPart = serde_json::from_value(
        json!({"type": "text", "text": "a", "citations": null, "cache_control": null, "providerState": null}),
    )
    .unwrap();
    assert_eq!(part, ContentPart::text("a"));
}

#[test]
fn what_openai_returns_is_a_message() {
    let read = message(json!({
        "role": "assistant", "content": "See [1].", "refusal": null, "audio": null, "function_call": null,
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A", "start_index": 4, "end_index": 7}}],
        "tool_calls": [{"id": "c1", "index": 0, "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }));
    let [ContentPart::Text(text)] = read.parts() else { panic!("{read:?}") };
    assert!(matches!(&text.citations[..], [Citation::Url(url)] if url.url == "https://a.example"));
    assert_eq!(read.tool_calls, [ToolCall::new("c1", "f", "{}")]);

    let refused = message(json!({"role": "assistant", "content": null, "refusal": "I cannot."}));
    assert_eq!(refused.text(), "I cannot.");

    let spoken = message(
        json!({"role": "assistant", "content": null, "audio": {"id": "audio_1", "transcript": "Hi"}}),
    );
    let [ContentPart::Audio(audio)] = spoken.parts() else { panic!("{spoken:?}") };
    assert_eq!(audio.provider_state.as_ref().unwrap().data, json!({"id": "audio_1"}));

    let old = message(
        json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}),
    );
    assert_eq!(old.tool_calls, [ToolCall::new("", "f", "{}")]);
    let result = message(json!({"role": "function", "name": "f", "content": "1"}));
    assert_eq!(result.tool_call_id.as_deref(), Some(""));
}

#[test]
fn what_compatible_providers_return_is_a_message() {
    for field in ["reasoning_content", "reasoning"] {
        let read = message(json!({"role": "assistant", "content": "4", field: "2 and 2"}));
        let [ContentPart::Thinking(thinking), ContentPart::Text(_)] = read.parts() else {
            panic!("{read:?}")
        };
        assert_eq!(thinking.thinking, "2 and 2");
        assert_eq!(thinking.provider_state, None);
    }
    let details = json!([{"type": "reasoning.text", "text": "2 and 2", "signature": "s"}]);
    let read = message(json!({"role": "assistant", "content": "4", "reasoning_details": details}));
    let [ContentPart::Thinking(thinking), _] = read.parts() else { panic!("{read:?}") };
    let state = thinking.provider_state.as_ref().unwrap();
    assert_eq!(
        (state.provider.as_str(), &state.data["reasoning_details"]),
        ("openrouter", &details)
    );

    let chunks = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": true}, {"type": "text", "text": "4"}]);
    let read = message(json!({"role": "assistant", "content": chunks}));
    assert!(matches!(&read.parts()[0], ContentPart::Thinking(part) if part.thinking == "hm"));

    let image = "data:image/png;base64,AAAA";
    let read = message(
        json!({"role": "assistant", "content": "", "images": [{"type": "image_url", "image_url": {"url": image}}]}),
    );
    assert!(matches!(read.parts(), [ContentPart::Image(part)] if part.data == "AAAA"));
}

#[test]
fn a_message_that_was_read_is_written_and_read_again() {
    let read = message(json!({
        "role": "assistant", "content": "4", "reasoning": "2 and 2", "refusal": "no",
        "tool_calls": [
            {"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}, "extra_content": {"google": {"thought_signature": "s"}}},
            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free text"}},
        ],
    }));
    let again = message(serde_json::to_value(&read).unwrap());
    assert_eq!(read, again);
    assert_eq!(read.tool_calls[0].function.arguments, r#"{"a":1}"#);
    assert_eq!(read.tool_calls[1].kind, "custom");
    assert!(matches!(read.content, Some(MessageContent::Parts(_))));
}
