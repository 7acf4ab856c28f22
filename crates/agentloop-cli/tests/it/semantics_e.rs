//! Responses of Anthropic, rule by rule.

use crate::common;

use common::{Outcome, decode};
use serde_json::{Value, json};

const ANTHROPIC: &str = "--provider anthropic";

/// Formats a stream of these events, each named by its type.
fn stream(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("x")))
        .collect()
}

fn start() -> Value {
    json!({"type": "message_start", "message": {"id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude", "content": [], "stop_reason": null,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 1}}})
}

fn block(index: u32, block: Value, deltas: &[Value]) -> Vec<Value> {
    let mut events =
        vec![json!({"type": "content_block_start", "index": index, "content_block": block})];
    for delta in deltas {
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    events.push(json!({"type": "content_block_stop", "index": index}));
    events
}

fn end(reason: &str) -> Vec<Value> {
    vec![
        json!({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": null},
               "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ]
}

fn answer(blocks: Vec<Value>, reason: &str) -> Outcome {
    let mut events = vec![start()];
    events.extend(blocks);
    events.extend(end(reason));
    decode(&format!("{ANTHROPIC} --stream"), &stream(&events))
}

fn choice(run: &Outcome) -> Value {
    run.response()["choices"][0].take()
}

#[test]
fn e1_every_block_is_a_part_and_unknown_ones_are_kept() {
    let mut blocks = block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            json!({"type": "thinking_delta", "thinking": "Hm."}),
            json!({"type": "signature_delta", "signature": "c2ln"}),
        ],
    );
    blocks.extend(block(1, json!({"type": "redacted_thinking", "data": "eHg="}), &[]));
    blocks.extend(block(
        2,
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        &[
            json!({"type": "input_json_delta", "partial_json": "{\"query\":"}),
            json!({"type": "input_json_delta", "partial_json": "\"rome\"}"}),
        ],
    ));
    blocks.extend(block(3, json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content":
        [{"type": "web_search_result", "url": "https://a.test", "title": "A", "encrypted_content": "zzz"}]}), &[]));
    blocks.extend(block(4, json!({"type": "from_the_future", "x": 1}), &[]));
    blocks.extend(block(
        5,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "Rome."})],
    ));
    blocks.extend(block(
        6,
        json!({"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}}),
        &[json!({"type": "input_json_delta", "partial_json": ""})],
    ));
    let choice = choice(&answer(blocks, "tool_use"));
    let kinds: Vec<&str> = choice["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        [
            "thinking",
            "redacted_thinking",
            "server_tool_call",
            "server_tool_result",
            "opaque",
            "text",
            "tool_call"
        ]
    );
    assert_eq!(choice["content"][0]["signature"], "c2ln");
    assert_eq!(choice["content"][2]["arguments"], json!({"query": "rome"}));
    assert_eq!(choice["content"][3]["toolCallId"], "srvtoolu_1");
    assert!(choice["content"][3].to_string().contains("zzz"));
    assert_eq!(choice["content"][6]["arguments"], "{}");
    assert_eq!(choice["finishReason"], "tool_calls");
    assert_eq!(choice["rawFinishReason"], "tool_use");
}

#[test]
fn e1_arguments_may_be_in_the_start_event() {
    let blocks =
        block(0, json!({"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}), &[]);
    assert_eq!(choice(&answer(blocks, "tool_use"))["content"][0]["arguments"], "{\"a\":1}");
}

#[test]
fn e1_code_execution_has_code_and_results() {
    let mut blocks = block(
        0,
        json!({"type": "server_tool_use", "id": "s1", "name": "code_execution", "input": {}}),
        &[json!({"type": "input_json_delta", "partial_json": "{\"code\":\"print(1)\"}"})],
    );
    blocks.extend(block(1, json!({"type": "code_execution_tool_result", "tool_use_id": "s1", "content":
        {"type": "code_execution_result", "stdout": "1\n", "stderr": "", "return_code": 0, "content": []}}), &[]));
    let choice = choice(&answer(blocks, "end_turn"));
    assert_eq!(choice["content"][0]["type"], "code_execution");
    assert_eq!(choice["content"][0]["code"], "print(1)");
    assert_eq!(choice["content"][1]["type"], "code_result");
    assert_eq!(choice["content"][1]["outcome"], "ok");
    assert_eq!(choice["content"][1]["output"], "1\n");
}

#[test]
fn e2_later_usage_replaces_earlier_and_prompt_tokens_include_the_cache() {
    let run = answer(block(0, json!({"type": "text", "text": "hi"}), &[]), "end_turn");
    let usage = run.response()["usage"].take();
    assert_eq!(usage["promptTokens"], 17);
    assert_eq!(usage["completionTokens"], 7);
    assert_eq!(usage["totalTokens"], 24);
    assert_eq!(usage["details"]["cachedTokens"], 5);
    assert_eq!(usage["details"]["cacheWriteTokens"], 2);
}

#[test]
fn e3_stop_reasons_are_unified_and_kept_raw() {
    for (raw, unified) in [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "stop"),
        ("refusal", "content_filter"),
        ("brand_new", "brand_new"),
    ] {
        let choice = choice(&answer(block(0, json!({"type": "text", "text": "hi"}), &[]), raw));
        assert_eq!(
            (choice["finishReason"].as_str(), choice["rawFinishReason"].as_str()),
            (Some(unified), Some(raw))
        );
    }
}

#[test]
fn e3_citations_belong_to_their_text_and_do_not_change_it() {
    let citation = |value: Value| json!({"type": "citations_delta", "citation": value});
    let blocks = block(
        0,
        json!({"type": "text", "text": ""}),
        &[
            json!({"type": "text_delta", "text": "Rome "}),
            citation(
                json!({"type": "char_location", "cited_text": "c", "document_index": 0, "document_title": "t",
            "start_char_index": 1, "end_char_index": 2}),
            ),
            citation(
                json!({"type": "page_location", "cited_text": "c", "document_index": 0, "document_title": null,
            "start_page_number": 1, "end_page_number": 2}),
            ),
            citation(
                json!({"type": "content_block_location", "cited_text": "c", "document_index": 0,
            "document_title": null, "start_block_index": 3, "end_block_index": 4}),
            ),
            citation(
                json!({"type": "web_search_result_location", "cited_text": "c", "url": "https://a.test",
            "title": "A", "encrypted_index": "enc=="}),
            ),
            citation(
                json!({"type": "search_result_location", "cited_text": "c", "source": "s", "title": "T",
            "search_result_index": 0, "start_block_index": 0, "end_block_index": 1}),
            ),
            json!({"type": "text_delta", "text": "is old."}),
        ],
    );
    let choice = choice(&answer(blocks, "end_turn"));
    let text = &choice["content"][0];
    assert_eq!(text["text"], "Rome is old.");
    let kinds: Vec<&str> =
        text["citations"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["document", "page", "block", "url", "search_result"]);
    assert_eq!(text["citations"][2]["startBlock"], 3);
    assert!(text["citations"][3].to_string().contains("enc=="), "{text}");
}

#[test]
fn e4_pings_unknown_events_and_repeated_events_are_ignored() {
    let mut events =
        vec![json!({"type": "ping"}), start(), start(), json!({"type": "news", "x": 1})];
    events.extend(block(
        0,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "hi"}), json!({"type": "shiny_delta", "y": 2})],
    ));
    events.push(json!({"type": "ping"}));
    events.extend(end("end_turn"));
    let run = decode(&format!("{ANTHROPIC} --stream"), &stream(&events));
    assert_eq!(choice(&run)["content"][0]["text"], "hi");
}

#[test]
fn e4_a_stream_is_complete_only_with_a_stop_reason() {
    let mut events = vec![start()];
    events.extend(block(
        0,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "hi"})],
    ));
    let error = decode(&format!("{ANTHROPIC} --stream"), &stream(&events)).error();
    assert_eq!(error["kind"], "incomplete_stream");
    assert_eq!(error["partial"]["choices"][0]["content"][0]["text"], "hi");
    events.push(end("end_turn")[0].clone());
    assert_eq!(
        choice(&decode(&format!("{ANTHROPIC} --stream"), &stream(&events)))["finishReason"],
        "stop"
    );
}

#[test]
fn errors_inside_a_stream_have_their_status() {
    for (kind, status, retryable) in [
        ("overloaded_error", 529, true),
        ("rate_limit_error", 429, true),
        ("invalid_request_error", 400, false),
        ("api_error", 500, true),
    ] {
        let event = json!({"type": "error", "error": {"type": kind, "message": "m"}});
        let error = decode(&format!("{ANTHROPIC} --stream"), &stream(&[event])).error();
        assert_eq!(
            (error["status"].as_u64(), error["retryable"].as_bool()),
            (Some(status), Some(retryable)),
            "{kind}"
        );
        assert_eq!(error["message"], "m");
    }
}

#[test]
fn a_complete_body_is_decoded_like_its_stream() {
    let body = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_reason": "end_turn",
        "content": [{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Rome."}],
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 2, "output_tokens": 7}});
    let mut blocks = block(
        0,
        json!({"type": "thinking", "thinking": "", "signature": ""}),
        &[
            json!({"type": "thinking_delta", "thinking": "Hm."}),
            json!({"type": "signature_delta", "signature": "c2ln"}),
        ],
    );
    blocks.extend(block(
        1,
        json!({"type": "text", "text": ""}),
        &[json!({"type": "text_delta", "text": "Rome."})],
    ));
    assert_eq!(
        decode(ANTHROPIC, &body.to_string()).response(),
        answer(blocks, "end_turn").response()
    );
}
