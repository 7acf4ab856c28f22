//! Content without a field of its own at a provider is sent in another form, or is a warning.

use serde_json::{Value, json};

use super::send;

#[test]
fn arguments_that_are_not_an_object_are_a_warning_where_they_must_be_one() {
    for (arguments, warned) in [("[1, 2]", true), ("oops", true), ("{}", false), ("", false)] {
        let call = json!({"type": "tool_call", "id": "c1", "name": "f", "arguments": arguments});
        let sent = send(
            "google/gemini-2.5-flash",
            json!({"messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": [call]},
                {"role": "tool", "tool_call_id": "c1", "content": "1"},
            ]}),
        );
        let args = &sent.body["contents"][1]["parts"][0]["functionCall"]["args"];
        assert_eq!(*args != json!({}), warned, "{args}");
        let subject = "messages[1].content[0]".to_owned();
        assert_eq!(sent.warned.contains(&subject), warned, "{arguments}: {:?}", sent.warned);
    }
}

#[test]
fn the_description_of_a_schema_reaches_every_provider() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": false});
    for model in [
        "openai/gpt-4o",
        "anthropic/claude-sonnet-4-5",
        "google/gemini-2.5-flash",
        "deepseek/deepseek-chat",
    ] {
        let format = |schema: &Value| {
            let described =
                json!({"name": "r", "description": "A word of greeting", "schema": schema});
            json!({"response_format": {"type": "json_schema", "json_schema": described}})
        };
        let sent = send(model, format(&schema));
        let text = sent.body.to_string();
        assert_eq!(text.matches("A word of greeting").count(), 1, "{model}: {text}");

        let mut own = schema.clone();
        own["description"] = json!("Its own words");
        let sent = send(model, format(&own));
        let text = sent.body.to_string();
        assert!(text.contains("Its own words"), "{model}: {text}");
        let is_described = text.contains("A word of greeting")
            || sent.warned.iter().any(|what| what == "response_format.json_schema.description");
        assert!(is_described, "{model}: {text}");
    }
}

#[test]
fn the_transcript_of_a_spoken_response_stays_in_the_conversation() {
    let spoken = json!({"role": "assistant", "content": null, "audio": {"id": "audio_1", "transcript": "Good day"}});
    let messages =
        json!([{"role": "user", "content": "Hi"}, spoken, {"role": "user", "content": "Go on"}]);
    for (model, protocol) in [
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("openai/gpt-4o", "openai_responses"),
        ("google/gemini-2.5-flash", "gemini"),
        ("mistral/mistral-large-latest", "openai_chat"),
    ] {
        let sent = send(model, json!({"messages": messages, "protocol": protocol}));
        assert!(sent.body.to_string().contains("Good day"), "{model}: {}", sent.body);
        assert!(sent.warned.iter().any(|what| what == "messages[1].content[0]"), "{model}");
    }
    let own = send("openai/gpt-4o-audio-preview", json!({"messages": messages}));
    assert_eq!(own.body["messages"][1]["audio"], json!({"id": "audio_1"}));
    assert_eq!(own.warned, Vec::<String>::new());
}

#[test]
fn a_marker_keeps_its_time_wherever_it_is() {
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    let sent = send(
        "anthropic/claude-sonnet-4-5",
        json!({
            "tools": [{"type": "function", "function": {"name": "f"}, "cache_control": hour}],
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "S", "cache_control": hour}]},
                {"role": "user", "content": [{"type": "text", "text": "A", "cache_control": hour}]},
                {"role": "assistant", "content": "B"},
                {"role": "user", "content": "C", "cache_control": hour},
            ],
        }),
    );
    assert_eq!(sent.body["tools"][0]["cache_control"], hour);
    assert_eq!(sent.body["system"][0]["cache_control"], hour);
    assert_eq!(sent.body["messages"][0]["content"][0]["cache_control"], hour);
    assert_eq!(sent.body["messages"][2]["content"][0]["cache_control"], hour);
    assert_eq!(sent.warned, Vec::<String>::new());
}

#[test]
fn a_signature_in_openai_s_form_reaches_the_provider_that_made_it() {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"},
                      "extra_content": {"google": {"thought_signature": "c2lnbmF0dXJl"}}});
    let messages = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "1"},
    ]);
    let sent = send("google/gemini-3-flash", json!({"messages": messages}));
    assert_eq!(sent.body["contents"][1]["parts"][0]["thoughtSignature"], "c2lnbmF0dXJl");
    for model in ["mistral/mistral-large-latest", "openai/gpt-4o", "anthropic/claude-sonnet-4-5"] {
        let sent = send(model, json!({"messages": messages}));
        assert!(!sent.body.to_string().contains("c2lnbmF0dXJl"), "{model}: {}", sent.body);
    }
}

#[test]
fn calls_of_the_time_before_ids_are_paired_by_their_names() {
    let messages = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]);
    let sent = send("openai/gpt-4o", json!({"messages": messages}));
    let [_, call, result] = &sent.body["messages"].as_array().unwrap()[..] else { panic!() };
    assert_eq!(call["tool_calls"][0]["id"], result["tool_call_id"]);
    assert_eq!(sent.warned, Vec::<String>::new());
}
