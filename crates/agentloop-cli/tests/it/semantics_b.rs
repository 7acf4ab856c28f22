//! Requests to OpenAI-compatible providers: what each of them receives.

use crate::common;

use common::{Outcome, agentloop, encode};
use serde_json::{Value, json};

/// Creates a request of one message to `model`, with additional fields.
fn request(model: &str, more: Value) -> Value {
    let mut request = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    if let (Some(fields), Value::Object(more)) = (request.as_object_mut(), more) {
        fields.extend(more);
    }
    request
}

fn encoded(model: &str, more: Value) -> Value {
    encode("", &request(model, more)).response()
}

fn body(model: &str, more: Value) -> Value {
    encoded(model, more)["body"].take()
}

/// Returns the subjects of the warnings.
fn subjects(encoded: &Value) -> Vec<&str> {
    let warnings = encoded["warnings"].as_array().unwrap().iter();
    warnings.map(|warning| warning["subject"].as_str().unwrap()).collect()
}

fn messages(model: &str, messages: Value) -> Value {
    let mut more = json!({});
    more["messages"] = messages;
    body(model, more)["messages"].take()
}

const CALLS: &str = r#"[
    {"role":"user","content":"Weather in Paris and Rome?"},
    {"role":"assistant","content":null,"tool_calls":[
        {"id":"call_aaaaaaaaaaaa","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}},
        {"id":"call_bbbbbbbbbbbb","type":"function","function":{"name":"weather","arguments":""}}]},
    {"role":"tool","tool_call_id":"call_aaaaaaaaaaaa","content":"sun"},
    {"role":"tool","tool_call_id":"call_bbbbbbbbbbbb","content":"rain"}]"#;

fn calls() -> Value {
    serde_json::from_str(CALLS).unwrap()
}

#[test]
fn b1_the_token_limit_has_the_name_that_the_provider_accepts() {
    for (model, name) in [
        ("openai/gpt-4.1", "max_completion_tokens"),
        ("groq/llama-3.3-70b-versatile", "max_completion_tokens"),
        ("mistral/mistral-large-latest", "max_tokens"),
        ("deepseek/deepseek-chat", "max_tokens"),
        ("together/m", "max_tokens"),
        ("ollama/m", "max_tokens"),
    ] {
        for given in ["max_tokens", "max_completion_tokens"] {
            let mut body = body(model, json!({given: 10}));
            let fields = body.as_object_mut().unwrap();
            assert_eq!(fields.remove(name), Some(json!(10)), "{model}");
            assert!(fields.keys().all(|key| !key.starts_with("max_")), "{model}");
        }
    }
}

#[test]
fn b1_unsupported_parameters_of_openai_reasoning_models_are_removed_with_warnings() {
    let asked = json!({
        "temperature": 0.5, "top_p": 0.9, "frequency_penalty": 1, "presence_penalty": 1,
        "logit_bias": {"5": 1}, "logprobs": true, "top_logprobs": 2, "max_tokens": 5,
    });
    for model in ["openai/o3", "openai/o4-mini", "openai/gpt-5", "openai/gpt-5-mini"] {
        let encoded = encoded(model, asked.clone());
        let mut kept: Vec<&String> = encoded["body"].as_object().unwrap().keys().collect();
        kept.sort();
        assert_eq!(kept, ["max_completion_tokens", "messages", "model"], "{model}");
        let subjects = subjects(&encoded);
        for lost in ["temperature", "top_p", "frequency_penalty", "presence_penalty", "logit_bias"]
        {
            assert!(subjects.contains(&lost), "{model}: {lost} in {subjects:?}");
        }
    }
    let free = encoded("openai/gpt-4.1", asked);
    assert_eq!(free["body"]["temperature"], 0.5);
    assert_eq!(free["warnings"], json!([]));
}

#[test]
fn b2_without_tools_no_tool_parameters_are_sent() {
    let body = body(
        "openai/gpt-4.1",
        json!({"tools": [], "tool_choice": "auto", "parallel_tool_calls": true}),
    );
    for name in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert_eq!(body.get(name), None, "{name}");
    }
}

#[test]
fn b2_nulls_are_never_sent() {
    let run = encode(
        "--stream",
        &request(
            "openai/gpt-4.1",
            json!({"temperature": null, "stop": null, "tool_choice": null, "user": null, "seed": null}),
        ),
    );
    assert!(!run.response()["body"].to_string().contains("null"), "{run}");
}

#[test]
fn b2_stream_options_are_sent_only_for_streams_and_if_supported() {
    let plain = request("openai/gpt-4.1", json!({"stream_options": {"include_usage": true}}));
    assert_eq!(encode("", &plain).response()["body"].get("stream_options"), None);
    assert_eq!(encode("", &plain).response()["body"].get("stream"), None);
    for (model, taken) in
        [("openai/m", true), ("groq/m", true), ("mistral/m", false), ("perplexity/m", false)]
    {
        let body = encode("--stream", &request(model, json!({}))).response()["body"].take();
        assert_eq!(body["stream"], true, "{model}");
        assert_eq!(body.get("stream_options").is_some(), taken, "{model}");
    }
}

#[test]
fn b3_a_strict_provider_gets_only_allowed_parameters() {
    let encoded = encoded(
        "mistral/mistral-large-latest",
        json!({
            "temperature": 0.1, "seed": 3, "logit_bias": {"1": 1}, "user": "u", "verbosity": "low", "modalities": ["text"],
            "messages": [{"role": "user", "content": "Hello", "name": "ann"}],
        }),
    );
    let body = &encoded["body"];
    assert_eq!(body["random_seed"], 3);
    assert_eq!(body.get("seed"), None);
    for lost in ["logit_bias", "user", "verbosity", "modalities"] {
        assert_eq!(body.get(lost), None, "{lost}");
        assert!(subjects(&encoded).contains(&lost), "{lost}");
    }
    assert_eq!(body["messages"], json!([{"role": "user", "content": "Hello"}]));
    assert!(subjects(&encoded).contains(&"messages[0].name"));
}

#[test]
fn b3_call_ids_are_mapped_for_a_provider_that_requires_nine_characters() {
    let sent = messages("mistral/mistral-large-latest", calls());
    let again = messages("mistral/mistral-large-latest", calls());
    assert_eq!(sent, again, "the same every time");
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let (a, b) = (id(&sent[1]["tool_calls"][0]["id"]), id(&sent[1]["tool_calls"][1]["id"]));
    assert_ne!(a, b);
    for id in [&a, &b] {
        assert!(id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()), "{id}");
    }
    assert_eq!((id(&sent[2]["tool_call_id"]), id(&sent[3]["tool_call_id"])), (a, b));
    let mut own = calls();
    own[1]["tool_calls"][0]["id"] = json!("AbCdEf123");
    own[2]["tool_call_id"] = json!("AbCdEf123");
    let sent = messages("mistral/mistral-large-latest", own);
    assert_eq!(sent[1]["tool_calls"][0]["id"], "AbCdEf123", "one that fits stays");
}

#[test]
fn b4_reasoning_is_sent_back_in_the_field_of_the_provider() {
    let turn = json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "So"}]},
        {"role": "user", "content": "And?"},
    ]);
    for (model, field) in [
        ("deepseek/deepseek-reasoner", Some("reasoning_content")),
        ("fireworks/m", Some("reasoning_content")),
        ("groq/m", Some("reasoning")),
        ("openai/gpt-4.1", None),
    ] {
        let sent = messages(model, turn.clone())[1].take();
        assert_eq!(sent["content"], "So", "{model}");
        for name in ["reasoning_content", "reasoning"] {
            let expected = if Some(name) == field { json!("Hm") } else { Value::Null };
            assert_eq!(sent[name], expected, "{model} {name}");
        }
    }
    let sent = messages("mistral/magistral-medium-latest", turn.clone())[1].take();
    assert_eq!(sent["content"][0]["type"], "thinking");
    assert_eq!(sent["content"][0]["thinking"], json!([{"type": "text", "text": "Hm"}]));
    assert_eq!(sent["content"][1], json!({"type": "text", "text": "So"}));
    let lost = encoded("openai/gpt-4.1", json!({"messages": turn}));
    assert_eq!(subjects(&lost), ["messages[1].content[0]"], "nothing vanishes silently");
}

#[test]
fn b5_a_message_with_calls_has_null_content_and_is_followed_by_results() {
    let sent = messages("openai/gpt-4.1", calls());
    assert_eq!(sent.as_array().unwrap().len(), 4);
    assert_eq!(sent[1]["content"], Value::Null);
    assert!(sent[1].as_object().unwrap().contains_key("content"));
    assert_eq!(sent[1]["tool_calls"][0]["function"]["arguments"], r#"{"city":"Paris"}"#);
    assert_eq!(sent[1]["tool_calls"][1]["function"]["arguments"], "{}", "empty is an empty object");
    assert_eq!(
        sent[2],
        json!({"role": "tool", "content": "sun", "tool_call_id": "call_aaaaaaaaaaaa"})
    );
}

#[test]
fn b5_calls_as_parts_and_calls_as_tool_calls_are_equivalent() {
    let mut parts = calls();
    parts[1] = json!({"role": "assistant", "content": [
        {"type": "tool_call", "id": "call_aaaaaaaaaaaa", "name": "weather", "arguments": "{\"city\":\"Paris\"}"},
        {"type": "tool_call", "id": "call_bbbbbbbbbbbb", "name": "weather", "arguments": ""}]});
    assert_eq!(messages("openai/gpt-4.1", parts), messages("openai/gpt-4.1", calls()));
}

#[test]
fn b5_an_empty_message_is_left_out_or_empty() {
    for content in [json!(null), json!(""), json!([])] {
        let turns = json!([
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "Anyone?"},
        ]);
        let sent = messages("openai/gpt-4.1", turns);
        let empty = sent.as_array().unwrap().iter().find(|turn| turn["role"] == "assistant");
        assert!(empty.is_none_or(|turn| turn["content"] == ""), "{content}: {sent}");
    }
}

#[test]
fn b6_an_unsupported_part_is_a_typed_error_that_names_it() {
    let parts = |part: Value| json!([{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]);
    let audio = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}});
    let file = json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}});
    let video = json!({"type": "video_url", "video_url": {"url": "https://v.example/a.mp4"}});
    let remote = json!({"type": "image_url", "image_url": {"url": "https://i.example/a.png"}});
    for (model, part) in [
        ("deepseek/deepseek-chat", &audio),
        ("groq/m", &file),
        ("openai/gpt-4.1", &video),
        ("ollama/llava", &remote),
    ] {
        let asked = json!({"messages": parts(part.clone())});
        let run = encode("", &request(model, asked.clone()));
        assert_eq!(run.code, Some(2), "{model}: {run}");
        let error = run.json()["error"].take();
        assert_eq!(error["kind"], "unsupported", "{model}");
        assert!(error["message"].as_str().unwrap().contains("messages[0].content[1]"), "{error}");
        let mut lenient = asked;
        lenient["lenient"] = json!(true);
        let sent = encoded(model, lenient);
        assert_eq!(subjects(&sent), ["messages[0].content[1]"], "{model}");
        assert!(!sent["body"].to_string().contains("AAAA"), "{model}");
    }
}

#[test]
fn b6_media_have_the_format_of_the_provider() {
    let one = |model: &str, part: Value| {
        let turns = json!([{"role": "user", "content": [{"type": "text", "text": "What?"}, part]}]);
        messages(model, turns)[0]["content"][1].take()
    };
    let image = json!({"type": "image_url", "image_url": {"url": "https://i.example/a.png"}});
    assert_eq!(one("openai/gpt-4.1", image.clone()), image);
    let audio = json!({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}});
    assert_eq!(one("openai/gpt-4o-audio-preview", audio.clone()), audio);
    assert_eq!(one("mistral/voxtral-small-latest", audio)["input_audio"], "AAAA");
    let file = json!({"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}});
    assert_eq!(one("openai/gpt-4.1", file.clone()), file);
    let document = one("mistral/mistral-large-latest", file);
    assert_eq!(document["type"], "document_url");
    assert_eq!(document["document_url"], "data:application/pdf;base64,AAAA");
}

#[test]
fn b7_extra_fields_and_headers_are_sent_but_never_replace_the_key() {
    let encoded = encoded(
        "mistral/mistral-large-latest",
        json!({
            "temperature": 0.1,
            "extra_body": {"safe_prompt": true, "prediction": {"type": "content", "content": null}, "temperature": 0.9},
            "extra_headers": {"X-Trace": "t1", "Authorization": "Bearer stolen", "x-api-key": "stolen"},
        }),
    );
    let body = &encoded["body"];
    assert_eq!(body["safe_prompt"], true);
    assert_eq!(body["prediction"], json!({"type": "content", "content": null}));
    assert_eq!(body["temperature"], 0.9, "the caller's own field wins, once");
    let headers = &encoded["headers"];
    assert_eq!(headers["x-trace"], "t1");
    assert_eq!(headers["authorization"], "Bearer ***");
    assert!(!encoded.to_string().contains("stolen"), "{encoded}");
}

#[test]
fn b7_a_field_is_never_written_twice() {
    let asked = request(
        "openai/gpt-4.1",
        json!({"temperature": 0.1, "extra_body": {"temperature": 0.9, "stream": true}}),
    );
    let run: Outcome = encode("--stream", &asked);
    assert_eq!(run.stdout.matches(r#""temperature""#).count(), 1, "{run}");
    assert_eq!(run.stdout.matches(r#""stream":"#).count(), 1, "{run}");
}

#[test]
fn b_a_longer_conversation_only_appends_to_the_request() {
    for model in ["openai/gpt-4.1", "mistral/mistral-large-latest", "deepseek/deepseek-chat"] {
        let all = calls();
        let all = all.as_array().unwrap();
        let encode = |turns: &[Value]| {
            let asked = request(
                model,
                json!({"messages": turns, "temperature": 0.5, "response_format": {"type": "json_object"}}),
            );
            let run = encode("", &asked);
            let (_, body) = run.stdout.split_once(r#""body":"#).unwrap();
            let (body, _) = body.split_once(r#"]},"warnings""#).unwrap();
            body.to_owned()
        };
        let (short, long) = (encode(&all[..1]), encode(all));
        assert!(long.starts_with(&short), "{model}\n{short}\n{long}");
    }
}

#[test]
fn b_models_are_chosen_by_provider_alias_or_default() {
    let asked = |model: &str| request(model, json!({})).to_string();
    let run = |model: &str| {
        agentloop(["encode"])
            .config("default_provider = 'lab'\n[aliases]\nfast = 'groq/openai/gpt-oss-20b'\n[providers.lab]\nbase_url = 'http://lab.example/v1/'\n")
            .stdin(asked(model))
            .run()
            .response()
    };
    assert_eq!(run("groq/openai/gpt-oss-120b")["body"]["model"], "openai/gpt-oss-120b");
    assert_eq!(run("fast")["body"]["model"], "openai/gpt-oss-20b");
    let whole = run("meta-llama/Llama-3");
    assert_eq!(whole["body"]["model"], "meta-llama/Llama-3");
    assert_eq!(whole["url"], "http://lab.example/v1/chat/completions");
}
