//! A model that follows a script.

use crate::common::{client, streamed};
use agentloop::{
    ChatMessage, ChatRequest, ErrorKind, FinishReason, ResponsePart, ToolCallPart, Usage,
};
use agentloop_sim::{Fault, Model, Script, Simulator, Turn};

#[tokio::test]
async fn turns_follow_each_other_and_then_the_script_ends() {
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
async fn a_scene_answers_its_question_through_a_tool_call() {
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
async fn a_turn_decides_its_reason_usage_steps_and_faults() {
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
    let told = Usage {
        prompt_tokens: Some(5),
        completion_tokens: Some(7),
        total_tokens: Some(12),
        ..Usage::default()
    };
    assert_eq!(whole.usage, told);
    let second = request.assistant("abcdef").user("more");
    let error = streamed(&ai, second).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::IncompleteStream);
    assert_eq!(error.partial().unwrap().text(), "one two ");
}

#[tokio::test]
async fn what_a_call_asks_for_wins_over_the_script() {
    let script = Script::new([Turn::text("Hello.").with_fault(Fault::status(500))]);
    let ai = client(&Simulator::new().with_model(Model::from_script(script)));
    let request = |model: &str| ChatRequest::new(model).user("Hi");
    assert_eq!(ai.chat(request("sim/any")).await.unwrap_err().kind(), ErrorKind::Server);
    assert_eq!(ai.chat(request("sim/any!drip")).await.unwrap().text(), "Hello.");
}

#[test]
fn a_script_that_cannot_be_read_says_why() {
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
async fn what_the_wire_can_say_arrives_whole_and_streamed_alike() {
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
