//! Requests to Anthropic: how each rule encodes a conversation.

use crate::common;

use common::encode;
use serde_json::{Value, json};

const MODEL: &str = "anthropic/claude-sonnet-4-5";

fn encoded(more: Value) -> Value {
    let mut request = json!({"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]});
    if let (Some(fields), Value::Object(more)) = (request.as_object_mut(), more) {
        fields.extend(more);
    }
    encode("", &request).response()
}

fn body(more: Value) -> Value {
    encoded(more)["body"].take()
}

fn messages(messages: Value) -> Value {
    let mut more = json!({});
    more["messages"] = messages;
    body(more)["messages"].take()
}

fn subjects(encoded: &Value) -> Vec<String> {
    let warnings = encoded["warnings"].as_array().unwrap().iter();
    warnings.map(|warning| warning["subject"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Returns the text of a content that is a string or a list of blocks.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("|")
        }
        _ => String::new(),
    }
}

fn calls() -> Value {
    json!([
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [
            {"id": "call_a", "type": "function", "function": {"name": "weather", "arguments": "{\"city\":\"Rome\"}"}},
            {"id": "b|1.2", "type": "function", "function": {"name": "now", "arguments": ""}},
        ]},
        {"role": "tool", "tool_call_id": "b|1.2", "content": "noon"},
        {"role": "tool", "tool_call_id": "call_a", "content": "sun"},
        {"role": "user", "content": "And tomorrow?"},
    ])
}

#[test]
fn the_request_has_the_path_the_version_and_the_key() {
    let encoded = encoded(json!({}));
    assert_eq!(encoded["url"], "https://api.anthropic.com/v1/messages");
    assert_eq!(encoded["headers"]["anthropic-version"], "2023-06-01");
    assert_eq!(encoded["headers"]["x-api-key"], "***");
    assert_eq!(encoded["headers"]["authorization"], Value::Null);
    assert!(encoded["body"]["max_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn d1_system_text_goes_to_system() {
    let body = body(json!({"messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
    ]}));
    let system = text(&body["system"]);
    assert!(system.contains("Be brief.") && system.contains("Be kind."), "{system}");
    let roles: Vec<&Value> =
        body["messages"].as_array().unwrap().iter().map(|turn| &turn["role"]).collect();
    assert_eq!(roles, ["user"]);
}

#[test]
fn d1_a_cache_marker_makes_system_blocks() {
    let body = body(json!({"messages": [
        {"role": "system", "content": [{"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral"}}]},
        {"role": "user", "content": "Hello"},
    ]}));
    assert_eq!(body["system"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
fn d1_all_results_of_a_step_are_first_in_the_next_message() {
    let turns = messages(calls());
    assert_eq!(turns.as_array().unwrap().len(), 3, "{turns}");
    let blocks = turns[2]["content"].as_array().unwrap();
    let kinds: Vec<&str> = blocks.iter().map(|block| block["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["tool_result", "tool_result", "text"], "{turns}");
    let uses: Vec<&Value> = turns[1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|block| block["type"] == "tool_use")
        .map(|block| &block["id"])
        .collect();
    let results: Vec<&Value> = blocks[..2].iter().map(|block| &block["tool_use_id"]).collect();
    assert_eq!(uses, results, "in call order");
}

#[test]
fn d1_blank_text_empty_messages_and_trailing_space_are_removed() {
    let turns = messages(json!([
        {"role": "user", "content": "a"},
        {"role": "user", "content": "  "},
        {"role": "assistant", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "Well, \n"},
    ]));
    let shown = turns.to_string();
    for turn in turns.as_array().unwrap() {
        let text = text(&turn["content"]);
        assert!(!text.trim().is_empty(), "{shown}");
        for block in turn["content"].as_array().into_iter().flatten() {
            assert!(block["text"].as_str().is_none_or(|text| !text.trim().is_empty()), "{shown}");
        }
    }
    let last = turns.as_array().unwrap().last().unwrap();
    assert_eq!(text(&last["content"]), "Well,");
}

#[test]
fn d2_input_is_an_object_and_ids_are_valid() {
    let turns = messages(calls());
    for block in turns[1]["content"].as_array().unwrap() {
        if block["type"] == "tool_use" {
            assert!(block["input"].is_object(), "{block}");
            let id = block["id"].as_str().unwrap();
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(!id.is_empty() && id.chars().all(fits), "{id}");
        }
    }
    for arguments in ["null", "[1]", "7", "{broken", "\"text\""] {
        let turns = messages(json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "c", "content": "y"},
        ]));
        assert!(turns[1]["content"][0]["input"].is_object(), "{arguments}: {turns}");
    }
}

#[test]
fn d2_a_tool_without_parameters_has_an_object_schema_and_a_valid_name() {
    let body = body(json!({"tools": [
        {"type": "function", "function": {"name": "now"}},
        {"type": "function", "function": {"name": "my.tool name", "description": "d", "parameters": {"type": "object"}}},
    ]}));
    assert_eq!(body["tools"][0]["input_schema"]["type"], "object");
    let name = body["tools"][1]["name"].as_str().unwrap();
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'), "{name}");
}

#[test]
fn d3_only_signed_thinking_of_the_same_provider_is_sent_back() {
    let turn = |origin: &str, parts: Value| {
        json!([
            {"role": "user", "content": "x"},
            {"role": "assistant", "content": parts, "origin": {"provider": origin, "model": "m"}},
            {"role": "user", "content": "y"},
        ])
    };
    let parts = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "b25seQ=="},
        {"type": "redacted_thinking", "data": "eHg="},
        {"type": "text", "text": "Yes."},
    ]);
    let own = messages(turn("anthropic", parts.clone()));
    assert_eq!(
        own[1]["content"][0],
        json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
    );
    assert_eq!(own[1]["content"][1]["signature"], "b25seQ==");
    assert_eq!(own[1]["content"][2], json!({"type": "redacted_thinking", "data": "eHg="}));
    let foreign = messages(turn("deepseek", parts));
    assert!(!foreign.to_string().contains("thinking"), "{foreign}");
    let unsigned = messages(turn(
        "anthropic",
        json!([
        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}]),
    ));
    assert!(!unsigned.to_string().contains("thinking"), "{unsigned}");
}

#[test]
fn d4_orphaned_calls_are_repaired_with_warnings_or_refused_if_strict() {
    let history = json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "user", "content": "never mind"},
        {"role": "tool", "tool_call_id": "unknown", "content": "?"},
    ]);
    let first = encoded(json!({"messages": history}));
    assert_eq!(first, encoded(json!({"messages": history})), "deterministic");
    assert!(first["warnings"].as_array().unwrap().len() >= 2, "{first}");
    let turn = &first["body"]["messages"][2]["content"];
    assert_eq!(turn[0]["type"], "tool_result");
    assert_eq!(turn[0]["tool_use_id"], "c");
    assert!(!first["body"].to_string().contains("unknown"));
    let strict = encode("", &json!({"model": MODEL, "messages": history, "strict": true}));
    assert_ne!(strict.code, Some(0), "{strict}");
}

#[test]
fn d5_structured_output_is_native_if_the_model_supports_it() {
    let format = json!({"type": "json_schema", "json_schema": {"name": "r", "strict": true, "schema": {
        "type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}}});
    let body = body(json!({"response_format": format}));
    let schema = &body["output_config"]["format"]["schema"];
    assert_eq!(body["output_config"]["format"]["type"], "json_schema");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(schema["properties"]["n"].get("minimum"), None);
}

#[test]
fn d5_structured_output_falls_back_to_a_forced_tool_and_then_the_prompt() {
    let schema =
        json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let format = json!({"type": "json_schema", "json_schema": {"name": "r", "schema": schema}});
    let old = |more: Value| {
        let mut request = json!({"model": "anthropic/claude-3-7-sonnet-20250219",
            "messages": [{"role": "user", "content": "Hello"}], "response_format": format});
        if let (Some(fields), Value::Object(more)) = (request.as_object_mut(), more) {
            fields.extend(more);
        }
        encode("", &request).response()
    };
    let by_tool = old(json!({}));
    let body = &by_tool["body"];
    assert_eq!(body["tools"][0]["name"], "r");
    assert_eq!(body["tools"][0]["input_schema"], schema);
    assert_eq!(
        (&body["tool_choice"]["type"], &body["tool_choice"]["name"]),
        (&json!("tool"), &json!("r"))
    );
    assert_eq!(body.get("output_config"), None);
    assert_eq!(subjects(&by_tool), ["response_format"]);

    // A model that thinks does not accept a forced call.
    let in_words = old(json!({"thinking": {"budget_tokens": 2000}}));
    let body = &in_words["body"];
    assert!(text(&body["system"]).contains("\"integer\""), "{body}");
    assert_eq!((body.get("tools"), body.get("tool_choice")), (None, None));
    assert!(subjects(&in_words).contains(&"response_format".to_owned()));
}

#[test]
fn d6_tool_choice_and_parallel_calls_are_mapped() {
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    for (choice, expected) in [
        (json!("auto"), json!({"type": "auto"})),
        (json!("required"), json!({"type": "any"})),
        (json!("none"), json!({"type": "none"})),
        (
            json!({"type": "function", "function": {"name": "f"}}),
            json!({"type": "tool", "name": "f"}),
        ),
    ] {
        let body = body(json!({"tools": tools, "tool_choice": choice}));
        assert_eq!(body["tool_choice"], expected);
    }
    let body = body(json!({"tools": tools, "parallel_tool_calls": false}));
    assert_eq!(body["tool_choice"]["disable_parallel_tool_use"], true);
}

#[test]
fn d6_forced_tool_choice_is_removed_if_the_model_refuses_it() {
    let request = json!({"model": "anthropic/claude-opus-5-5", "messages": [{"role": "user", "content": "x"}],
        "tools": [{"type": "function", "function": {"name": "f"}}], "tool_choice": "required"});
    let encoded = encode("", &request).response();
    assert_eq!(encoded["body"]["tool_choice"]["type"], "auto");
    assert!(subjects(&encoded).contains(&"tool_choice".to_owned()), "{encoded}");
}

#[test]
fn d6_sampling_parameters_are_sent_if_supported_else_a_warning() {
    let old = encoded(json!({"temperature": 0.5}));
    assert_eq!(old["body"]["temperature"], 0.5);
    let request = json!({"model": "anthropic/claude-opus-5", "messages": [{"role": "user", "content": "x"}],
        "temperature": 0.5, "top_p": 0.5, "top_k": 5});
    let new = encode("", &request).response();
    for name in ["temperature", "top_p", "top_k"] {
        assert_eq!(new["body"].get(name), None, "{new}");
        assert!(subjects(&new).contains(&name.to_owned()), "{new}");
    }
}

#[test]
fn d6_effort_and_budgets_are_mapped_by_model() {
    let old =
        body(json!({"thinking": {"enabled": true, "budget_tokens": 2048}, "max_tokens": 8000}));
    assert_eq!(old["thinking"], json!({"type": "enabled", "budget_tokens": 2048}));
    let request = json!({"model": "anthropic/claude-opus-4-7", "reasoning_effort": "high",
        "messages": [{"role": "user", "content": "x"}]});
    let new = encode("", &request).response();
    assert_eq!(new["body"]["thinking"]["type"], "adaptive", "{new}");
    assert_eq!(new["body"]["output_config"]["effort"], "high");
}

#[test]
fn d6_media_user_and_cache_markers_are_mapped() {
    let body = body(
        json!({"user": "u1", "stop": ["END"], "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}},
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        ]}]}),
    );
    let blocks = &body["messages"][0]["content"];
    assert_eq!(blocks[0]["source"], json!({"type": "url", "url": "https://x.test/a.png"}));
    assert_eq!(
        blocks[1]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})
    );
    assert_eq!(blocks[2]["type"], "document");
    assert_eq!(blocks[3]["cache_control"]["type"], "ephemeral");
    assert_eq!(body["metadata"]["user_id"], "u1");
    assert_eq!(body["stop_sequences"], json!(["END"]));
}

#[test]
fn d6_at_most_four_cache_markers_are_sent() {
    let part =
        |text: &str| json!({"type": "text", "text": text, "cache_control": {"type": "ephemeral"}});
    let encoded = encoded(json!({"messages": [{"role": "user", "content":
        [part("a"), part("b"), part("c"), part("d"), part("e"), part("f")]}]}));
    assert_eq!(encoded["body"].to_string().matches("cache_control").count(), 4);
    assert!(!encoded["warnings"].as_array().unwrap().is_empty());
}

#[test]
fn d6_failed_tools_are_marked_and_unsupported_content_is_a_warning() {
    let turns = messages(json!([
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "boom", "is_error": true},
    ]));
    assert_eq!(turns[2]["content"][0]["is_error"], true);
    let encoded =
        encoded(json!({"seed": 1, "n": 2, "frequency_penalty": 1.0, "logit_bias": {"1": 1.0}}));
    for name in ["seed", "n", "frequency_penalty", "logit_bias"] {
        assert_eq!(encoded["body"].get(name), None);
        assert!(subjects(&encoded).contains(&name.to_owned()), "{encoded}");
    }
}

#[test]
fn compatible_providers_get_the_same_body_at_their_own_url() {
    let request =
        json!({"model": "deepseek/deepseek-flash", "messages": [{"role": "user", "content": "x"}]});
    let encoded = encode("--protocol anthropic", &request).response();
    assert_eq!(encoded["url"], "https://api.deepseek.com/anthropic/v1/messages");
    assert_eq!(encoded["body"]["messages"][0]["role"], "user");
}
