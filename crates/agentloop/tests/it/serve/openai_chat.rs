//! Chat completions: requests are read, and responses have what clients require.

use agentloop::protocol::serve::{
    Operation, ServedChat, StreamWriter, read_chat, route, write_body_for,
};
use agentloop::{
    CacheControl, ChatResponse, ChatStreamEvent, ContentPart, Effort, FinishReason, MessageContent,
    Protocol, ResponsePart, Role, ToolCallPart, ToolChoice, ToolDefinition,
};
use http::{HeaderMap, Method};
use serde_json::{Value, json};

fn read(body: Value) -> ServedChat {
    read_chat(Protocol::OpenAiChat, "/v1/chat/completions", body.to_string().as_bytes()).unwrap()
}

/// Returns the JSON of the events of a stream, without its end marker, and whether it has one.
pub(super) fn chunks(bytes: &[u8]) -> (Vec<Value>, bool) {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut list = Vec::new();
    let mut is_done = false;
    for frame in text.split("\n\n").filter(|frame| !frame.is_empty()) {
        let data = frame.strip_prefix("data: ").unwrap();
        match data {
            "[DONE]" => is_done = true,
            data => list.push(serde_json::from_str(data).unwrap()),
        }
    }
    (list, is_done)
}

fn stream(response: &ChatResponse, include_usage: bool) -> (Vec<Value>, bool) {
    let mut writer = StreamWriter::new(Protocol::OpenAiChat, include_usage);
    let bytes: Vec<u8> = response.unfold().iter().flat_map(|event| writer.write(event)).collect();
    chunks(&bytes)
}

#[test]
fn calls_are_known_by_method_and_path() {
    for (method, path, expected) in [
        (Method::POST, "/v1/chat/completions", Some(Operation::Chat)),
        (Method::POST, "/openai/v1/chat/completions/?x=1", Some(Operation::Chat)),
        (Method::POST, "/v1/embeddings", Some(Operation::Embed)),
        (Method::GET, "/v1/models", Some(Operation::Models)),
        (Method::GET, "/v1/models?limit=1000", Some(Operation::Models)),
        (Method::GET, "/v1/models/groq/openai/gpt-oss-120b", Some(Operation::Model)),
        (Method::GET, "/v1/chat/completions", None),
        (Method::POST, "/v1/models", None),
    ] {
        let found = route(Protocol::OpenAiChat, &method, path, &HeaderMap::new());
        assert_eq!(found, expected, "{method} {path}");
    }
}

#[test]
fn settings_are_read_under_their_names() {
    let served = read(json!({
        "model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": true,
        "stream_options": {"include_usage": true, "include_obfuscation": false},
        "max_completion_tokens": 50, "max_tokens": 10, "temperature": 0.5, "stop": ["a", "b"], "seed": 7,
        "reasoning_effort": "low", "verbosity": "high", "logit_bias": {"50256": -100}, "metadata": {"a": "b"},
        "safety_identifier": "u1", "user": "old", "prompt_cache_key": "k", "service_tier": "flex",
        "store": true, "top_p": null, "tools": null, "prediction": {"type": "content", "content": "x"},
        "response_format": {"type": "json_schema", "json_schema": {"name": "s", "strict": true, "schema": {"type": "object"}}},
    }));
    assert!(served.stream && served.include_usage);
    let request = served.request;
    assert_eq!(request.max_tokens, Some(50));
    assert_eq!(request.reasoning_effort, Some(Effort::Low));
    assert_eq!(request.user_id.as_deref(), Some("u1"));
    assert_eq!(request.logit_bias.unwrap()["50256"], -100.0);
    assert_eq!(request.metadata.unwrap()["a"], "b");
    assert!(request.response_format.is_some());
    // Only what has no unified name and changes something is left.
    assert_eq!(request.extra_body.keys().collect::<Vec<_>>(), ["prediction"]);
}

#[test]
fn messages_keep_their_order_and_their_parts() {
    let served = read(json!({"model": "m", "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "name": "ann", "content": [
            {"type": "text", "text": "What is this?", "cache_control": {"type": "ephemeral"}, "later": 1},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "file_1"}}]},
        {"role": "assistant", "content": "Two calls.", "reasoning_content": "Hm.", "refusal": null, "annotations": [],
         "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
            {"id": "c2", "type": "custom", "custom": {"name": "g", "input": "free \"text\""}}]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "one"}]},
        {"role": "tool", "tool_call_id": "c2", "content": "two"},
        {"role": "system", "content": "Stop soon."},
        {"role": "assistant", "content": null, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "three"},
    ]}));
    let messages = &served.request.messages;
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    use Role::{Assistant, System, Tool, User};
    assert_eq!(roles, [System, User, Assistant, Tool, Tool, System, Assistant, Tool]);
    assert_eq!(messages[1].parts().len(), 4);
    let kinds: Vec<&str> = messages[2].parts().iter().map(ContentPart::kind).collect();
    assert_eq!(kinds, ["thinking", "text", "tool_call", "tool_call"]);
    let ContentPart::ToolCall(custom) = &messages[2].parts()[3] else { panic!() };
    assert_eq!(
        (custom.id.as_str(), custom.arguments.as_str()),
        ("c2", r#"{"input":"free \"text\""}"#)
    );
    let ContentPart::ToolCall(older) = &messages[6].parts()[0] else { panic!() };
    assert_eq!(messages[7].tool_call_id.as_deref(), Some(older.id.as_str()));
    let subjects: Vec<&str> =
        served.warnings.iter().filter_map(|one| one.subject.as_deref()).collect();
    assert_eq!(subjects, ["messages[1].content[0].later"]);
}

#[test]
fn a_plain_text_stays_a_text() {
    let served = read(json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}));
    assert_eq!(served.request.messages[0].content, Some(MessageContent::from("Hi")));
}

#[test]
fn tools_and_choices_of_every_form_are_read() {
    let function = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {"type": "object"}}});
    let body = |choice: Value| {
        json!({"model": "m", "messages": [], "tool_choice": choice,
        "tools": [function("a"), function("b"), {"type": "custom", "custom": {"name": "c",
            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /x/"}}}}],
        "web_search_options": {"search_context_size": "low", "user_location": {"type": "approximate", "approximate": {"city": "Oslo"}}}})
    };
    let names = |served: &ServedChat| -> Vec<String> {
        served.request.tools.iter().filter_map(|tool| tool.name().map(str::to_owned)).collect()
    };
    let served = read(body(json!({"type": "function", "function": {"name": "b"}})));
    assert_eq!(names(&served), ["a", "b", "c"]);
    assert_eq!(served.request.tool_choice, Some(ToolChoice::function("b")));
    assert!(matches!(served.request.tools[3], ToolDefinition::Server(_)));
    let ToolDefinition::Function { function: free, .. } = &served.request.tools[2] else {
        panic!()
    };
    assert!(free.description.as_deref().unwrap().contains("start: /x/"));
    let served = read(body(json!({"type": "custom", "custom": {"name": "c"}})));
    assert_eq!(served.request.tool_choice, Some(ToolChoice::function("c")));
    let allowed = json!({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [function("b")]}});
    let served = read(body(allowed));
    assert_eq!(
        (names(&served), served.request.tool_choice),
        (vec!["b".to_owned()], Some(ToolChoice::Required))
    );
    for (word, choice) in
        [("auto", ToolChoice::Auto), ("none", ToolChoice::None), ("required", ToolChoice::Required)]
    {
        assert_eq!(read(body(json!(word))).request.tool_choice, Some(choice));
    }
}

#[test]
fn a_response_has_the_fields_that_clients_require() {
    let mut response = ChatResponse::from_parts("lab/m", ["Hi"]);
    response.id = String::new();
    response.choices[0].finish_reason = FinishReason::Other("pause_turn".to_owned());
    response.choices[0].raw_finish_reason = Some("pause_turn".to_owned());
    let reply = read(json!({"model": "m", "messages": []})).reply;
    let body = write_body_for(Protocol::OpenAiChat, &response, &reply);
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "stop");
    assert_eq!(choice["logprobs"], Value::Null);
    assert_eq!(choice["message"]["refusal"], Value::Null);
    assert_eq!(choice["message"]["annotations"], json!([]));
}

#[test]
fn usage_is_the_last_event_and_null_before_it() {
    let mut response = ChatResponse::from_parts("lab/m", ["Hi"]);
    response.usage.prompt_tokens = Some(3);
    response.usage.completion_tokens = Some(1);
    let (events, is_done) = stream(&response, true);
    let (last, before) = events.split_last().unwrap();
    assert!(
        is_done
            && before.iter().all(|event| event["usage"].is_null() && event.get("usage").is_some())
    );
    assert_eq!(last["choices"], json!([]));
    assert_eq!(
        last["usage"],
        json!({"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4})
    );
    let (events, _) = stream(&response, false);
    assert!(
        events.iter().all(|event| event.get("usage").is_none() && event["choices"][0].is_object())
    );
}

#[test]
fn parts_that_arrive_whole_are_written() {
    let call = ToolCallPart::new("c1", "f", "{}");
    let parts = [ResponsePart::from(call), ResponsePart::Text(agentloop::TextPart::new("Hi"))];
    let events = ChatResponse::from_parts("lab/m", parts).unfold();
    let mut writer = StreamWriter::new(Protocol::OpenAiChat, false);
    let whole =
        events.iter().filter(|event| !matches!(event, ChatStreamEvent::ContentDelta { .. }));
    let bytes: Vec<u8> = whole.flat_map(|event| writer.write(event)).collect();
    let (events, _) = chunks(&bytes);
    let delta = |at: usize| &events[at]["choices"][0]["delta"];
    assert_eq!(delta(2)["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(delta(3)["content"], "Hi");
}

#[test]
fn calls_of_tools_that_take_free_text_have_their_input() {
    let served = read(
        json!({"model": "m", "messages": [], "tools": [{"type": "custom", "custom": {"name": "run"}}]}),
    );
    let call = ToolCallPart::new("c1", "run", r#"{"input":"ls\n"}"#);
    let response = ChatResponse::from_parts("lab/m", [ResponsePart::from(call)]);
    let body: Value =
        serde_json::from_slice(&write_body_for(Protocol::OpenAiChat, &response, &served.reply))
            .unwrap();
    let expected =
        json!({"id": "c1", "type": "custom", "custom": {"name": "run", "input": "ls\n"}});
    assert_eq!(body["choices"][0]["message"]["tool_calls"][0], expected);
    let mut writer = StreamWriter::for_reply(Protocol::OpenAiChat, false, &served.reply);
    let bytes: Vec<u8> = response.unfold().iter().flat_map(|event| writer.write(event)).collect();
    let (events, _) = chunks(&bytes);
    let calls: Vec<&Value> = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0])
        .filter(|call| !call.is_null())
        .collect();
    assert_eq!(calls[0]["custom"], json!({"name": "run", "input": ""}));
    assert_eq!(calls[1]["custom"], json!({"input": "ls\n"}));
}

/// The helpers of the official SDKs take a call as complete when a piece of the next one arrives.
#[test]
fn calls_whose_pieces_arrive_in_turn_are_written_one_after_the_other() {
    let reply = read(json!({"model": "m", "messages": []})).reply;
    let calls =
        ["a", "b", "c"].map(|name| ResponsePart::from(ToolCallPart::new(name, "f", "[1,2]")));
    let all = ChatResponse::from_parts("lab/m", calls).unfold();
    // All calls begin, then all grow, then all end.
    let stage = |event: &ChatStreamEvent| match event {
        ChatStreamEvent::MessageStart { .. } => 0,
        ChatStreamEvent::ContentStart { .. } => 1,
        ChatStreamEvent::ContentDelta { .. } => 2,
        ChatStreamEvent::ContentDone { .. } => 3,
        _ => 4,
    };
    let mut turned: Vec<&ChatStreamEvent> = all.iter().collect();
    turned.sort_by_key(|event| stage(event));
    let write = |events: &[&ChatStreamEvent]| -> Vec<u8> {
        let mut writer = StreamWriter::for_reply(Protocol::OpenAiChat, false, &reply);
        events.iter().flat_map(|event| writer.write(event)).collect()
    };
    let plain: Vec<&ChatStreamEvent> = all.iter().collect();
    assert_eq!(
        String::from_utf8(write(&turned)).unwrap(),
        String::from_utf8(write(&plain)).unwrap()
    );
    // Those that never end are written before the finish reason.
    turned.retain(|event| stage(event) != 3);
    let (events, is_done) = chunks(&write(&turned));
    let calls = events
        .iter()
        .filter(|event| event["choices"][0]["delta"]["tool_calls"][0]["id"].is_string());
    assert_eq!((calls.count(), is_done), (3, true));
}

/// A provider that does not have a setting would otherwise be a reason for a warning.
#[test]
fn settings_that_change_nothing_are_left_out() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "n": 1, "top_p": 1, "frequency_penalty": 0,
        "presence_penalty": 0.0, "logprobs": false, "parallel_tool_calls": true, "logit_bias": {}, "metadata": {}, "stop": [],
        "service_tier": "auto", "response_format": {"type": "text"}, "modalities": ["text"], "tool_choice": "auto", "tools": []});
    let plain = read(json!({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}));
    assert_eq!(read(body).request, plain.request);
}

#[test]
fn marks_for_the_prompt_cache_are_read() {
    let part = json!({"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}});
    let served = read(json!({"model": "m", "messages": [{"role": "user", "content": [part]}]}));
    let ContentPart::Text(text) = &served.request.messages[0].parts()[0] else { panic!() };
    assert_eq!(text.cache_control, Some(CacheControl::EphemeralHour));
}
