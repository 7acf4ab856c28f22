//! Requests of Anthropic's protocol, rule by rule.

use crate::support;

use agentloop::*;
use serde_json::{Value, json};
use support::{Wire, decode};

const BUDGET: &str = "anthropic/claude-sonnet-4-5";
const LEVEL: &str = "anthropic/claude-opus-4-6";
const NEWEST: &str = "anthropic/claude-opus-5-5";

struct Sent {
    text: String,
    body: Value,
    headers: std::collections::BTreeMap<String, String>,
    warned: Vec<String>,
}

impl Sent {
    fn turns(&self) -> &Value {
        &self.body["messages"]
    }

    fn warns(&self, subject: &str) -> bool {
        self.warned.iter().any(|warned| warned == subject)
    }
}

fn send_as(request: &ChatRequest, stream: bool) -> Sent {
    let encoded = inspect::encode(&AgentLoop::from_env(), request, stream).unwrap();
    let text = encoded.body.get().to_owned();
    Sent {
        body: serde_json::from_str(&text).unwrap(),
        text,
        headers: encoded.headers,
        warned: encoded.warnings.into_iter().filter_map(|warning| warning.subject).collect(),
    }
}

fn send(request: &ChatRequest) -> Sent {
    send_as(request, false)
}

fn ask(model: &str) -> ChatRequest {
    ChatRequest::new(model).user("Hello")
}

fn weather() -> ToolDefinition {
    ToolDefinition::function(
        "weather",
        json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    )
}

fn call(id: &str, name: &str, arguments: &str) -> ContentPart {
    ContentPart::ToolCall(ToolCallPart::new(id, name, arguments))
}

fn own(mut message: ChatMessage) -> ChatMessage {
    let (provider, model) = ("anthropic".to_owned(), "claude-sonnet-4-5".to_owned());
    message.origin = Some(Origin::new(provider, model));
    message
}

#[test]
fn the_request_has_the_url_and_headers_of_the_provider() {
    let encoded = inspect::encode(&AgentLoop::from_env(), &ask(BUDGET), true).unwrap();
    assert_eq!(encoded.url, "https://api.anthropic.com/v1/messages");
    assert_eq!(encoded.headers["anthropic-version"], "2023-06-01");
    assert_eq!(encoded.headers["x-api-key"], "***");
    let sent = send(&ask(BUDGET).header("anthropic-beta", "files-api-2025-04-14"));
    assert_eq!(sent.headers["anthropic-beta"], "files-api-2025-04-14");
}

#[test]
fn other_providers_with_the_protocol_have_their_own_urls() {
    for (model, url, auth) in [
        ("deepseek/m", "https://api.deepseek.com/anthropic/v1/messages", "x-api-key"),
        ("fireworks/m", "https://api.fireworks.ai/inference/v1/messages", "authorization"),
        ("openrouter/m", "https://openrouter.ai/api/v1/messages", "authorization"),
    ] {
        let request = ask(model).protocol(Protocol::Anthropic);
        let encoded = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap();
        assert_eq!(encoded.url, url);
        assert_eq!(encoded.headers["anthropic-version"], "2023-06-01", "{model}");
        assert!(encoded.headers.contains_key(auth), "{model}: {:?}", encoded.headers);
    }
}

#[test]
fn instructions_are_separate_from_the_messages() {
    let request = ChatRequest::new(BUDGET).system("Be brief.").system(" ").user("Hello");
    let sent = send(&request.message(ChatMessage::system("In French.")));
    assert_eq!(sent.body["system"], "Be brief.\n\nIn French.");
    assert_eq!(*sent.turns(), json!([{"role": "user", "content": "Hello"}]));
    // As blocks where a marker needs one.
    let marked = ChatMessage::system("Long.").with_cache(CacheControl::EphemeralHour);
    let sent = send(&ask(BUDGET).message(marked).system("Short."));
    assert_eq!(
        sent.body["system"],
        json!([
            {"type": "text", "text": "Long.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            {"type": "text", "text": "Short."},
        ])
    );
}

#[test]
fn results_are_first_and_together_in_the_next_message() {
    let request = ask(BUDGET)
        .tool(weather())
        .message(ChatMessage::assistant(vec![
            ContentPart::text("I look."),
            call("a", "weather", r#"{"city": "Rome"}"#),
            call("b", "weather", ""),
        ]))
        .message(ChatMessage::tool("a", "sunny"))
        .message(ChatMessage::tool_error("b", "no city"))
        .user("And?")
        .user("Well?");
    let sent = send(&request);
    assert_eq!(
        *sent.turns(),
        json!([
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "weather", "input": {"city": "Rome"}},
                {"type": "tool_use", "id": "b", "name": "weather", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "sunny"},
                {"type": "tool_result", "tool_use_id": "b", "content": "no city", "is_error": true},
                {"type": "text", "text": "And?"},
                {"type": "text", "text": "Well?"},
            ]},
        ])
    );
    assert_eq!(sent.warned, Vec::<String>::new());
}

#[test]
fn nothing_blank_is_sent() {
    let request = ChatRequest::new(BUDGET)
        .user([ContentPart::text(" \n"), ContentPart::text("Hello")])
        .message(ChatMessage::assistant(""))
        .user("  ")
        .user("Well?")
        .message(ChatMessage::assistant("It begins: \n"));
    let sent = send(&request);
    assert_eq!(
        *sent.turns(),
        json!([
            {"role": "user", "content": [
                {"type": "text", "text": "Hello"},
                {"type": "text", "text": "Well?"},
            ]},
            {"role": "assistant", "content": "It begins:"},
        ])
    );
    let nothing = ChatRequest::new(BUDGET).system("Be brief.").user(" ");
    let error = inspect::encode(&AgentLoop::from_env(), &nothing, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[test]
fn input_is_always_an_object() {
    for (arguments, input, warned) in [
        ("", json!({}), false),
        ("null", json!({}), false),
        (r#"{"b": 1, "a": [2]}"#, json!({"a": [2], "b": 1}), false),
        (r#""{\"a\":1}""#, json!({"a": 1}), false),
        ("[1]", json!({"_raw": [1]}), true),
        ("{\"a\":", json!({"_raw": "{\"a\":"}), true),
    ] {
        let turn = ChatMessage::assistant(vec![call("a", "weather", arguments)]);
        let request = ask(BUDGET).message(turn).message(ChatMessage::tool("a", "x"));
        let sent = send(&request);
        assert_eq!(sent.turns()[1]["content"][0]["input"], input, "{arguments}");
        assert_eq!(!sent.warned.is_empty(), warned, "{arguments}");
    }
}

#[test]
fn tools_have_an_object_for_a_schema() {
    let bare: ToolDefinition =
        serde_json::from_value(json!({"type": "function", "function": {"name": "now"}})).unwrap();
    let search: ToolDefinition = serde_json::from_value(
        json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2}),
    )
    .unwrap();
    let sent = send(&ask(BUDGET).tool(weather().with_description("W")).tool(bare).tool(search));
    assert_eq!(
        sent.body["tools"],
        json!([
            {"name": "weather", "description": "W", "input_schema":
                {"type": "object", "properties": {"city": {"type": "string"}}}},
            {"name": "now", "input_schema": {"type": "object", "properties": {}}},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
        ])
    );
}

#[test]
fn a_tool_choice_has_the_names_of_the_protocol() {
    for (choice, parallel, expected) in [
        (Some(ToolChoice::Auto), None, json!({"type": "auto"})),
        (Some(ToolChoice::Required), None, json!({"type": "any"})),
        (Some(ToolChoice::None), Some(false), json!({"type": "none"})),
        (
            Some(ToolChoice::function("weather")),
            Some(false),
            json!({"type": "tool", "name": "weather", "disable_parallel_tool_use": true}),
        ),
        (None, Some(false), json!({"type": "auto", "disable_parallel_tool_use": true})),
        (None, Some(true), Value::Null),
    ] {
        let mut request = ask(BUDGET).tool(weather());
        request.tool_choice = choice;
        request.parallel_tool_calls = parallel;
        let sent = send(&request);
        assert_eq!(sent.body["tool_choice"], expected);
        assert_eq!(sent.warned, Vec::<String>::new());
    }
    let sent = send(&ask(BUDGET).tool_choice(ToolChoice::Required));
    assert!(sent.body.get("tool_choice").is_none() && sent.warns("tool_choice"));
}

#[test]
fn a_forced_call_is_a_wish_where_the_model_refuses_it() {
    let forced = |model| ask(model).tool(weather()).tool_choice(ToolChoice::Required);
    for request in
        [forced(NEWEST), forced(BUDGET).effort(Effort::High), forced(LEVEL).effort(Effort::Low)]
    {
        let sent = send(&request);
        assert_eq!(sent.body["tool_choice"], json!({"type": "auto"}), "{}", request.model);
        assert!(sent.warns("tool_choice"), "{}", request.model);
    }
    // Thinking is turned off for a model that thinks by default.
    let sent = send(&forced("anthropic/claude-sonnet-5"));
    assert_eq!(sent.body["tool_choice"], json!({"type": "any"}));
    assert_eq!(sent.body["thinking"], json!({"type": "disabled"}));
    assert!(sent.warns("thinking"));
}

#[test]
fn images_and_documents_have_sources() {
    let file = |input: Value| -> ContentPart {
        serde_json::from_value(json!({"type": "file", "file": input})).unwrap()
    };
    for (part, expected) in [
        (
            ContentPart::image_url("https://x.test/a.png"),
            json!({"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}),
        ),
        (
            ContentPart::image_url("data:image/jpg;base64,AAAA"),
            json!({"type": "image", "source":
                {"type": "base64", "media_type": "image/jpeg", "data": "AAAA"}}),
        ),
        (
            file(json!({"file_id": "file_1", "mime_type": "image/png"})),
            json!({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        ),
        (
            ContentPart::file("a.pdf", "data:application/pdf;base64,AAAA"),
            json!({"type": "document", "title": "a.pdf", "source":
                {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}}),
        ),
        (
            file(json!({"file_url": "https://x.test/a.pdf", "title": "A", "context": "C",
                        "citations": true})),
            json!({"type": "document", "title": "A", "context": "C", "citations": {"enabled": true},
                   "source": {"type": "url", "url": "https://x.test/a.pdf"}}),
        ),
        (
            file(json!({"file_id": "file_2"})),
            json!({"type": "document", "source": {"type": "file", "file_id": "file_2"}}),
        ),
        (
            file(json!({"file_data": "data:text/plain;base64,SGk="})),
            json!({"type": "document", "source":
                {"type": "text", "media_type": "text/plain", "data": "Hi"}}),
        ),
        (
            file(json!({"file_data": "data:text/plain,a%20b"})),
            json!({"type": "document", "source":
                {"type": "text", "media_type": "text/plain", "data": "a b"}}),
        ),
    ] {
        let sent = send(&ChatRequest::new(BUDGET).user([part]));
        assert_eq!(sent.turns()[0]["content"][0], expected);
        assert_eq!(sent.warned, Vec::<String>::new());
    }
}

#[test]
fn what_cannot_be_taken_is_an_error_or_a_warning() {
    let video: ContentPart = serde_json::from_value(
        json!({"type": "video_url", "video_url": {"url": "https://x.test"}}),
    )
    .unwrap();
    for part in [ContentPart::audio("AAAA", "wav"), video] {
        let request = ChatRequest::new(BUDGET).user([ContentPart::text("See:"), part]);
        let error = inspect::encode(&AgentLoop::from_env(), &request, false).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        let sent = send(&request.lenient());
        assert_eq!(sent.turns()[0]["content"], "See:");
        assert_eq!(sent.warned, ["messages[0].content[1]"]);
    }
}

#[test]
fn thinking_is_sent_back_only_with_its_signature() {
    let thought = |text: &str, signature: Option<&str>| {
        let signature = signature.map(str::to_owned);
        ContentPart::Thinking({
            let mut value = ThinkingPart::new(text);
            value.signature = signature;
            value
        })
    };
    let turn = |part: ContentPart| ChatMessage::assistant(vec![part, ContentPart::text("Hi.")]);
    let content = |message: ChatMessage| {
        let sent = send(&ask(BUDGET).message(message).user("Go on"));
        (sent.turns()[1]["content"].clone(), sent.warned)
    };
    for (text, signature) in [("Hm.", "Sig=="), ("", "Only==")] {
        let (sent, warned) = content(own(turn(thought(text, Some(signature)))));
        let block = json!({"type": "thinking", "thinking": text, "signature": signature});
        assert_eq!(sent, json!([block, {"type": "text", "text": "Hi."}]));
        assert_eq!(warned, Vec::<String>::new());
    }
    let mut foreign = turn(thought("Hm.", Some("Sig==")));
    foreign.origin = Some(Origin::new("google", "m"));
    let unknown = turn(thought("Hm.", Some("Sig==")));
    for message in
        [turn(thought("Hm.", None)), own(turn(thought("Hm.", Some("")))), foreign, unknown]
    {
        let (sent, warned) = content(message);
        assert_eq!(sent, "Hi.");
        assert_eq!(warned.len(), 1, "{warned:?}");
    }
}

/// Every fixture is sent back unchanged: all blocks, in order, with everything that is encrypted.
#[test]
fn a_response_is_sent_back_unchanged() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/anthropic");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let stream = path.extension().is_some_and(|extension| extension == "sse");
        if stream {
            continue;
        }
        let wire: Value = serde_json::from_slice(&bytes).unwrap();
        let response = decode(&Wire::of("anthropic"), &bytes).response().unwrap();
        let sent = send(&ask(BUDGET).message(response.into_message()));
        let mut expected = wire["content"].clone();
        for block in expected.as_array_mut().unwrap() {
            for citation in block["citations"].as_array_mut().into_iter().flatten() {
                citation.as_object_mut().unwrap().remove("file_id");
            }
            if block["citations"].is_null() {
                block.as_object_mut().unwrap().remove("citations");
            }
        }
        let mut content = sent.turns()[1]["content"].clone();
        if let Some(text) = content.as_str() {
            content = json!([{"type": "text", "text": text}]);
        }
        assert_eq!(content, expected, "{}", path.display());
    }
}

#[test]
fn at_most_four_markers_are_sent() {
    let mark = |text: &str| ChatMessage::user(text).with_cache(CacheControl::Ephemeral);
    let tool: ToolDefinition = serde_json::from_value(
        json!({"type": "function", "function": {"name": "now"}, "cache_control": {"type": "ephemeral"}}),
    )
    .unwrap();
    let mut request = ChatRequest::new(BUDGET)
        .tool(tool)
        .message(ChatMessage::system("S").with_cache(CacheControl::Ephemeral));
    for text in ["one", "two", "three"] {
        request = request.message(mark(text)).message(ChatMessage::assistant("ok"));
    }
    let sent = send(&request.user("Go"));
    assert_eq!(sent.text.matches("cache_control").count(), 4);
    assert_eq!(sent.turns()[0]["content"], "one");
    assert_eq!(sent.turns()[4]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent.warned, ["cache_control"]);
}

#[test]
fn a_token_limit_is_always_sent() {
    for (model, stream, expected) in [
        ("anthropic/claude-opus-4-6", true, 128_000),
        ("anthropic/claude-opus-4-6", false, 32_000),
        ("anthropic/claude-3-haiku-20240307", false, 4_096),
        ("anthropic/model-of-tomorrow", false, 8_192),
    ] {
        assert_eq!(send_as(&ask(model), stream).body["max_tokens"], expected, "{model}");
    }
    assert_eq!(send(&ask(BUDGET).max_tokens(7)).body["max_tokens"], 7);
}

#[test]
fn sampling_parameters_are_sent_where_they_are_accepted() {
    let mut request = ask("anthropic/claude-sonnet-4").temperature(1.5).top_p(0.5).stop("END");
    request.top_k = Some(5);
    request.user_id = Some("u1".to_owned());
    let sent = send(&request);
    assert_eq!(sent.body["temperature"], 1.0);
    assert_eq!(sent.body["top_p"], 0.5);
    assert_eq!(sent.body["top_k"], 5);
    assert_eq!(sent.body["stop_sequences"], json!(["END"]));
    assert_eq!(sent.body["metadata"], json!({"user_id": "u1"}));
    assert_eq!(sent.warned, ["temperature"]);
    // The model, the version or the thinking may refuse it.
    let mut newest = request.clone();
    newest.model = NEWEST.to_owned();
    let version = request.clone().header("anthropic-version", "2026-10-21");
    for request in [newest, version, request.effort(Effort::Low)] {
        let sent = send(&request);
        for name in ["temperature", "top_p", "top_k"] {
            assert!(sent.body.get(name).is_none() && sent.warns(name), "{name}");
        }
        assert_eq!(sent.body["stop_sequences"], json!(["END"]));
    }
}

#[test]
fn a_parameter_that_the_protocol_lacks_is_a_warning() {
    let mut request = ask(BUDGET).seed(1).n(2);
    request.frequency_penalty = Some(0.5);
    request.presence_penalty = Some(0.5);
    request.logprobs = Some(true);
    request.top_logprobs = Some(2);
    request.logit_bias = Some([("1".to_owned(), 1.0)].into());
    let sent = send(&request);
    for name in [
        "seed",
        "n",
        "frequency_penalty",
        "presence_penalty",
        "logprobs",
        "top_logprobs",
        "logit_bias",
    ] {
        assert!(sent.body.get(name).is_none() && sent.warns(name), "{name}");
    }
    assert_eq!(send(&ask(BUDGET).n(1)).warned, Vec::<String>::new());
}

#[test]
fn effort_and_thinking_have_the_form_of_the_model() {
    let off = || Some(Thinking::disabled());
    let budget = |tokens| Some(Thinking::budget(tokens));
    let (none, adaptive) = (Value::Null, json!({"type": "adaptive"}));
    let disabled = json!({"type": "disabled"});
    let enabled = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    for (model, effort, thinking, max_tokens, expected, level, warned) in [
        (BUDGET, None, None, None, none.clone(), None, false),
        (BUDGET, Some(Effort::Low), None, None, enabled(4096), None, false),
        (BUDGET, None, budget(2000), None, enabled(2000), None, false),
        (BUDGET, None, budget(10), None, enabled(1024), None, true),
        (BUDGET, None, budget(9000), Some(8000), enabled(6976), None, true),
        (BUDGET, Some(Effort::High), None, Some(500), none.clone(), None, true),
        (BUDGET, Some(Effort::None), None, None, disabled.clone(), None, false),
        (LEVEL, Some(Effort::High), None, None, adaptive.clone(), Some("high"), false),
        (LEVEL, Some(Effort::Minimal), None, None, adaptive.clone(), Some("low"), true),
        (LEVEL, None, Some(Thinking::enabled()), None, adaptive.clone(), None, false),
        (LEVEL, None, budget(2000), None, adaptive.clone(), None, true),
        (LEVEL, None, off(), None, disabled, None, false),
        (NEWEST, Some(Effort::Max), None, None, adaptive, Some("max"), false),
        (NEWEST, Some(Effort::None), None, None, none.clone(), Some("low"), true),
        (NEWEST, None, off(), None, none, Some("low"), true),
    ] {
        let mut request = ask(model);
        request.reasoning_effort = effort;
        request.thinking = thinking;
        request.max_tokens = max_tokens;
        let sent = send(&request);
        let what = format!("{model} {effort:?} {thinking:?}");
        assert_eq!(sent.body["thinking"], expected, "{what}");
        assert_eq!(sent.body["output_config"]["effort"].as_str(), level, "{what}");
        assert_eq!(!sent.warned.is_empty(), warned, "{what}: {:?}", sent.warned);
    }
    // An unknown provider gets both forms.
    let sent = send(&ask("deepseek/m").protocol(Protocol::Anthropic).effort(Effort::Low));
    assert_eq!(sent.body["thinking"], enabled(4096));
    assert_eq!(sent.body["output_config"], json!({"effort": "low"}));
    let mut shown = ask(NEWEST).effort(Effort::High);
    shown.thinking = Some(Thinking::default().with_include(true));
    let sent = send(&shown);
    assert_eq!(sent.body["thinking"], json!({"type": "adaptive", "display": "summarized"}));
}

#[test]
fn a_schema_is_native_where_the_model_has_it() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}},
                        "required": ["a"], "additionalProperties": false});
    let format = ResponseFormat::json_schema("r", schema.clone());
    let sent = send(&ask(BUDGET).response_format(format.clone()));
    assert_eq!(
        sent.body["output_config"],
        json!({"format": {"type": "json_schema", "schema": schema}})
    );
    let old = "anthropic/claude-3-5-haiku";
    let sent = send(&ask(old).response_format(format.clone()));
    assert!(sent.body.get("output_config").is_none() && sent.warns("response_format"));
    assert_eq!(sent.body["tools"][0]["input_schema"], schema);
    assert_eq!(
        sent.body["tool_choice"],
        json!({"type": "tool", "name": "r", "disable_parallel_tool_use": true})
    );
    let tool = ToolDefinition::function("look", json!({}));
    let sent = send(&ask(old).response_format(format).tool(tool));
    assert!(sent.body["system"].as_str().unwrap().contains("additionalProperties"));
    assert!(sent.body.get("tool_choice").is_none() && sent.warns("response_format"));
    let sent = send(&ask(BUDGET).response_format(ResponseFormat::json()));
    assert!(
        sent.body["system"].as_str().unwrap().contains("JSON") && sent.warns("response_format")
    );
}

#[test]
fn the_caller_s_own_fields_win() {
    let sent = send(&ask(BUDGET).extra("max_tokens", 3).extra("container", "c1"));
    assert_eq!((&sent.body["max_tokens"], &sent.body["container"]), (&json!(3), &json!("c1")));
    assert_eq!(sent.text.matches("max_tokens").count(), 1);
}

/// What was sent does not change when the conversation grows, so the provider's cache stays valid.
#[test]
fn a_longer_conversation_only_adds_to_the_end() {
    let turns = [
        ChatMessage::user("Hello"),
        own(ChatMessage::assistant(vec![
            ContentPart::Thinking(ThinkingPart::new("Hm.").with_signature("S")),
            call("a", "weather", r#"{"z": 1, "city":"Rome"}"#),
        ])),
        ChatMessage::tool("a", "sunny"),
        own(ChatMessage::assistant("It is sunny. \n")),
        ChatMessage::user("Thanks"),
        own(ChatMessage::assistant("Welcome. ")),
        ChatMessage::user("Bye"),
    ];
    let request = |count: usize| {
        let start = ChatRequest::new(BUDGET).system("Be brief.").tool(weather());
        send(&start.messages(turns[..count].iter().cloned())).text
    };
    for count in 1..turns.len() {
        // A call without its result is mended, and the mend is not what follows.
        if count == 2 {
            continue;
        }
        let (shorter, longer) = (request(count), request(count + usize::from(count == 1) + 1));
        let shared = shorter.strip_suffix("]}").unwrap();
        assert!(longer.starts_with(shared), "{shorter}\n{longer}");
    }
}
