//! What a table of cases cannot say about requests of Anthropic's protocol.

use crate::support;

use agentloop::*;
use serde_json::{Value, json};
use support::{Wire, decode};

const MODEL: &str = "anthropic/claude-sonnet-4-5";

fn send(request: &ChatRequest) -> String {
    let encoded = inspect::encode(&AgentLoop::from_env(), request, false).unwrap();
    encoded.body.get().to_owned()
}

/// Every fixture is sent back unchanged: all blocks, in order, with everything that is encrypted.
#[test]
fn a_response_is_sent_back_unchanged() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/anthropic");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        if path.extension().is_some_and(|extension| extension == "sse") {
            continue;
        }
        let wire: Value = serde_json::from_slice(&bytes).unwrap();
        let response = decode(&Wire::of("anthropic"), &bytes).response().unwrap();
        let request = ChatRequest::new(MODEL).user("Hello").message(response.into_message());
        let sent: Value = serde_json::from_str(&send(&request)).unwrap();
        let mut expected = wire["content"].clone();
        for block in expected.as_array_mut().unwrap() {
            for citation in block["citations"].as_array_mut().into_iter().flatten() {
                citation.as_object_mut().unwrap().remove("file_id");
            }
            if block["citations"].is_null() {
                block.as_object_mut().unwrap().remove("citations");
            }
        }
        let mut content = sent["messages"][1]["content"].clone();
        if let Some(text) = content.as_str() {
            content = json!([{"type": "text", "text": text}]);
        }
        assert_eq!(content, expected, "{}", path.display());
    }
}

/// What was sent does not change when the conversation grows, so the provider's cache stays valid.
#[test]
fn a_longer_conversation_only_adds_to_the_end() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let weather = ToolDefinition::function("weather", schema);
    let call = ToolCallPart::new("a", "weather", r#"{"z": 1, "city":"Rome"}"#);
    let origin = Origin::new("anthropic", "claude-sonnet-4-5");
    let own = |message: ChatMessage| message.with_origin(origin.clone());
    let turns = [
        ChatMessage::user("Hello"),
        own(ChatMessage::assistant(vec![
            ContentPart::Thinking(ThinkingPart::new("Hm.").with_signature("S")),
            ContentPart::ToolCall(call),
        ])),
        ChatMessage::tool("a", "sunny"),
        own(ChatMessage::assistant("It is sunny. \n")),
        ChatMessage::user("Thanks"),
        own(ChatMessage::assistant("Welcome. ")),
        ChatMessage::user("Bye"),
    ];
    let request = |count: usize| {
        let start = ChatRequest::new(MODEL).system("Be brief.").tool(weather.clone());
        send(&start.messages(turns[..count].iter().cloned()))
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
