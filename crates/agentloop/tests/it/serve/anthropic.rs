//! What clients of Anthropic's API send, as a server reads it.

use agentloop::protocol::serve::{self, Operation, ServedChat, read_chat};
use agentloop::{
    CacheControl, ChatMessage, ContentPart, Effort, MessageContent, Protocol, ResponseFormat, Role,
    ToolChoice, ToolDefinition,
};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> ServedChat {
    try_read(body).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn try_read(body: &Value) -> agentloop::Result<ServedChat> {
    read_chat(Protocol::Anthropic, "/v1/messages?beta=true", body.to_string().as_bytes())
}

fn ask(more: Value) -> Value {
    let mut body = json!({
        "model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}],
    });
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn messages(list: Value) -> Vec<ChatMessage> {
    read(&ask(json!({ "messages": list }))).request.messages
}

fn json_of(part: &ContentPart) -> Value {
    serde_json::to_value(part).unwrap()
}

/// Claude Code 2.1 puts a header that varies before its instructions, and instructions between messages.
#[test]
fn the_instructions_of_claude_code_keep_their_place_without_what_varies() {
    let body = |cch: &str| {
        ask(json!({
            "system": [
                {"type": "text", "text": format!("x-anthropic-billing-header: cc_version=2.1.325; cch={cch};")},
                {"type": "text", "text": "You are Claude Code.",
                 "cache_control": {"type": "ephemeral", "ttl": "1h", "scope": "global"}},
            ],
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello"},
                {"role": "system", "content": [{"type": "text", "text": "A reminder."}]},
                {"role": "user", "content": "Go on"},
            ],
        }))
    };
    let served = read(&body("1"));
    assert_eq!(served.request.messages, read(&body("2")).request.messages);
    let roles: Vec<Role> = served.request.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::System, Role::User]);
    let [ContentPart::Text(text)] = served.request.messages[0].parts() else { panic!() };
    assert_eq!(text.text, "You are Claude Code.");
    assert_eq!(text.cache_control, Some(CacheControl::EphemeralHour));
    assert_eq!(served.warnings.len(), 1, "{:?}", served.warnings);
    assert_eq!(served.warnings[0].subject.as_deref(), Some("system"));
    // A text that has more than the header keeps the rest.
    let rest = ask(json!({"system": "x-anthropic-billing-header: a\nBe brief."}));
    assert_eq!(read(&rest).request.messages[0].text(), "Be brief.");
}

#[test]
fn the_settings_of_claude_code_are_read_and_idle_ones_are_no_noise() {
    let served = read(&ask(json!({
        "thinking": {"type": "adaptive", "display": "omitted"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "output_config": {"effort": "xhigh"},
        "metadata": {"user_id": "{\"device_id\":\"d\"}"},
        "stream": true, "temperature": null, "speed": "standard", "mcp_servers": [],
    })));
    assert!(served.stream);
    let request = &served.request;
    assert_eq!(request.reasoning_effort, Some(Effort::Xhigh));
    let thinking = request.thinking.unwrap();
    assert_eq!((thinking.enabled, thinking.include), (Some(true), Some(false)));
    assert_eq!(request.user_id.as_deref(), Some("{\"device_id\":\"d\"}"));
    assert!(request.extra_body.is_empty(), "{:?}", request.extra_body);
    assert!(served.warnings.is_empty(), "{:?}", served.warnings);
}

#[test]
fn settings_with_an_effect_elsewhere_unknown_are_kept() {
    let more = json!({
        "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
        "output_config": {"task_budget": {"type": "tokens", "total": 5}},
        "container": "c1", "inference_geo": "eu", "of_tomorrow": [1],
    });
    let served = read(&ask(more.clone()));
    assert_eq!(Value::Object(served.request.extra_body), more);
}

#[test]
fn structured_output_is_read_in_both_forms() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let format = json!({"type": "json_schema", "schema": schema});
    for body in [json!({"output_config": {"format": format}}), json!({"output_format": format})] {
        let served = read(&ask(body));
        let Some(ResponseFormat::JsonSchema { json_schema }) = served.request.response_format
        else {
            panic!()
        };
        assert_eq!(json_schema.schema, schema);
        assert!(served.request.extra_body.is_empty());
    }
}

#[test]
fn results_of_tools_are_messages_before_the_rest() {
    let read = messages(json!([
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "a", "name": "see", "input": {"z": 1, "a": [2]}, "caller": {"type": "direct"}},
            {"type": "tool_use", "id": "b", "name": "see", "input": {}, "cache_control": {"type": "ephemeral"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": "A cat"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "100 %"}},
                {"type": "search_result", "source": "https://x.test", "title": "X",
                 "content": [{"type": "text", "text": "found"}]},
                {"type": "tool_reference", "tool_name": "later"},
            ], "cache_control": {"type": "ephemeral"}},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "dark"},
            {"type": "text", "text": "And now?"},
        ]},
    ]));
    let roles: Vec<Role> = read.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Tool, Role::User]);
    let kinds: Vec<&str> = read[1].parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["thinking", "redacted_thinking", "text", "tool_call", "tool_call"]);
    let ContentPart::Thinking(thinking) = &read[1].parts()[0] else { panic!() };
    assert_eq!((thinking.thinking.as_str(), thinking.signature.as_deref()), ("", Some("c2ln")));
    let ContentPart::ToolCall(call) = &read[1].parts()[3] else { panic!() };
    assert_eq!(call.arguments, r#"{"z":1,"a":[2]}"#);
    assert_eq!(call.provider_state.as_ref().unwrap().data, json!({"caller": {"type": "direct"}}));
    assert_eq!(read[1].cache_control, Some(CacheControl::Ephemeral));
    assert_eq!(read[2].cache_control, Some(CacheControl::Ephemeral));
    let kinds: Vec<&str> = read[2].parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["text", "image_url", "file", "text", "text"]);
    let file = json_of(&read[2].parts()[2]);
    assert_eq!(file["file"]["file_data"], "data:text/plain;base64,MTAwICU=");
    assert_eq!(json_of(&read[2].parts()[3])["text"], "X\nhttps://x.test\nfound");
    assert!(read[3].is_error && read[3].content == Some(MessageContent::Text("dark".into())));
}

#[test]
fn images_and_documents_of_every_source_are_read() {
    let image = |source: Value| json!({"type": "image", "source": source});
    let document = |source: Value| {
        json!({"type": "document", "source": source, "title": "T",
                                          "context": "C", "citations": {"enabled": true}})
    };
    let read = messages(json!([{"role": "user", "content": [
        image(json!({"type": "url", "url": "https://x.test/a.png"})),
        image(json!({"type": "file", "file_id": "file_1"})),
        document(json!({"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="})),
        document(json!({"type": "url", "url": "https://x.test/a.pdf"})),
        document(json!({"type": "file", "file_id": "file_2"})),
        document(json!({"type": "content", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]})),
        document(json!({"type": "content", "content": "whole"})),
    ]}]));
    let parts: Vec<Value> = read[0].parts().iter().map(json_of).collect();
    assert_eq!(parts[0]["image_url"]["url"], "https://x.test/a.png");
    assert_eq!(parts[1]["file"], json!({"file_id": "file_1", "mime_type": "image/*"}));
    assert_eq!(
        parts[2]["file"],
        json!({"file_data": "data:application/pdf;base64,JVBERg==", "title": "T", "context": "C", "citations": true})
    );
    assert_eq!(parts[3]["file"]["file_url"], "https://x.test/a.pdf");
    assert_eq!(parts[4]["file"]["file_id"], "file_2");
    assert_eq!(parts[5]["file"]["file_data"], "data:text/plain;base64,YQoKYg==");
    assert_eq!(parts[6]["file"]["file_data"], "data:text/plain;base64,d2hvbGU=");
}

#[test]
fn what_the_tools_of_the_api_did_is_kept() {
    let blocks = json!([
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1",
         "content": [{"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": "e"}]},
        {"type": "server_tool_use", "id": "s2", "name": "bash_code_execution", "input": {"command": "ls"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s2",
         "content": {"type": "bash_code_execution_result", "stdout": "a", "stderr": "", "return_code": 0, "content": []}},
        {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}},
        {"type": "compaction", "content": "summary"},
    ]);
    let read = messages(json!([{"role": "assistant", "content": blocks}]));
    let kinds: Vec<&str> = read[0].parts().iter().map(ContentPart::kind).collect();
    let wanted = [
        "server_tool_call",
        "server_tool_result",
        "code_execution",
        "code_result",
        "server_tool_call",
        "opaque",
    ];
    assert_eq!(kinds, wanted);
    let ContentPart::CodeExecution(code) = &read[0].parts()[2] else { panic!() };
    assert_eq!((code.language.as_str(), code.code.as_str()), ("bash", "ls"));
    // A provider with this protocol gets all of it back unchanged.
    let mut request = agentloop::ChatRequest::new("anthropic/claude-sonnet-4-5").user("Hi");
    let mut message = read[0].clone();
    let Some(MessageContent::Parts(parts)) = &mut message.content else { panic!() };
    for part in parts {
        let mut value = json_of(part);
        for place in ["/providerState/provider", "/provider"] {
            if let Some(provider) = value.pointer_mut(place) {
                *provider = json!("anthropic");
            }
        }
        *part = serde_json::from_value(value).unwrap();
    }
    request.messages.push(message);
    let encoded = agentloop::inspect::encode(&agentloop::AgentLoop::from_env(), &request, false);
    let body: Value = serde_json::from_str(encoded.unwrap().body.get()).unwrap();
    assert_eq!(body["messages"][1]["content"], blocks);
}

#[test]
fn tools_of_every_kind_are_read() {
    let served = read(&ask(json!({
        "tools": [
            {"name": "f", "description": "F", "input_schema": {"type": "object"}, "defer_loading": true,
             "eager_input_streaming": true, "allowed_callers": ["direct"], "cache_control": {"type": "ephemeral"}},
            {"name": "g", "input_schema": {"type": "object"}, "type": "custom", "strict": true, "defer_loading": true},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            {"type": "bash_20250124", "name": "bash"},
            {"type": "text_editor_20250728", "name": "str_replace_based_edit_tool", "max_characters": 9},
            {"type": "memory_20250818", "name": "memory"},
            {"type": "computer_20251124", "name": "computer", "display_width_px": 800, "display_height_px": 600},
        ],
        "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": true},
    })));
    let request = &served.request;
    let names: Vec<Option<&str>> = request.tools.iter().map(ToolDefinition::name).collect();
    let wanted = ["bash", "str_replace_based_edit_tool", "memory", "computer"];
    assert_eq!(names[..3], [Some("f"), Some("g"), None]);
    assert_eq!(names[3..], wanted.map(Some));
    let tools = serde_json::to_value(&request.tools).unwrap();
    assert_eq!(tools[0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(tools[2]["max_uses"], 3);
    assert_eq!(tools[3]["function"]["parameters"]["properties"]["command"]["type"], "string");
    assert!(tools[6]["function"]["description"].as_str().unwrap().contains("800 × 600"));
    assert_eq!(request.tool_choice, Some(ToolChoice::function("f")));
    assert_eq!(request.parallel_tool_calls, Some(false));
    // A field that two tools have is one warning.
    let subjects: Vec<_> = served.warnings.iter().map(|it| it.subject.clone().unwrap()).collect();
    assert_eq!(
        subjects,
        ["tools[0].defer_loading", "tools[3]", "tools[4]", "tools[5]", "tools[6]"]
    );
}

/// The tool runners of the SDKs try to continue a conversation that the server has, and fall back when they get this error.
#[test]
fn a_reference_to_a_conversation_is_refused_in_the_words_that_sdks_understand() {
    let error = try_read(&ask(json!({"thread": {"type": "create"}}))).unwrap_err();
    assert_eq!(error.status(), Some(400));
    let body: Value =
        serde_json::from_slice(&serve::write_error(Protocol::Anthropic, &error)).unwrap();
    assert_eq!(body["error"]["type"], "invalid_request_error");
    assert_eq!(
        body["error"]["details"],
        json!({"error_code": "thread_unsupported_request", "unsupported": ["thread"]})
    );
    assert!(try_read(&ask(json!({"thread": null}))).is_ok());
}

#[test]
fn paths_and_headers_name_the_operation() {
    let mut versioned = HeaderMap::new();
    versioned.insert("anthropic-version", HeaderValue::from_static("2026-10-21"));
    let route = |method: Method, path: &str, headers: &HeaderMap| {
        serve::route(Protocol::Anthropic, &method, path, headers)
    };
    for prefix in ["", "/v1", "/anthropic/v1"] {
        let path = |end: &str| format!("{prefix}{end}");
        let none = HeaderMap::new();
        for (end, operation) in [
            ("/messages", Operation::Chat),
            ("/messages?beta=true", Operation::Chat),
            ("/messages/count_tokens?beta=true", Operation::Count),
        ] {
            assert_eq!(route(Method::POST, &path(end), &none), Some(operation), "{prefix}{end}");
        }
        for (end, operation) in [
            ("/models?limit=1000", Operation::Models),
            ("/models/lab/some/model", Operation::Model),
        ] {
            assert_eq!(route(Method::GET, &path(end), &versioned), Some(operation));
            assert_eq!(route(Method::GET, &path(end), &none), None);
        }
    }
    assert_eq!(route(Method::GET, "/v1/messages", &versioned), None);
}
