//! OpenAI Responses: requests are read, and responses have what clients require.

use agentloop::protocol::serve::{
    Operation, Reply, ServedChat, StreamWriter, read_chat, route, write_body_for,
};
use agentloop::{
    ChatResponse, ChatStreamEvent, ContentPart, Effort, Error, ErrorKind, ErrorRecord, PartStart,
    Protocol, ResponsePart, Role, TextPart, ThinkingPart, ToolCallPart, ToolChoice,
};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

pub(super) fn read(body: &Value) -> ServedChat {
    read_chat(Protocol::OpenAiResponses, "/v1/responses", body.to_string().as_bytes()).unwrap()
}

/// Returns the events of a stream: their data, whose type is the name of the event.
pub(super) fn events(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    let events: Vec<Value> = frames
        .map(|frame| {
            let (name, data) = frame.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
            data
        })
        .collect();
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], at);
    }
    events
}

pub(super) fn stream(response: &ChatResponse, reply: &Reply) -> Vec<Value> {
    let mut writer = StreamWriter::for_reply(Protocol::OpenAiResponses, true, reply);
    let bytes: Vec<u8> = response.unfold().iter().flat_map(|event| writer.write(event)).collect();
    events(&bytes)
}

fn names(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap().strip_prefix("response.").unwrap())
        .collect()
}

pub(super) fn body(response: &ChatResponse, reply: &Reply) -> Value {
    serde_json::from_slice(&write_body_for(Protocol::OpenAiResponses, response, reply)).unwrap()
}

#[test]
fn calls_are_known_by_method_and_path() {
    for (method, path, expected) in [
        (Method::POST, "/v1/responses", Some(Operation::Chat)),
        (Method::POST, "/v1/responses/input_tokens", Some(Operation::Count)),
        (Method::GET, "/v1/models/anthropic/claude-opus-5-5", Some(Operation::Model)),
        (Method::GET, "/v1/responses", None),
    ] {
        let found = route(Protocol::OpenAiResponses, &method, path, &HeaderMap::new());
        assert_eq!(found, expected, "{method} {path}");
    }
}

#[test]
fn settings_are_read_and_defaults_leave_nothing_behind() {
    let served = read(&json!({
        "model": "m", "input": "Hi", "instructions": "Be brief.", "stream": true, "store": false, "background": false,
        "include": ["reasoning.encrypted_content"], "truncation": "disabled", "previous_response_id": null,
        "reasoning": {"effort": "medium", "summary": "auto"}, "text": {"format": {"type": "text"}, "verbosity": "low"},
        "parallel_tool_calls": true, "max_output_tokens": 100, "client_metadata": {"x": "y"},
        "prompt_cache_key": "k", "service_tier": "priority", "top_logprobs": 0,
    }));
    let request = served.request;
    assert!(request.extra_body.is_empty(), "{:?}", request.extra_body);
    assert_eq!(request.messages[0].role, Role::System);
    assert_eq!(request.reasoning_effort, Some(Effort::Medium));
    assert_eq!(request.thinking.unwrap().include, Some(true));
    assert_eq!((request.verbosity.as_deref(), request.max_tokens), (Some("low"), Some(100)));
    let served =
        read(&json!({"model": "m", "input": "Hi", "truncation": "auto", "max_tool_calls": 3}));
    let kept: Vec<_> = served.request.extra_body.keys().collect();
    assert_eq!(kept, ["truncation", "max_tool_calls"]);
}

#[test]
fn items_become_messages_in_their_order() {
    let served = read(&json!({"model": "m", "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "Look."},
            {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "auto"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AAAA"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
         "content": null, "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "phase": "commentary", "content": [{"type": "output_text", "text": "Two calls."}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "c2", "name": "f", "arguments": "{}", "namespace": "n"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "two"},
            {"type": "input_image", "image_url": "https://example.com/a.png"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gBBB"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "message", "role": "assistant", "content": "Done."},
        {"type": "message", "role": "user", "content": "Thanks."},
    ]}));
    use Role::{Assistant, System, Tool, User};
    let messages = &served.request.messages;
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [System, User, Assistant, Tool, Tool, Assistant, User]);
    let kinds =
        |at: usize| -> Vec<&str> { messages[at].parts().iter().map(ContentPart::kind).collect() };
    assert_eq!(kinds(1), ["text", "image_url", "file"]);
    assert_eq!(kinds(2), ["thinking", "text", "tool_call", "tool_call"]);
    assert_eq!(kinds(4), ["text", "image_url"]);
    assert_eq!(kinds(5), ["thinking", "opaque", "text"]);
    let ContentPart::Thinking(thinking) = &messages[2].parts()[0] else { panic!() };
    assert_eq!(
        (thinking.thinking.as_str(), thinking.signature.as_deref()),
        ("One.\n\nTwo.", Some("gAAA"))
    );
    let ContentPart::ToolCall(call) = &messages[2].parts()[3] else { panic!() };
    assert_eq!(call.name, "n__f");
    assert!(served.warnings.is_empty());
}

#[test]
fn a_conversation_that_only_the_provider_has_is_refused_with_what_to_do() {
    for (body, named) in [
        (json!({"input": "Hi", "previous_response_id": "resp_1"}), "previous_response_id"),
        (json!({"input": [{"type": "item_reference", "id": "msg_1"}]}), "input[0]"),
        (json!({"input": [{"id": "msg_1"}]}), "input[0]"),
    ] {
        let error =
            read_chat(Protocol::OpenAiResponses, "/v1/responses", body.to_string().as_bytes())
                .unwrap_err();
        assert_eq!((error.status(), error.param()), (Some(400), Some(named)));
        assert!(error.message().contains("does not store responses"), "{error}");
    }
}

#[test]
fn a_response_repeats_the_settings_of_its_request() {
    let tools = json!([{"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": false}]);
    let served = read(
        &json!({"model": "m", "input": "Hi", "instructions": "Be brief.", "temperature": 0.5, "tools": tools,
        "tool_choice": "required", "parallel_tool_calls": false, "metadata": {"a": "b"}}),
    );
    let response = ChatResponse::from_parts("lab/m", ["Hi"]);
    let written = body(&response, &served.reply);
    for (name, value) in [
        ("temperature", json!(0.5)),
        ("tools", tools),
        ("tool_choice", json!("required")),
        ("parallel_tool_calls", json!(false)),
        ("instructions", json!("Be brief.")),
        ("metadata", json!({"a": "b"})),
    ] {
        assert_eq!(written[name], value, "{name}");
    }
    let alone = body(&response, &Reply::default());
    assert_eq!((&alone["tools"], &alone["tool_choice"]), (&json!([]), &json!("auto")));
    assert_eq!(alone["parallel_tool_calls"], true);
}

#[test]
fn a_stream_has_every_event_that_clients_need_and_ends_with_the_complete_response() {
    let mut thinking = ThinkingPart::new("Hm.");
    thinking.signature = Some("sealed".to_owned());
    let parts = [
        ResponsePart::from(thinking),
        ResponsePart::Text(TextPart::new("Hi")),
        ResponsePart::from(ToolCallPart::new("c1", "f", "{}")),
    ];
    let mut response = ChatResponse::from_parts("lab/m", parts);
    response.usage.prompt_tokens = Some(3);
    let events = stream(&response, &Reply::default());
    assert_eq!(
        names(&events),
        [
            "created",
            "in_progress",
            "output_item.added",
            "reasoning_summary_part.added",
            "reasoning_summary_text.delta",
            "reasoning_summary_text.done",
            "reasoning_summary_part.done",
            "output_item.done",
            "output_item.added",
            "content_part.added",
            "output_text.delta",
            "output_text.done",
            "content_part.done",
            "output_item.done",
            "output_item.added",
            "function_call_arguments.delta",
            "function_call_arguments.done",
            "output_item.done",
            "completed",
        ]
    );
    let whole = &events.last().unwrap()["response"];
    assert_eq!(*whole, body(&response, &Reply::default()));
    assert_eq!(whole["output"][0]["encrypted_content"], "sealed");
    let done: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(done, whole["output"].as_array().unwrap().iter().collect::<Vec<_>>());
    for event in events.iter().filter(|event| event.get("item_id").is_some()) {
        let at = event["output_index"].as_u64().unwrap() as usize;
        assert_eq!(event["item_id"], whole["output"][at]["id"], "{event}");
    }
}

#[test]
fn several_calls_can_be_open_at_once() {
    let mut writer = StreamWriter::new(Protocol::OpenAiResponses, true);
    let parts = [ToolCallPart::new("c1", "f", "[1]"), ToolCallPart::new("c2", "g", "[2]")];
    let all = ChatResponse::from_parts("lab/m", parts.map(ResponsePart::from)).unfold();
    // Both calls begin before either grows.
    let is_start = |event: &&ChatStreamEvent| {
        matches!(event, ChatStreamEvent::ContentStart { part: PartStart::ToolCall { .. }, .. })
    };
    let (first, rest): (Vec<_>, Vec<_>) = all.iter().skip(1).partition(is_start);
    let bytes: Vec<u8> =
        all.iter().take(1).chain(first).chain(rest).flat_map(|event| writer.write(event)).collect();
    let events = events(&bytes);
    let deltas: Vec<(&Value, &Value)> = events
        .iter()
        .filter(|event| event["type"] == "response.function_call_arguments.delta")
        .map(|event| (&event["output_index"], &event["delta"]))
        .collect();
    assert_eq!(deltas, [(&json!(0), &json!("[1]")), (&json!(1), &json!("[2]"))]);
}

#[test]
fn a_stream_that_fails_ends_with_the_error_and_nothing_follows() {
    let response = ChatResponse::from_parts("lab/m", ["Hi"]);
    let mut all = response.unfold();
    let end = all.pop().unwrap();
    let error = ErrorRecord::from(&Error::new(ErrorKind::Quota, "the credit is used up"));
    all.push(ChatStreamEvent::Error { error: Box::new(error) });
    all.push(end);
    let mut writer = StreamWriter::new(Protocol::OpenAiResponses, true);
    let bytes: Vec<u8> = all.iter().flat_map(|event| writer.write(event)).collect();
    let events = events(&bytes);
    let last = events.last().unwrap();
    assert_eq!(last["type"], "response.failed");
    assert_eq!(last["response"]["status"], "failed");
    assert_eq!(
        last["response"]["error"],
        json!({"code": "insufficient_quota", "message": "the credit is used up"})
    );
}

#[test]
fn a_conversation_is_replaced_by_one_item_with_its_summary() {
    let served = read(&json!({"model": "m", "input": [
        {"role": "user", "content": "Work."},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "compaction_trigger"},
    ], "tools": [{"type": "function", "name": "f"}]}));
    assert_eq!(served.request.messages.last().unwrap().role, Role::User);
    assert_eq!(served.request.tool_choice, Some(ToolChoice::None));
    let parts = [
        ResponsePart::from(ThinkingPart::new("Hm.")),
        ResponsePart::Text(TextPart::new("All is done.")),
    ];
    let response = ChatResponse::from_parts("lab/m", parts);
    let events = stream(&response, &served.reply);
    assert_eq!(
        names(&events),
        ["created", "in_progress", "output_item.added", "output_item.done", "completed"]
    );
    let whole = body(&response, &served.reply);
    assert_eq!(events.last().unwrap()["response"], whole);
    let output = whole["output"].as_array().unwrap();
    assert_eq!((output.len(), &output[0]["type"]), (1, &json!("compaction")));
    let next =
        read(&json!({"model": "m", "input": [output[0], {"role": "user", "content": "Go on."}]}));
    assert!(next.request.messages[0].text().ends_with("All is done."));
    let foreign = read(
        &json!({"model": "m", "input": [{"type": "compaction", "encrypted_content": "gAAA"}, {"role": "user", "content": "Go on."}]}),
    );
    assert_eq!((foreign.request.messages.len(), foreign.warnings.len()), (1, 1));
}
