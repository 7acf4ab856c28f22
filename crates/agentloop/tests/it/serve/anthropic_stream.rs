//! What a server of Anthropic's API writes.

use agentloop::protocol::serve::{self, StreamWriter, write_body, write_error};
use agentloop::{
    ChatResponse, ChatStreamEvent, Citation, Error, ErrorKind, FileCitation, FinishReason,
    ModelInfo, OpaqueCitation, PartDelta, PartStart, Protocol, ProviderState, ResponsePart,
    TextPart, ThinkingPart, ToolCallPart, UrlCitation, Usage,
};
use serde_json::{Value, json};

fn body(response: &ChatResponse) -> Value {
    serde_json::from_slice(&write_body(Protocol::Anthropic, response)).unwrap()
}

/// The events of a stream: each name is the type of its data.
fn events(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.split_terminator("\n\n")
        .map(|frame| {
            let (name, data) = frame.split_once('\n').unwrap();
            let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
            assert_eq!(name, format!("event: {}", data["type"].as_str().unwrap()));
            data
        })
        .collect()
}

fn written(events: &[ChatStreamEvent]) -> Vec<u8> {
    let mut writer = StreamWriter::new(Protocol::Anthropic, true);
    events.iter().flat_map(|event| writer.write(event)).collect()
}

fn shape(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let kind = event["type"].as_str().unwrap();
            match event["index"].as_u64() {
                Some(index) => format!("{kind} {index}"),
                None => kind.to_owned(),
            }
        })
        .collect()
}

#[test]
fn a_response_of_another_api_has_all_required_fields_and_words_of_this_one() {
    let mut call = ToolCallPart::new("call_1", "f", r#"{"a": 1}"#);
    let state = json!({"type": "function_call", "id": "fc_1", "status": "completed",
                       "caller": {"type": "program"}});
    call.provider_state = Some(Box::new(ProviderState::new("openai", state)));
    let mut response = ChatResponse::from_parts(
        "lab/m",
        [
            ResponsePart::Thinking(ThinkingPart::new("Hm.")),
            ResponsePart::Text(TextPart::new("I call.")),
            ResponsePart::ToolCall(call),
        ],
    );
    response.id = String::new();
    response.choices[0].finish_reason = FinishReason::ToolCalls;
    response.choices[0].raw_finish_reason = Some("tool_calls".to_owned());
    let mut body = body(&response);
    let id = body["id"].take();
    assert!(id.as_str().unwrap().starts_with("msg_"), "{id}");
    assert_eq!(
        body,
        json!({
            "id": null, "type": "message", "role": "assistant", "model": "m",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": ""},
                {"type": "text", "text": "I call.", "citations": null},
                {"type": "tool_use", "id": "call_1", "name": "f", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 0, "cache_creation_input_tokens": null,
                      "cache_read_input_tokens": null, "output_tokens": 0, "cache_creation": null,
                      "server_tool_use": null, "service_tier": null},
        })
    );
}

#[test]
fn sources_of_another_api_have_the_forms_of_this_one() {
    let mut text = TextPart::new("It is so.");
    let mut file = FileCitation::default();
    (file.file_id, file.filename) = (Some("file_1".to_owned()), Some("a.pdf".to_owned()));
    let mut opaque = OpaqueCitation::default();
    opaque.data = json!({"type": "of_tomorrow"});
    text.citations = vec![
        Citation::Url(UrlCitation::new("https://x.test")),
        Citation::File(file),
        Citation::Opaque(opaque),
    ];
    let response = ChatResponse::from_parts("lab/m", [ResponsePart::Text(text)]);
    let wanted = json!([
        {"type": "web_search_result_location", "url": "https://x.test", "title": null, "cited_text": "", "encrypted_index": ""},
        {"type": "search_result_location", "source": "file_1", "title": "a.pdf", "search_result_index": 0,
         "cited_text": "", "start_block_index": 0, "end_block_index": 0},
    ]);
    assert_eq!(body(&response)["content"][0]["citations"], wanted);
    let stream = events(&written(&response.unfold()));
    let sources: Vec<&Value> =
        stream.iter().filter_map(|event| event.pointer("/delta/citation")).collect();
    assert_eq!(json!(sources), wanted);
}

/// Gemini sends the sources of all texts at the end, when only the last text is open.
#[test]
fn sources_that_arrive_after_their_block_are_written_into_the_next_text() {
    let source = |url: &str| Citation::Url(UrlCitation::new(url));
    let late = |url: &str| ChatStreamEvent::ContentCitation {
        choice_index: 0,
        part_index: 0,
        citation: source(url),
    };
    let text = |part_index: u32, text: &str| ChatStreamEvent::ContentDelta {
        choice_index: 0,
        part_index,
        delta: PartDelta::Text { text: text.to_owned() },
    };
    let done = |part_index: u32, text: &str| ChatStreamEvent::ContentDone {
        choice_index: 0,
        part_index,
        part: ResponsePart::Text(TextPart::new(text)),
    };
    let call = PartStart::ToolCall { id: "call_1".to_owned(), name: "f".to_owned() };
    let stream = events(&written(&[
        start(0, PartStart::Text {}),
        text(0, "One."),
        done(0, "One."),
        // No text is open yet: it waits.
        late("https://a.test"),
        start(1, call),
        late("https://b.test"),
        ChatStreamEvent::ContentDone {
            choice_index: 0,
            part_index: 1,
            part: ResponsePart::ToolCall(ToolCallPart::new("call_1", "f", "{}")),
        },
        start(2, PartStart::Text {}),
        text(2, "Two."),
        // The text is open: it is written at once.
        late("https://c.test"),
        text(2, "Three."),
        done(2, "Two.Three."),
        // Nothing follows, so there is no place for it.
        late("https://d.test"),
    ]));
    let found: Vec<(u64, &str)> = stream
        .iter()
        .filter_map(|event| {
            let url = event.pointer("/delta/citation/url")?.as_str()?;
            Some((event["index"].as_u64()?, url))
        })
        .collect();
    assert_eq!(found, [(2, "https://a.test"), (2, "https://b.test"), (2, "https://c.test")]);
    let is_closed_twice = |index: u64| {
        stream
            .iter()
            .filter(|event| event["type"] == "content_block_stop" && event["index"] == index)
            .count()
            != 1
    };
    assert!(!(0..3).any(is_closed_twice));
}

#[test]
fn every_finish_reason_is_one_of_the_api() {
    for (reason, raw, word) in [
        (FinishReason::Stop, Some("STOP"), "end_turn"),
        (FinishReason::Stop, Some("pause_turn"), "pause_turn"),
        (FinishReason::Length, Some("MAX_TOKENS"), "max_tokens"),
        (FinishReason::ContentFilter, Some("SAFETY"), "refusal"),
        (FinishReason::Other("eos".into()), Some("eos"), "end_turn"),
        (FinishReason::Other("compaction".into()), None, "compaction"),
    ] {
        let mut response = ChatResponse::from_parts("lab/m", ["a"]);
        response.choices[0].finish_reason = reason;
        response.choices[0].raw_finish_reason = raw.map(str::to_owned);
        assert_eq!(body(&response)["stop_reason"], word, "{raw:?}");
        let stream = events(&written(&response.unfold()));
        assert_eq!(stream[stream.len() - 2]["delta"]["stop_reason"], word, "{raw:?}");
    }
    let mut response = ChatResponse::from_parts("lab/m", ["a"]);
    response.provider_metadata.insert("stopSequence".to_owned(), json!("END"));
    assert_eq!(body(&response)["stop_reason"], "stop_sequence");
    assert_eq!(body(&response)["stop_sequence"], "END");
}

fn start(part_index: u32, part: PartStart) -> ChatStreamEvent {
    ChatStreamEvent::ContentStart { choice_index: 0, part_index, part }
}

fn delta(part_index: u32, delta: PartDelta) -> ChatStreamEvent {
    ChatStreamEvent::ContentDelta { choice_index: 0, part_index, delta }
}

fn done(part_index: u32, part: ResponsePart) -> ChatStreamEvent {
    ChatStreamEvent::ContentDone { choice_index: 0, part_index, part }
}

#[test]
fn calls_that_grow_at_the_same_time_are_written_one_after_the_other() {
    let call = |id: &str| PartStart::ToolCall { id: id.to_owned(), name: "f".to_owned() };
    let more = |text: &str| PartDelta::ToolCallArguments { arguments: text.to_owned() };
    let whole = |id: &str| ResponsePart::ToolCall(ToolCallPart::new(id, "f", "{}"));
    let stream = events(&written(&[
        start(0, call("a")),
        start(1, call("b")),
        delta(1, more("{\"b\"")),
        delta(0, more("{}")),
        start(2, call("c")),
        delta(2, more("{}")),
        done(2, whole("c")),
        delta(1, more(":1}")),
        done(0, whole("a")),
        done(1, whole("b")),
    ]));
    let wanted = [
        "content_block_start 0",
        "content_block_delta 0",
        "content_block_stop 0",
        "content_block_start 1",
        "content_block_delta 1",
        "content_block_delta 1",
        "content_block_stop 1",
        "content_block_start 2",
        "content_block_delta 2",
        "content_block_stop 2",
    ];
    assert_eq!(shape(&stream), wanted);
    assert_eq!(stream[3]["content_block"]["id"], "b");
}

#[test]
fn a_part_that_arrives_whole_is_written_with_all_its_content() {
    let mut thinking = ThinkingPart::new("Hm.");
    thinking.signature = Some("c2ln".to_owned());
    let stream = events(&written(&[
        start(0, PartStart::Thinking {}),
        done(0, ResponsePart::Thinking(thinking)),
        start(1, PartStart::Text {}),
        done(1, ResponsePart::Text(TextPart::new("Hi"))),
        start(2, PartStart::ToolCall { id: "a".into(), name: "f".into() }),
        done(2, ResponsePart::ToolCall(ToolCallPart::new("a", "f", r#"{"x":1}"#))),
    ]));
    let deltas: Vec<&Value> = stream.iter().filter_map(|event| event.get("delta")).collect();
    let wanted = json!([
        {"type": "thinking_delta", "thinking": "Hm."},
        {"type": "signature_delta", "signature": "c2ln"},
        {"type": "text_delta", "text": "Hi"},
        {"type": "input_json_delta", "partial_json": "{\"x\":1}"},
    ]);
    assert_eq!(json!(deltas), wanted);
}

#[test]
fn a_stream_begins_and_ends_as_the_api_s_does() {
    let mut response = ChatResponse::from_parts("lab/m", ["Hi \"you\"\n"]);
    let mut usage = Usage::default();
    (usage.prompt_tokens, usage.completion_tokens) = (Some(10), Some(2));
    usage.details.cached_tokens = Some(4);
    response.usage = usage;
    response.id = "resp_1".to_owned();
    let stream = events(&written(&response.unfold()));
    let wanted = [
        "message_start",
        "content_block_start 0",
        "content_block_delta 0",
        "content_block_stop 0",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(shape(&stream), wanted);
    let message = &stream[0]["message"];
    assert_eq!((&message["id"], &message["usage"]["input_tokens"]), (&json!("resp_1"), &json!(0)));
    assert_eq!(stream[2]["delta"]["text"], "Hi \"you\"\n");
    assert_eq!(
        stream[4],
        json!({
            "type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null},
            "usage": {"input_tokens": 6, "cache_creation_input_tokens": null,
                      "cache_read_input_tokens": 4, "output_tokens": 2, "cache_creation": null,
            "server_tool_use": null, "service_tier": null},
        })
    );
}

#[test]
fn an_error_after_content_is_the_last_event() {
    let error = Error::new(ErrorKind::Overloaded, "busy").with_status(529);
    let stream = events(&written(&[
        start(0, PartStart::Text {}),
        delta(0, PartDelta::Text { text: "Hi".into() }),
        ChatStreamEvent::Error { error: Box::new((&error).into()) },
    ]));
    assert_eq!(shape(&stream).last().unwrap(), "error");
    assert_eq!(stream[2]["error"], json!({"type": "overloaded_error", "message": "busy"}));
    // So is a response that its provider reports as failed.
    let mut failed = ChatResponse::from_parts("lab/m", ["Hi"]);
    failed.choices[0].finish_reason = FinishReason::Error;
    let stream = events(&written(&failed.unfold()));
    assert_eq!(shape(&stream).last().unwrap(), "error");
}

#[test]
fn errors_have_the_words_of_the_api() {
    let named = |error: Error| -> Value {
        serde_json::from_slice(&write_error(Protocol::Anthropic, &error)).unwrap()
    };
    for (kind, status, word) in [
        (ErrorKind::Auth, 401, "authentication_error"),
        (ErrorKind::Auth, 403, "permission_error"),
        (ErrorKind::InvalidRequest, 403, "permission_error"),
        (ErrorKind::Quota, 402, "billing_error"),
        (ErrorKind::NotFound, 404, "not_found_error"),
        (ErrorKind::RateLimit, 429, "rate_limit_error"),
        (ErrorKind::TooLarge, 413, "request_too_large"),
        (ErrorKind::InvalidRequest, 400, "invalid_request_error"),
        (ErrorKind::Server, 500, "api_error"),
        (ErrorKind::Timeout, 504, "timeout_error"),
    ] {
        assert_eq!(named(Error::new(kind, "no").with_status(status))["error"]["type"], word);
    }
    let error = Error::new(ErrorKind::Quota, "no money")
        .with_code("budget_exhausted")
        .with_request_id(Some("req_1".to_owned()));
    assert_eq!(
        named(error),
        json!({"type": "error", "request_id": "req_1",
               "error": {"type": "billing_error", "message": "no money", "code": "budget_exhausted"}})
    );
}

#[test]
fn models_have_the_fields_that_the_sdks_require() {
    let mut model = ModelInfo::new("lab", "lab/m");
    model.created = Some(1_700_000_000);
    let list: Value =
        serde_json::from_slice(&serve::write_models(Protocol::Anthropic, &[model])).unwrap();
    assert_eq!(
        list,
        json!({
            "data": [{"type": "model", "id": "lab/m", "display_name": "lab/m", "lifecycle": "active",
                      "created_at": "2023-11-14T22:13:20Z", "max_input_tokens": null, "max_tokens": null}],
            "has_more": false, "first_id": "lab/m", "last_id": "lab/m",
        })
    );
}
