//! Scripted responses.

use crate::common::{client, streamed};
use agentloop::{
    ChatMessage, ChatRequest, ErrorKind, FinishReason, ResponsePart, ToolCallPart, Usage,
};
use agentloop_sim::{Fault, Model, Script, Simulator, Turn};

#[tokio::test]
async fn turns_are_used_in_order_until_the_script_ends() {
    let script = Script::new([Turn::text("First."), Turn::text("Second.")]);
    let ai = client(&Simulator::new().with_model(Model::from_script(script)));
    let request = ChatRequest::new("sim/any").user("Hi");
    for _ in 0..2 {
        assert_eq!(ai.chat(request.clone()).await.unwrap().text(), "First.");
    }
    let request = request.assistant("First.").user("And?");
    assert_eq!(ai.chat(request.clone()).await.unwrap().text(), "Second.");
    let request = request.assistant("Second.").user("And?");
    let error = ai.chat(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    assert!(error.message().contains("2 turns"), "{error}");
}

#[tokio::test]
async fn a_scene_responds_to_its_message_through_a_tool_call() {
    let call = ResponsePart::ToolCall(ToolCallPart::new("c1", "weather", "{}"));
    let script = Script::new([Turn::text("Hello.")])
        .with_scene("rain", [Turn::new([call]), Turn::text("It rains.")]);
    let ai = client(&Simulator::new().with_model(Model::from_script(script)));
    let request = ChatRequest::new("sim/any").user("Hi");
    let hello = ai.chat(request.clone()).await.unwrap();
    assert_eq!(hello.text(), "Hello.");
    let request = request.message(hello.into_message()).user("Will it rain?");
    let asked = ai.chat(request.clone()).await.unwrap();
    assert_eq!(asked.finish_reason(), Some(&FinishReason::ToolCalls));
    let request = request.message(asked.into_message()).message(ChatMessage::tool("c1", "yes"));
    assert_eq!(ai.chat(request).await.unwrap().text(), "It rains.");
}

#[tokio::test]
async fn a_turn_sets_finish_reason_usage_delta_size_and_faults() {
    let json = r#"{"turns": [{
        "parts": [{"type": "text", "text": "abcdef"}],
        "finish_reason": "length",
        "usage": {"promptTokens": 5, "completionTokens": 7, "totalTokens": 12},
        "delta_size": 2
    }, {
        "parts": [{"type": "text", "text": "one two three"}],
        "faults": "cut-events=3"
    }]}"#;
    let script = Script::from_json(json).unwrap();
    assert_eq!(script.turns[1].faults[0].to_string(), "cut-events=3");
    let again = serde_json::to_string(&script).unwrap();
    assert_eq!(Script::from_json(&again).unwrap(), script);

    let ai = client(&Simulator::new().with_model(Model::from_script(script)));
    let request = ChatRequest::new("sim/any").user("Hi");
    let whole = ai.chat(request.clone()).await.unwrap();
    assert_eq!(whole, streamed(&ai, request.clone()).await.unwrap());
    assert_eq!(whole.finish_reason(), Some(&FinishReason::Length));
    let scripted = Usage::new(5, 7);
    assert_eq!(whole.usage, scripted);
    let second = request.assistant("abcdef").user("more");
    let error = streamed(&ai, second).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert_eq!(error.partial().unwrap().text(), "one two ");
}

#[tokio::test]
async fn faults_of_a_request_take_precedence_over_the_script() {
    let script = Script::new([Turn::text("Hello.").with_fault(Fault::status(500))]);
    let ai = client(&Simulator::new().with_model(Model::from_script(script)));
    let request = |model: &str| ChatRequest::new(model).user("Hi");
    assert_eq!(ai.chat(request("sim/any")).await.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(ai.chat(request("sim/any!drip")).await.unwrap().text(), "Hello.");
}

#[test]
fn the_error_for_an_invalid_script_states_the_reason() {
    let cases = [
        ("{", "EOF"),
        (r#"{"turn": []}"#, "turn"),
        (r#"{"turns": [{"faults": "explode"}]}"#, "stall-events"),
        (r#"{"turns": [{"parts": [{"type": "poem"}]}]}"#, "poem"),
    ];
    for (json, word) in cases {
        let error = Script::from_json(json).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains(word), "{error}");
    }
    let error = Script::from_file("/no/such/script.json").unwrap_err();
    assert!(error.message().contains("/no/such/script.json"));
}

#[tokio::test]
async fn scripted_parts_arrive_equally_complete_and_streamed() {
    let scripts = [
        r#"{"type": "image", "mimeType": "image/*", "url": "https://example.com/a.png"}"#,
        r#"{"type": "audio", "mimeType": "audio/wav", "data": "AAAA", "expiresAt": 5,
            "providerState": {"provider": "sim", "data": {"id": "audio"}}}"#,
        r#"{"type": "text", "text": "x", "citations": [
            {"type": "url", "url": "https://example.com", "citedText": "q", "endIndex": 1}]}"#,
        r#"{"type": "tool_call", "id": "c", "name": "t", "arguments": "not json"}"#,
    ];
    for part in scripts {
        let script = Script::from_json(&format!(r#"{{"turns": [{{"parts": [{part}]}}]}}"#));
        let script = script.unwrap();
        let parts = script.turns[0].parts.clone();
        let ai = client(&Simulator::new().with_model(Model::from_script(script)));
        let request = ChatRequest::new("sim/any").user("Hi");
        let whole = ai.chat(request.clone()).await.unwrap();
        assert_eq!(whole.choices[0].content, parts);
        assert_eq!(whole, streamed(&ai, request).await.unwrap());
    }
}
