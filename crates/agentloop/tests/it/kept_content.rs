//! Content of chat completions that is not plain text: nothing of it is lost, and what only its provider understands goes
//! back unchanged.

use agentloop::{
    AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, Citation, CodeOutcome, FinishReason,
    ResponsePart, inspect,
};
use serde_json::{Value, json};

use crate::support::{Wire, decode};

fn whole(provider: &'static str, message: Value) -> ChatResponse {
    let body = json!({ "id": "r", "model": "m", "choices": [
        { "index": 0, "finish_reason": "stop", "message": message }] });
    decode(&Wire::of(provider), body.to_string().as_bytes()).response().unwrap()
}

/// Encodes a response that is sent back to `provider`.
fn sent_back(provider: &str, response: &ChatResponse) -> (Value, Vec<String>) {
    let ai = AgentLoop::builder().build().unwrap();
    let request = ChatRequest::new(format!("{provider}/m"))
        .user("question")
        .message(response.clone().into_message())
        .user("more");
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    let warnings = encoded.warnings.iter().map(ToString::to_string).collect();
    (body["messages"][1].clone(), warnings)
}

fn kinds(response: &ChatResponse) -> Vec<&'static str> {
    response.choices[0].content.iter().map(ResponsePart::kind).collect()
}

#[test]
fn references_are_citations_and_go_back_to_their_place() {
    let text = |text: &str| json!({ "type": "text", "text": text });
    let reference = json!({ "type": "reference", "reference_ids": [0, 1] });
    let page = json!({ "type": "tool_reference", "tool": "web_search", "title": "Prizes",
                       "url": "https://example.com/p", "favicon": "f", "description": "All" });
    let content = json!([
        { "type": "thinking", "thinking": [text("Wéich"), reference, text(" one?")], "closed": true },
        reference, text("Yunus é"), reference, text(" and"), page,
    ]);
    let response = whole("mistral", json!({ "role": "assistant", "content": content }));
    assert_eq!(kinds(&response), ["thinking", "text"]);
    assert_eq!(response.text(), "Yunus é and");
    let ResponsePart::Text(part) = &response.choices[0].content[1] else { panic!() };
    let [Citation::Opaque(first), Citation::Opaque(_), Citation::Url(url)] = &part.citations[..]
    else {
        panic!("{:?}", part.citations)
    };
    assert_eq!((first.kind.as_str(), &first.data["reference_ids"]), ("reference", &json!([0, 1])));
    assert_eq!((url.url.as_str(), url.title.as_deref()), ("https://example.com/p", Some("Prizes")));
    let (message, warnings) = sent_back("mistral", &response);
    assert_eq!(message["content"], content, "{warnings:?}");
    // Another provider gets the text, and nothing that it could not read.
    let (message, _) = sent_back("groq", &response);
    assert_eq!(message["content"], "Yunus é and");
}

#[test]
fn pieces_of_an_unknown_type_are_opaque_and_sent_back_unchanged() {
    let content = json!([
        { "type": "text", "text": "Here: " },
        { "type": "document_url", "document_url": "https://example.com/a.pdf" },
        { "type": "file", "file_id": "5e1c" },
        { "type": "text", "text": "and " },
        { "type": "hologram", "frames": [1, 2], "nested": { "deep": null } },
    ]);
    let response = whole("mistral", json!({ "role": "assistant", "content": content }));
    assert_eq!(kinds(&response), ["text", "opaque", "opaque", "text", "opaque"]);
    let (message, warnings) = sent_back("mistral", &response);
    assert_eq!((&message["content"], &warnings), (&content, &Vec::new()));
    let (message, warnings) = sent_back("groq", &response);
    assert_eq!(message["content"], "Here: and ");
    assert_eq!(warnings.len(), 3, "{warnings:?}");
}

#[test]
fn empty_pieces_of_known_kinds_open_no_part() {
    let content = json!([
        { "type": "text", "text": "" }, { "type": "thinking", "thinking": [] }, {}, null, "",
        { "type": "text", "text": "x" },
    ]);
    let response = whole("mistral", json!({ "content": content }));
    assert_eq!((kinds(&response), response.text().as_str()), (vec!["text"], "x"));
}

#[test]
fn a_content_that_is_an_object_is_its_json() {
    let body = r#"{"id":"r","choices":[{"index":0,"finish_reason":"stop","message":{"content":
        { "name" : "A \"d\" a", "n": [ 1.50, 12345678901234567890123 ], "text": "t" } }}]}"#;
    let response = decode(&Wire::of("openai"), body.as_bytes()).response().unwrap();
    assert_eq!(
        response.text(),
        r#"{"name":"A \"d\" a","n":[1.50,12345678901234567890123],"text":"t"}"#
    );
    // One piece instead of a list of one is still a piece.
    let response = whole("openai", json!({ "content": { "type": "text", "text": "t" } }));
    assert_eq!(response.text(), "t");
}

#[test]
fn the_results_of_code_are_output_images_and_state() {
    let run = json!({ "index": 0, "type": "python", "arguments": "{\"code\":\"plot()\"}", "output": "done\n",
        "code_results": [{ "text": "done" }, { "text": "<Figure>" }, { "png": "iVBORw0KGgo=" },
                         { "chart": { "type": "bar", "title": "T" } }] });
    let response = whole("groq", json!({ "content": "See.", "executed_tools": [run] }));
    assert_eq!(kinds(&response), ["code_execution", "code_result", "image", "text"]);
    let content = &response.choices[0].content;
    let ResponsePart::CodeResult(result) = &content[1] else { panic!() };
    assert_eq!((result.output.as_str(), result.outcome), ("done\n<Figure>", CodeOutcome::Ok));
    let state = &result.provider_state.as_ref().unwrap().data;
    assert_eq!(state["code_results"][0]["chart"]["title"], "T");
    let ResponsePart::Image(image) = &content[2] else { panic!() };
    assert_eq!((image.mime_type.as_str(), image.data.as_str()), ("image/png", "iVBORw0KGgo="));
}

#[test]
fn the_input_of_a_custom_call_is_a_json_string_and_is_sent_back_unchanged() {
    let input = "SELECT 'a\"b'\nFROM t; -- é";
    let calls = json!([
        { "id": "call_1", "type": "custom", "custom": { "name": "sql", "input": input } },
        { "id": "call_2", "type": "custom", "custom": { "name": "now", "input": "" } },
    ]);
    let response = whole("openai", json!({ "content": null, "tool_calls": calls }));
    let parts: Vec<_> = response.choices[0].tool_calls().collect();
    assert_eq!(parts[0].parse::<String>().unwrap(), input);
    assert_eq!(parts[1].parse::<String>().unwrap(), "");
    assert_eq!(response.choices[0].finish_reason, FinishReason::ToolCalls);
    let ai = AgentLoop::builder().build().unwrap();
    let request = ChatRequest::new("openai/gpt-4.1")
        .user("question")
        .message(response.clone().into_message())
        .message(agentloop::ChatMessage::tool("call_1", "1"))
        .message(agentloop::ChatMessage::tool("call_2", "2"));
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    assert_eq!(body["messages"][1]["tool_calls"], calls);
    // Over the provider's other protocol it is the same call.
    let mut request = request;
    request.protocol = Some(agentloop::Protocol::OpenAiResponses);
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
    assert_eq!(
        body["input"][1],
        json!({ "type": "custom_tool_call", "call_id": "call_1", "name": "sql", "input": input })
    );
}

#[test]
fn a_call_of_an_unknown_type_is_kept_and_sent_back_unchanged() {
    let computer = json!({ "id": "call_1", "type": "computer", "computer": { "action": "click", "at": [3, 4] } });
    let search = json!({ "id": "call_2", "type": "builtin_function",
                         "function": { "name": "web_search", "arguments": "{\"q\":1}" } });
    let message = json!({ "content": "Let me look.", "tool_calls": [computer, search] });
    let response = whole("moonshot", message);
    assert_eq!(kinds(&response), ["text", "opaque", "tool_call"]);
    let (message, _) = sent_back("moonshot", &response);
    assert_eq!(message["tool_calls"], json!([computer, search]));
    // A call that has nothing but its type, and one without an id.
    for call in
        [json!({ "id": "x", "type": "mystery" }), json!({ "type": "mystery", "mystery": {} })]
    {
        let response = whole("moonshot", json!({ "content": null, "tool_calls": [call] }));
        let [ResponsePart::Opaque(part)] = &response.choices[0].content[..] else {
            panic!("{response:?}")
        };
        assert_eq!((part.kind.as_str(), part.data["id"].is_string()), ("mystery", true));
    }
    let stream = "data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"type\":\"mystery\"}]}}]}\n\n\
                  data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n";
    let wire = Wire { stream: true, ..Wire::of("moonshot") };
    assert_eq!(kinds(&decode(&wire, stream.as_bytes()).response().unwrap()), ["opaque"]);
}

/// The events of a stream of deltas, from a model that writes its thoughts between tags.
fn events(deltas: &[Value]) -> Vec<ChatStreamEvent> {
    let mut stream = String::new();
    for delta in deltas {
        let chunk = json!({ "id": "r", "choices": [{ "index": 0, "delta": delta }] });
        stream.push_str(&format!("data: {chunk}\n\n"));
    }
    stream.push_str("data: {\"id\":\"r\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
    let wire = Wire { stream: true, model: Some("qwen3-8b"), ..Wire::of("openai") };
    decode(&wire, stream.as_bytes()).events
}

#[test]
fn text_that_was_held_back_stays_before_whatever_follows_it() {
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    for (follows, kind) in [
        (json!({ "tool_calls": [call] }), "tool_call"),
        (
            json!({ "tool_calls": [{ "index": 0, "id": "c", "type": "computer", "computer": {} }] }),
            "opaque",
        ),
        (json!({ "function_call": { "name": "f", "arguments": "{}" } }), "tool_call"),
        (json!({ "reasoning_content": "hm" }), "thinking"),
        (json!({ "reasoning_details": [{ "type": "reasoning.text", "text": "hm" }] }), "thinking"),
        (json!({ "images": [{ "image_url": { "url": "data:image/png;base64,AA==" } }] }), "image"),
        (
            json!({ "executed_tools": [{ "index": 0, "type": "search", "arguments": "{}" }] }),
            "server_tool_call",
        ),
        (json!({ "audio": { "id": "a", "data": "AAAA" } }), "audio"),
        (json!({ "refusal": "no" }), "text"),
        (json!({ "content": [{ "type": "document_url", "document_url": "u" }] }), "opaque"),
        (
            json!({ "content": [{ "type": "image_url", "image_url": "https://example.com/i.png" }] }),
            "image",
        ),
        (
            json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "hm" }] }] }),
            "thinking",
        ),
    ] {
        let events = events(&[json!({ "content": "Kosten < 5 <" }), follows.clone()]);
        let Some(ChatStreamEvent::MessageDone { response }) = events.last() else {
            panic!("{follows}: {events:?}")
        };
        assert_eq!(kinds(response), ["text", kind], "{follows}");
        let ResponsePart::Text(text) = &response.choices[0].content[0] else { panic!() };
        assert_eq!(text.text, "Kosten < 5 <", "{follows}");
    }
}

#[test]
fn tags_are_still_read_after_a_call() {
    let call = json!({ "index": 0, "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } });
    let events = events(&[
        json!({ "content": "<think>a</th" }),
        json!({ "content": "ink>b<" }),
        json!({ "tool_calls": [call] }),
        json!({ "content": "<think>c</think>d" }),
    ]);
    let Some(ChatStreamEvent::MessageDone { response }) = events.last() else { panic!() };
    assert_eq!(kinds(response), ["thinking", "text", "tool_call", "thinking", "text"]);
    assert_eq!(response.text(), "b<d");
}

#[test]
fn a_response_without_an_id_gets_one_that_is_the_same_however_the_bytes_are_cut() {
    for provider in ["openai", "google", "anthropic"] {
        let body = match provider {
            "google" => {
                json!({ "candidates": [{ "content": { "parts": [{ "text": "x" }] }, "finishReason": "STOP" }] })
            }
            "anthropic" => {
                json!({ "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                                   "content": [{ "type": "text", "text": "x" }] })
            }
            _ => {
                json!({ "choices": [{ "index": 0, "message": { "content": "x" }, "finish_reason": "stop" }] })
            }
        };
        let body = body.to_string();
        let read = |size| {
            let wire = Wire { size, ..Wire::of(provider) };
            decode(&wire, body.as_bytes()).response().unwrap().id
        };
        let id = read(usize::MAX);
        assert!(id.starts_with("resp_") && id.len() == 21, "{provider}: {id}");
        assert_eq!(id, read(3), "{provider}");
    }
}

#[test]
fn thoughts_between_reasoning_tags_are_thinking() {
    let body = |content: &str| {
        json!({ "id": "r", "model": "openai.gpt-oss-20b-1:0", "choices": [
            { "index": 0, "message": { "content": content }, "finish_reason": "stop" }] })
        .to_string()
    };
    let text = body(
        "<reasoning>User asks.</reasoning><reasoning> Earth.</reasoning>Humans live on Earth.",
    );
    let response = decode(&Wire::of("openai"), text.as_bytes()).response().unwrap();
    assert_eq!(response.choices[0].thinking().as_deref(), Some("User asks. Earth."));
    assert_eq!(response.text(), "Humans live on Earth.");
}
