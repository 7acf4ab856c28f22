//! Every built-in provider, simulated.

use crate::common::{client, streamed};
use agentloop::{
    AgentLoop, ChatMessage, ChatRequest, Effort, EmbedRequest, ErrorKind, Protocol, Provider,
    ResponseFormat, ToolDefinition,
};
use agentloop_sim::{Model, Simulator};
use serde_json::json;

fn tool(name: &str) -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    ToolDefinition::function(name, schema)
}

#[tokio::test]
async fn every_provider_responds_equally_complete_and_streamed() {
    for provider in Provider::all() {
        let (name, protocol) = (provider.name.clone(), provider.protocol);
        let simulator = Simulator::new();
        let ai = AgentLoop::builder().provider(simulator.simulate(provider)).build().unwrap();
        let mut used = 0;
        for model in Model::list() {
            let request = ChatRequest::new(format!("{name}/{}", model.id)).user("Hi you");
            let variants = [
                request.clone(),
                request.clone().tools([tool("look"), tool("see")]),
                request.clone().n(2).max_tokens(3),
                request.clone().stop("you").effort(Effort::High),
                request.response_format(ResponseFormat::json()),
            ];
            for request in variants {
                let whole = ai.chat(request.clone()).await.unwrap();
                let mut stream = streamed(&ai, request.clone()).await.unwrap();
                if protocol == Protocol::Bedrock {
                    // Its responses have no ids, so each gets another one.
                    stream.id.clone_from(&whole.id);
                }
                assert_eq!(whole, stream, "{request:?}");
                assert_eq!(whole.provider, name);
                used += whole.usage.completion_tokens.unwrap() * 2;
            }
        }
        assert_eq!(used, simulator.ledger().completion_tokens, "{name}");
    }
}

#[tokio::test]
async fn every_provider_calls_a_tool_and_uses_its_result() {
    let mut called = 0;
    for provider in Provider::all() {
        let name = provider.name.clone();
        let ai = AgentLoop::builder().provider(agentloop_sim::simulate(provider)).build().unwrap();
        let request = ChatRequest::new(format!("{name}/echo")).user("Rain?").tool(tool("weather"));
        let response = ai.chat(request.clone()).await.unwrap();
        let Some(call) = response.tool_calls().next() else {
            // The provider does not support tools, and a warning reports it.
            assert!(!response.warnings.is_empty(), "{name}");
            continue;
        };
        let id = call.id.clone();
        called += 1;
        let request =
            request.message(response.into_message()).message(ChatMessage::tool(id, "yes"));
        let response = ai.chat(request).await.unwrap();
        assert_eq!(response.text(), "weather says: yes", "{name}");
    }
    assert!(called > 15);
}

#[tokio::test]
async fn embeddings_have_the_requested_length_and_are_deterministic() {
    let simulator = Simulator::new();
    let ai = client(&simulator);
    let request = EmbedRequest::new("sim/vectors", ["hello world", "goodbye"]);
    let response = ai.embed(request.clone()).await.unwrap();
    assert_eq!(response.embeddings.len(), 2);
    assert!(response.embeddings.iter().all(|vector| vector.len() == 8));
    assert_ne!(response.embeddings[0], response.embeddings[1]);
    assert_eq!(response, ai.embed(request.clone()).await.unwrap());
    let long = ai.embed(request.clone().dimensions(256)).await.unwrap();
    assert_eq!(long.embeddings[1].len(), 256);
    assert_eq!(long.usage.unwrap().prompt_tokens, 3);
    assert_eq!(simulator.ledger().embeds, 3);
    assert_eq!(simulator.ledger().prompt_tokens, 9);
    let error = ai.embed(request.dimensions(0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

#[tokio::test]
async fn the_models_are_listed() {
    let ai = client(&Simulator::new());
    let models = ai.models("sim").await.unwrap();
    assert!(models.iter().any(|model| model.qualified() == "sim/think"));
}

#[tokio::test]
async fn every_protocol_works() {
    for protocol in Protocol::ALL {
        let provider = agentloop_sim::provider_named("other", *protocol);
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let request = ChatRequest::new("other/echo").user("Hi");
        let response = ai.chat(request.clone()).await.unwrap();
        let mut stream = streamed(&ai, request).await.unwrap();
        // Responses of Ollama and Bedrock have no id, so the client makes one.
        if matches!(protocol, Protocol::Ollama | Protocol::Bedrock) {
            stream.id.clone_from(&response.id);
        }
        assert_eq!(response, stream, "{protocol:?}");
        assert_eq!(response.provider, "other");
    }
}

#[test]
fn a_simulator_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<Simulator>();
    shared::<agentloop_sim::SimTransport>();
    shared::<Model>();
}

#[tokio::test]
async fn every_provider_with_embeddings_returns_one_vector_per_text() {
    let mut served = 0;
    for provider in Provider::all() {
        let name = provider.name.clone();
        let serves = provider.serves.embeddings;
        let ai = AgentLoop::builder().provider(agentloop_sim::simulate(provider)).build().unwrap();
        let request = EmbedRequest::new(format!("{name}/vectors"), ["a b", "c"]).dimensions(4);
        match ai.embed(request).await {
            Ok(response) => {
                let length = response.embeddings[1].len();
                // If the provider does not support dimensions, a warning reports it.
                assert!(length == 4 || !response.warnings.is_empty(), "{name}");
                assert_eq!(response.usage.unwrap().prompt_tokens, 3, "{name}");
                served += 1;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Unsupported, "{name}");
                assert!(!serves, "{name}");
            }
        }
    }
    assert!(served > 10);
}
