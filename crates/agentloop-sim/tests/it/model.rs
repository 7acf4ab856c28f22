//! The model without a client, and invalid requests.

use agentloop::protocol::serve::Operation;
use agentloop::{
    ChatRequest, ChatStreamEvent, ErrorKind, Fold, PartDelta, Protocol, ToolDefinition,
};
use agentloop_sim::{Model, Piece, Simulator};
use bytes::Bytes;
use http::Request;
use serde_json::json;

fn every_model() -> Vec<String> {
    Model::list().into_iter().map(|model| model.id).collect()
}

#[test]
fn the_events_of_every_behaviour_are_valid_and_fold_to_the_response() {
    let tool = ToolDefinition::function("look", json!({"type": "object"}));
    for model in every_model() {
        for (n, most) in [(1, None), (3, None), (2, Some(0)), (2, Some(2))] {
            let mut request = ChatRequest::new(&model).user("one two three").n(n);
            request = request.tool(tool.clone());
            request.max_tokens = most;
            let mut events = Model::new().events(&request).unwrap();
            let last = events.pop();
            let mut fold = Fold::new();
            for event in &events {
                fold.push(event).unwrap();
            }
            let response = Box::new(fold.finish().unwrap());
            assert_eq!(response.choices.len(), n as usize);
            assert_eq!(last, Some(ChatStreamEvent::MessageDone { response }));
        }
    }
}

#[test]
fn text_is_streamed_in_words_and_parallel_calls_interleave() {
    let schema = json!({"type": "object", "properties": {"a_long_name": {"type": "string"}}});
    let request = ChatRequest::new("tools")
        .user("Hi")
        .tool(ToolDefinition::function("one", schema.clone()))
        .tool(ToolDefinition::function("two", schema));
    let events = Model::new().events(&request).unwrap();
    let grown: Vec<u32> = events
        .iter()
        .filter_map(|event| match event {
            ChatStreamEvent::ContentDelta { part_index, .. } => Some(*part_index),
            _ => None,
        })
        .collect();
    assert_eq!(grown, [0, 1, 0, 1]);

    let events = Model::new().events(&ChatRequest::new("long-3").user("Hi")).unwrap();
    let words: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text }, .. } => {
                Some(text.as_str())
            }
            _ => None,
        })
        .collect();
    assert_eq!(words, ["word1 ", "word2 ", "word3"]);
}

#[test]
fn too_many_choices_are_an_error() {
    let error = Model::new().events(&ChatRequest::new("echo").user("Hi").n(1000));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::InvalidRequest);
}

#[test]
fn no_request_body_causes_a_panic() {
    let bodies = [
        "",
        "{",
        "null",
        "[]",
        "{}",
        r#"{"messages": 7}"#,
        r#"{"messages": [7, null, {"role": "tool"}]}"#,
        r#"{"messages": [{"role": "user", "content": null}]}"#,
        r#"{"model": "long-99999999999999999999", "messages": []}"#,
        r#"{"model": "!", "messages": []}"#,
        r#"{"model": "echo", "n": 0, "stop": "", "max_tokens": 0, "messages": []}"#,
        r#"{"model": "echo", "n": -1, "messages": []}"#,
        r#"{"model": "echo", "tools": [{"type": "function", "function": {"name": ""}}]}"#,
        r#"{"model": "echo", "tools": [{"type": "web_search"}], "messages": []}"#,
        r#"{"model": "m", "input": [1, 2]}"#,
        r#"{"model": "m", "input": "x", "dimensions": 4294967295}"#,
        r#"{"model": "m", "input": []}"#,
    ];
    let simulator = Simulator::new();
    for body in bodies {
        for path in ["/v1/chat/completions", "/embeddings", "/"] {
            let request = Request::post(path).body(Bytes::from(body)).unwrap();
            let reply = simulator.respond(Protocol::OpenAiChat, &request).unwrap();
            for piece in reply.body {
                assert!(matches!(piece, Piece::Bytes(_)));
            }
        }
    }
}

#[test]
fn a_large_body_is_sent_in_small_pieces() {
    let request = Request::post("/chat/completions")
        .header("x-sim-fault", "body=200000000")
        .body(Bytes::from(r#"{"messages": []}"#))
        .unwrap();
    let reply = Simulator::new().respond(Protocol::OpenAiChat, &request).unwrap();
    let mut total = 0;
    for piece in reply.body {
        let Piece::Bytes(bytes) = piece else { panic!("{piece:?}") };
        assert!(bytes.len() <= 64 << 10);
        total += bytes.len();
    }
    assert_eq!(total, 200_000_000);
}

#[test]
fn paths_are_routed_to_operations() {
    use agentloop::protocol::serve::route;
    use http::Method;
    let route = |method: Method, path: &str| {
        route(Protocol::OpenAiChat, &method, path, &http::HeaderMap::new())
    };
    assert_eq!(route(Method::POST, "/a/chat/completions/"), Some(Operation::Chat));
    assert_eq!(route(Method::POST, "/embeddings"), Some(Operation::Embed));
    assert_eq!(route(Method::GET, "/v1/models"), Some(Operation::Models));
    assert_eq!(route(Method::GET, "/v1/chat/completions"), None);
}
