//! Ollama's own API: which requests are sent to it, in which form, and what is read from odd streams.

use agentloop::inspect::{self, EncodedRequest};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Effort, EmbedRequest, ErrorKind,
    FinishReason, Protocol, Provider, ResponseFormat, Thinking, ThinkingPart, ToolCallPart,
    ToolChoice, ToolDefinition, WarningKind,
};
use serde_json::{Value, json};

use crate::support::{Decoded, Wire, decode};

fn client() -> AgentLoop {
    AgentLoop::builder().build().unwrap()
}

fn encode(request: &ChatRequest) -> EncodedRequest {
    inspect::encode(&client(), request, false).unwrap()
}

fn body(encoded: &EncodedRequest) -> Value {
    serde_json::from_str(encoded.body.get()).unwrap()
}

fn ask() -> ChatRequest {
    ChatRequest::new("ollama/qwen3").user("Hello")
}

/// A request in the protocol.
fn own() -> ChatRequest {
    ask().protocol(Protocol::Ollama)
}

#[test]
fn a_request_goes_to_ollama_s_own_api_if_the_openai_endpoint_would_ignore_something() {
    let compatible = "http://localhost:11434/v1/chat/completions";
    let native = "http://localhost:11434/api/chat";
    let sampled = ask().temperature(0.5).max_tokens(9).effort(Effort::High);
    for (request, url) in [
        (ask(), compatible),
        (sampled, compatible),
        (ask().extra("something", 1), compatible),
        (ask().provider_option("groq", "options", json!({})), compatible),
        (ask().top_k(40), native),
        (ask().extra("num_ctx", 8192), native),
        (ask().extra("keep_alive", "10m"), native),
        (ask().extra("options", json!({ "num_ctx": 8192 })), native),
        (ask().provider_option("ollama", "keep_alive", -1), native),
        // The request decides.
        (ask().top_k(40).protocol(Protocol::OpenAiChat), compatible),
    ] {
        assert_eq!(encode(&request).url, url, "{request:?}");
    }
    let row = Provider::ollama().default_field("options.num_ctx", 16_384);
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let encoded = inspect::encode(&ai, &ask().temperature(0.5), true).unwrap();
    assert_eq!(encoded.url, native);
    assert_eq!(body(&encoded)["options"], json!({ "temperature": 0.5, "num_ctx": 16_384 }));
}

#[test]
fn a_base_url_of_the_row_is_that_of_all_its_protocols() {
    let row = Provider::ollama().base_url("https://ollama.example/v1");
    let ai = AgentLoop::builder().provider(row).build().unwrap();
    let encoded = inspect::encode(&ai, &own(), false).unwrap();
    assert_eq!(encoded.url, "https://ollama.example/api/chat");
}

#[test]
fn parameters_are_options_and_options_of_the_caller_are_merged_with_them() {
    let request = own()
        .temperature(0.5)
        .top_p(0.9)
        .top_k(40)
        .max_tokens(100)
        .seed(-3)
        .stop(vec!["a", "b"])
        .frequency_penalty(0.25)
        .presence_penalty(0.75)
        .extra("num_ctx", 8192)
        .extra("temperature", 0.1)
        .extra("options", json!({ "num_gpu": 2, "temperature": 0.2 }))
        .extra("keep_alive", "5m");
    let encoded = encode(&request);
    let sent = body(&encoded);
    assert_eq!(
        sent["options"],
        json!({ "temperature": 0.2, "top_p": 0.9, "top_k": 40, "num_predict": 100, "seed": -3,
                "stop": ["a", "b"], "frequency_penalty": 0.25, "presence_penalty": 0.75,
                "num_ctx": 8192, "num_gpu": 2 })
    );
    assert_eq!((&sent["keep_alive"], &sent["stream"]), (&json!("5m"), &json!(false)));
    assert!(encoded.warnings.is_empty(), "{:?}", encoded.warnings);
    assert_eq!(body(&inspect::encode(&client(), &own(), true).unwrap())["stream"], true);
}

#[test]
fn a_conversation_has_the_form_of_the_api() {
    let parts = vec![
        ContentPart::Thinking(ThinkingPart::new("Hm.")),
        ContentPart::text("Let me look."),
        ContentPart::ToolCall(ToolCallPart::new("c1", "weather", r#"{"city": "Rome"}"#)),
        ContentPart::ToolCall(ToolCallPart::new("c2", "now", "")),
        ContentPart::ToolCall(ToolCallPart::new("c3", "odd", "[1]")),
    ];
    let request = ChatRequest::new("ollama/qwen3")
        .protocol(Protocol::Ollama)
        .system("Be brief.")
        .user([
            ContentPart::text("What is this?"),
            ContentPart::image_url("data:image/png;base64,iVBORw0KGgo="),
            ContentPart::text("And this?"),
            ContentPart::audio("UklGRg==", "wav"),
        ])
        .message(ChatMessage::assistant(parts))
        .message(ChatMessage::tool("c1", "18 °C"))
        .message(ChatMessage::tool_error("c2", "no clock"))
        .message(ChatMessage::tool("c3", ""));
    let encoded = encode(&request);
    assert_eq!(
        body(&encoded)["messages"],
        json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "What is this?\n\nAnd this?",
              "images": ["iVBORw0KGgo=", "UklGRg=="] },
            { "role": "assistant", "content": "Let me look.", "thinking": "Hm.", "tool_calls": [
                { "id": "c1", "function": { "name": "weather", "arguments": { "city": "Rome" } } },
                { "id": "c2", "function": { "name": "now", "arguments": {} } },
                { "id": "c3", "function": { "name": "odd", "arguments": { "arguments": "[1]" } } },
            ] },
            { "role": "tool", "content": "18 °C", "tool_name": "weather", "tool_call_id": "c1" },
            { "role": "tool", "content": "Error: no clock", "tool_name": "now", "tool_call_id": "c2" },
            { "role": "tool", "content": "", "tool_name": "odd", "tool_call_id": "c3" },
        ])
    );
    let kinds: Vec<WarningKind> = encoded.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::Converted], "{:?}", encoded.warnings);
}

#[test]
fn thinking_is_a_switch_or_a_level() {
    for (request, sent) in [
        (own(), Value::Null),
        (own().thinking(Thinking::enabled()), json!(true)),
        (own().thinking(Thinking::disabled()), json!(false)),
        (own().effort(Effort::None), json!(false)),
        (own().effort(Effort::High), json!("high")),
        (own().effort(Effort::Minimal), json!("low")),
        (own().effort(Effort::Max), json!("max")),
        (own().thinking(Thinking::disabled()).effort(Effort::High), json!(false)),
    ] {
        assert_eq!(body(&encode(&request))["think"], sent, "{request:?}");
    }
    let encoded = encode(&own().thinking(Thinking::budget(100)));
    assert_eq!(body(&encoded)["think"], true);
    assert_eq!(encoded.warnings.len(), 1, "{:?}", encoded.warnings);
}

#[test]
fn tools_that_must_not_be_called_are_not_sent_and_calls_cannot_be_forced() {
    let tool = || ToolDefinition::function("f", json!({ "type": "object", "properties": {} }));
    let sent = encode(&own().tool(tool()));
    let function = json!({ "name": "f", "parameters": { "type": "object", "properties": {} } });
    assert_eq!(body(&sent)["tools"], json!([{ "type": "function", "function": function }]));
    let auto = encode(&own().tool(tool()).tool_choice(ToolChoice::Auto));
    assert_eq!((body(&auto), auto.warnings.len()), (body(&sent), 0));
    let none = encode(&own().tool(tool()).tool_choice(ToolChoice::None));
    assert_eq!((body(&none).get("tools"), none.warnings.len()), (None, 0));
    let forced = encode(&own().tool(tool()).tool_choice(ToolChoice::Required));
    assert_eq!(body(&forced), body(&sent));
    assert_eq!(forced.warnings.len(), 1, "{:?}", forced.warnings);
}

#[test]
fn the_format_is_json_or_any_schema() {
    let json_mode = encode(&own().response_format(ResponseFormat::json()));
    assert_eq!(body(&json_mode)["format"], "json");
    let schema = json!({ "type": "array", "items": { "type": "integer" } });
    let format = ResponseFormat::json_schema("numbers", schema.clone());
    assert_eq!(body(&encode(&own().response_format(format)))["format"], schema);
}

#[test]
fn what_the_server_cannot_take_is_refused_by_name() {
    for part in [
        ContentPart::image_url("https://example.com/cat.png"),
        ContentPart::file("a.pdf", "data:application/pdf;base64,JVBERi0="),
    ] {
        let request = ChatRequest::new("ollama/m").protocol(Protocol::Ollama).user([part]);
        let error = inspect::encode(&client(), &request, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
        assert!(error.message().contains("messages[0].content[0]"), "{error:?}");
        assert_eq!(encode(&request.lenient()).warnings.len(), 1);
    }
}

#[test]
fn embeddings_of_a_provider_of_the_protocol_are_asked_for_in_it() {
    let lab = Provider::ollama_compatible("lab", "http://lab.invalid");
    let ai = AgentLoop::builder().provider(lab).build().unwrap();
    let request = EmbedRequest::new("lab/m", ["a", "b"]).dimensions(8).extra("keep_alive", 0);
    let calls = inspect::encode_embed(&ai, &request).unwrap();
    assert_eq!(calls[0].url, "http://lab.invalid/api/embed");
    let expected = json!({ "model": "m", "dimensions": 8, "keep_alive": 0, "input": ["a", "b"] });
    assert_eq!(body(&calls[0]), expected);
}

fn read(bytes: &[u8], stream: bool, size: usize) -> Decoded {
    let protocol = Some(Protocol::Ollama);
    decode(&Wire { protocol, stream, size, ..Wire::of("ollama") }, bytes)
}

const HEAD: &str = r#"{"model":"m","created_at":"2026-08-21T10:00:00Z","message":{"role":"assistant","content":"Hé"},"done":false}"#;
const END: &str = r#"{"model":"m","message":{"role":"assistant","content":"!"},"done":true,"done_reason":"stop","eval_count":2}"#;

#[test]
fn line_ends_blank_lines_and_what_follows_the_end_change_nothing() {
    let plain = format!("{HEAD}\n{END}\n");
    let expected = read(plain.as_bytes(), true, usize::MAX);
    assert_eq!(expected.events.len(), 8, "{expected:?}");
    for text in [
        plain.clone(),
        format!("\u{feff}{HEAD}\r\n{END}\r\n"),
        format!("\n\r\n  \n{HEAD}\n\n\n{END}"),
        format!("{HEAD}\n{END}\n<html>garbage</html>\n{{\"error\":\"late\"}}\n"),
        format!("{HEAD}\n{{\"status\":\"a line of tomorrow\"}}\nnull_is_not_one"),
    ] {
        for size in [1, 2, 3, 7, usize::MAX] {
            let decoded = read(text.as_bytes(), true, size);
            if text.ends_with("one") {
                assert_eq!(decoded.error.unwrap().kind(), ErrorKind::IncompleteStream);
            } else {
                assert_eq!(decoded.events, expected.events, "{text} by {size}");
            }
        }
    }
    // A stream that was not requested.
    let whole = read(plain.as_bytes(), false, usize::MAX).response().unwrap();
    assert_eq!(whole, expected.response().unwrap());
    let cut = read(HEAD.as_bytes(), false, usize::MAX).response().unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
    let cut = format!("{HEAD}\n{}", &END[..20]);
    let cut = read(cut.as_bytes(), false, usize::MAX).response().unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::IncompleteStream);
}

#[test]
fn an_error_is_one_wherever_it_is() {
    for size in [1, 5, usize::MAX] {
        let text =
            format!("{HEAD}\n{{\"error\":\"model runner has unexpectedly stopped\"}}\n{END}\n");
        let decoded = read(text.as_bytes(), true, size);
        let error = decoded.error.unwrap();
        assert_eq!(error.message(), "model runner has unexpectedly stopped");
        assert_eq!(error.partial().unwrap().text(), "Hé");
        for stream in [true, false] {
            let error = read(br#"{"error":"no such model"}"#, stream, size).response().unwrap_err();
            assert_eq!((error.message(), error.partial()), ("no such model", None));
        }
    }
    for (body, kind) in [
        ("[1]", ErrorKind::Protocol),
        ("{}", ErrorKind::Protocol),
        ("<html></html>", ErrorKind::Protocol),
        ("", ErrorKind::IncompleteStream),
        (&HEAD[..30], ErrorKind::IncompleteStream),
    ] {
        for stream in [true, false] {
            let error = read(body.as_bytes(), stream, usize::MAX).response().unwrap_err();
            let expected = if body == "{}" && stream { ErrorKind::IncompleteStream } else { kind };
            assert_eq!(error.kind(), expected, "{body} {stream}: {error:?}");
        }
    }
    // In the middle of a stream, a line that is not JSON is an error and not the end.
    let text = format!("{HEAD}\n{{\"simulated\": malformed}}\n{END}\n");
    let error = read(text.as_bytes(), true, usize::MAX).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert_eq!(error.partial().unwrap().text(), "Hé");
}

#[test]
fn a_line_without_an_end_and_lines_without_content_are_bounded() {
    let mut endless = br#"{"model":""#.to_vec();
    endless.resize(80 << 20, b'x');
    let error = read(&endless, true, 1 << 20).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let silent = "{\"status\":\"x\"}\n".repeat(8 << 20);
    let error = read(silent.as_bytes(), true, 1 << 20).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[test]
fn calls_without_ids_get_the_same_ids_in_every_reading_and_unique_ones() {
    let call = r#"{"function":{"name":"f","arguments":{"a": 1}}}"#;
    let given = r#"{"id":"x","function":{"name":"f","arguments":"{\"a\":2}"}}"#;
    let text = format!(
        r#"{{"model":"m","message":{{"content":"","tool_calls":[{call},{call},{given},{given},{{"function":{{"name":"g"}}}}]}},"done":true,"done_reason":"stop"}}"#
    );
    let first = read(text.as_bytes(), true, usize::MAX).response().unwrap();
    let again = read(text.as_bytes(), false, usize::MAX).response().unwrap();
    assert_eq!(first, again);
    let calls: Vec<_> = first.choices[0].tool_calls().collect();
    let arguments: Vec<&str> = calls.iter().map(|call| call.arguments.as_str()).collect();
    assert_eq!(arguments, [r#"{"a":1}"#, r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":2}"#, "{}"]);
    let mut ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    assert!(ids.contains(&"x"));
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5, "{ids:?}");
    assert_eq!(first.choices[0].finish_reason, FinishReason::ToolCalls);
    assert_eq!(first.choices[0].raw_finish_reason.as_deref(), Some("stop"));
}
