//! Laws over the recorded requests of Ollama's and Cohere's own APIs.

use agentloop::{AgentLoop, Protocol, inspect};

use super::recorded::{Own, begins_with_the_shorter_one, every_request};

const OWN: [Own; 2] =
    [(Protocol::Ollama, "ollama-native", "messages"), (Protocol::Cohere, "cohere-v2", "messages")];

#[test]
fn every_recorded_request_is_read_and_can_be_sent_in_every_protocol() {
    let ai = AgentLoop::from_env();
    every_request(&OWN, 10, |(protocol, _, list), recorded| {
        if !recorded.body[list].is_array() {
            return Ok(());
        }
        let served = recorded.read(*protocol).map_err(|error| error.to_string())?;
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
            encoded.map_err(|error| format!("to {target:?}: {error}"))?;
        }
        Ok(())
    });
}

#[test]
fn a_longer_conversation_begins_with_the_shorter_one() {
    every_request(&OWN, 10, begins_with_the_shorter_one);
}
