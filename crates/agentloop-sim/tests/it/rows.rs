//! Every row of the provider table, answered by the simulator.

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
async fn every_row_answers_whole_and_streamed_alike() {
    for provider in Provider::all() {
        let name = provider.name.clone();
        let simulator = Simulator::new();
        let ai = AgentLoop::builder().provider(simulator.row(provider)).build().unwrap();
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
                let stream = streamed(&ai, request.clone()).await.unwrap();
                assert_eq!(whole, stream, "{request:?}");
                assert_eq!(whole.provider, name);
                used += whole.usage.completion_tokens.unwrap() * 2;
            }
        }
        assert_eq!(used, simulator.ledger().completion_tokens, "{name}");
    }
}

#[tokio::test]
async fn every_row_calls_a_tool_and_answers_from_its_result() {
    let mut called = 0;
    for provider in Provider::all() {
        let name = provider.name.clone();
        let ai = AgentLoop::builder().provider(agentloop_sim::row(provider)).build().unwrap();
        let request = ChatRequest::new(format!("{name}/echo")).user("Rain?").tool(tool("weather"));
        let answer = ai.chat(request.clone()).await.unwrap();
        let Some(call) = answer.tool_calls().next() else {
            // A host that takes no tools, and a request that says so.
            assert!(!answer.warnings.is_empty(), "{name}");
            continue;
        };
        let id = call.id.clone();
        called += 1;
        let request = request.message(answer.into_message()).message(ChatMessage::tool(id, "yes"));
        let answer = ai.chat(request).await.unwrap();
        assert_eq!(answer.text(), "weather says: yes", "{name}");
    }
    assert!(called > 15);
}

#[tokio::test]
async fn embeddings_are_vectors_of_the_asked_length_and_the_same_each_time() {
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
async fn every_protocol_is_spoken() {
    for protocol in Protocol::ALL {
        let provider = agentloop_sim::provider_named("other", *protocol);
        let ai = AgentLoop::builder().provider(provider).build().unwrap();
        let request = ChatRequest::new("other/echo").user("Hi");
        let answer = ai.chat(request.clone()).await.unwrap();
        assert_eq!(answer, streamed(&ai, request).await.unwrap(), "{protocol:?}");
        assert_eq!(answer.provider, "other");
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
async fn every_row_that_serves_vectors_gets_one_for_each_text() {
    let mut served = 0;
    for provider in Provider::all() {
        let name = provider.name.clone();
        let serves = provider.serves.embeddings;
        let ai = AgentLoop::builder().provider(agentloop_sim::row(provider)).build().unwrap();
        let request = EmbedRequest::new(format!("{name}/vectors"), ["a b", "c"]).dimensions(4);
        match ai.embed(request).await {
            Ok(response) => {
                let length = response.embeddings[1].len();
                // A host that takes no length says so.
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
