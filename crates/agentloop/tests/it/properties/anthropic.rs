//! Any request at all, over Anthropic's protocol: the messages are valid, and nothing is lost.

use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, ContentPart, Origin, ThinkingPart, ToolCallPart, inspect,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::properties::encoding::{has_null, message, params};

fn request(model: &str, params: &Value, messages: &[ChatMessage]) -> ChatRequest {
    let mut json = params.clone();
    json["model"] = json!(format!("anthropic/{model}"));
    json["messages"] = json!(messages);
    serde_json::from_value(json).unwrap()
}

fn models() -> impl Strategy<Value = &'static str> {
    select(
        &[
            "some-model",
            "claude-sonnet-4-5",
            "claude-opus-4-6",
            "claude-sonnet-5",
            "claude-opus-5-5",
        ][..],
    )
}

/// An exchange: a message of the user, and all messages up to the final one of the assistant.
fn exchange() -> impl Strategy<Value = Vec<ChatMessage>> {
    let words = "[a-z ]{0,6}[a-z][ \n]{0,2}";
    let own = |parts: Vec<ContentPart>| {
        let origin = Origin::new("anthropic", "m");
        ChatMessage::assistant(parts).with_origin(origin)
    };
    (words, words, words, any::<bool>()).prop_map(move |(asked, result, answer, calls)| {
        let mut turns = vec![ChatMessage::user(asked)];
        if calls {
            let thought = ThinkingPart::new("hm").with_signature("S");
            let call = ToolCallPart::new("toolu_1", "f", r#"{"b": 1, "a": 2}"#);
            turns.push(own(vec![ContentPart::Thinking(thought), ContentPart::ToolCall(call)]));
            turns.push(ChatMessage::tool("toolu_1", result));
        }
        turns.push(own(vec![ContentPart::text(answer)]));
        turns
    })
}

proptest! {
    #[test]
    fn messages_are_valid_for_the_provider(
        params in params(),
        mut messages in vec(message(), 0..6),
        model in models(),
    ) {
        messages.push(ChatMessage::user("Hello"));
        let ai = AgentLoop::from_env();
        let encoded = inspect::encode(&ai, &request(model, &params, &messages), false).unwrap();
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        prop_assert_eq!(has_null(&body, ""), None);
        let mut before = "";
        for turn in body["messages"].as_array().unwrap() {
            let role = turn["role"].as_str().unwrap();
            prop_assert_ne!(role, before, "{}", body);
            before = role;
            let text = [turn["content"].clone()];
            let blocks = turn["content"].as_array().map_or(&text[..], Vec::as_slice);
            prop_assert!(!blocks.is_empty());
            for block in blocks {
                let words = block.as_str().or(block["text"].as_str());
                prop_assert!(words.is_none_or(|words| !words.trim().is_empty()), "{}", body);
                prop_assert!(block["type"] != "tool_use" || block["input"].is_object());
                prop_assert!(block["type"] != "thinking", "unsigned");
            }
            let rest = blocks.iter().skip_while(|block| block["type"] == "tool_result");
            prop_assert!(rest.into_iter().all(|block| block["type"] != "tool_result"), "{}", body);
        }
    }

    #[test]
    fn nothing_is_dropped_without_a_warning(params in params(), model in models(), stream in any::<bool>()) {
        let ai = AgentLoop::from_env();
        let request = request(model, &params, &[ChatMessage::user("Hello")]);
        let encoded = inspect::encode(&ai, &request, stream).unwrap();
        let again = inspect::encode(&ai, &request, stream).unwrap();
        prop_assert_eq!(encoded.body.get(), again.body.get());
        let body: Value = serde_json::from_str(encoded.body.get()).unwrap();
        for (name, value) in params.as_object().unwrap() {
            let warned = encoded.warnings.iter().filter_map(|warning| warning.subject.as_deref());
            let warned = warned.filter(|subject| subject.split('.').next() == Some(name)).count() > 0;
            let sent = match name.as_str() {
                "stop" => body.get("stop_sequences").is_some(),
                "user" => body["metadata"]["user_id"] == *value,
                "reasoning_effort" => {
                    body.get("thinking").is_some() || body["output_config"].get("effort").is_some()
                }
                // A setting that is the default need not be sent.
                "parallel_tool_calls" => *value == true || body.get("tool_choice").is_some(),
                "n" => *value == 1,
                "logprobs" => *value == false,
                name => body.get(name).is_some(),
            };
            prop_assert!(sent || warned, "{} vanished: {}", name, body);
        }
    }

    /// A conversation that grows by complete exchanges only appends to what was sent before.
    #[test]
    fn a_further_exchange_only_appends(
        params in params(),
        exchanges in vec(exchange(), 2..5),
        model in models(),
    ) {
        let encode = |exchanges: &[Vec<ChatMessage>]| {
            let request = request(model, &params, &exchanges.concat()).system("Be brief.");
            inspect::encode(&AgentLoop::from_env(), &request, true).unwrap().body.get().to_owned()
        };
        let all = encode(&exchanges);
        let before = encode(&exchanges[..exchanges.len() - 1]);
        let open = before.strip_suffix("]}").unwrap();
        prop_assert!(all.starts_with(open), "{}\n{}", open, all);
    }
}
