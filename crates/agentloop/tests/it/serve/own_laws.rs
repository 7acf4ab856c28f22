//! Laws over the recorded requests of Ollama's and Cohere's own APIs.

use agentloop::protocol::serve::read_chat;
use agentloop::{AgentLoop, ChatMessage, Protocol, inspect};
use serde_json::{Value, json};

use crate::recordings::corpus::recordings;

const OWN: [(Protocol, &str, &str); 2] =
    [(Protocol::Ollama, "ollama-native", "/api/chat"), (Protocol::Cohere, "cohere-v2", "/v2/chat")];

/// The recorded requests of a wire that their provider took; `None` without the recordings.
fn requests(wire: &str) -> Option<Vec<(String, Value)>> {
    let mut requests = Vec::new();
    for recording in recordings(wire)?.iter().filter(|recording| recording.is_answer()) {
        let Ok(bytes) = std::fs::read(recording.folder.join("request.json")) else { continue };
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        if body["messages"].is_array() {
            requests.push((recording.id.clone(), body));
        }
    }
    Some(requests)
}

#[test]
fn every_recorded_request_is_read_and_can_be_sent_in_every_protocol() {
    let ai = AgentLoop::from_env();
    for (protocol, wire, path) in OWN {
        let Some(requests) = requests(wire) else {
            println!("skipped: there is no folder of recordings beside the checkout");
            return;
        };
        assert!(requests.len() >= 10, "{wire}: {}", requests.len());
        for (id, body) in requests {
            let served = read_chat(protocol, path, body.to_string().as_bytes());
            let served = served.unwrap_or_else(|error| panic!("{id}: {error}"));
            for (model, target) in [
                ("openai/gpt-4.1", Protocol::OpenAiChat),
                ("openai/gpt-4.1", Protocol::OpenAiResponses),
                ("anthropic/claude-sonnet-4-5", Protocol::Anthropic),
                ("google/gemini-2.5-pro", Protocol::Gemini),
                ("ollama/qwen3", Protocol::Ollama),
                ("cohere/command-a-03-2025", Protocol::Cohere),
            ] {
                let mut request = served.request.clone();
                request.model = model.to_owned();
                request.protocol = Some(target);
                request.lenient = true;
                // A gateway turns these into warnings.
                request.extra_body.clear();
                let encoded = inspect::encode(&ai, &request, served.stream);
                if let Err(error) = encoded {
                    panic!("{id} to {target:?}: {error}");
                }
            }
        }
    }
}

/// Appending to a conversation only appends to the messages that are read.
#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    for (protocol, wire, path) in OWN {
        let Some(requests) = requests(wire) else { return };
        for (id, mut body) in requests {
            let all = body["messages"].as_array().cloned().unwrap_or_default();
            let mut read = |many: usize| -> Vec<ChatMessage> {
                body["messages"] = json!(all[..many]);
                read_chat(protocol, path, body.to_string().as_bytes()).unwrap().request.messages
            };
            let whole = read(all.len());
            for many in 1..all.len() {
                let part = read(many);
                assert!(whole.starts_with(&part), "{id} up to {many}");
            }
        }
    }
}
