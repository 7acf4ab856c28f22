//! The response of a cache hit.

use agentloop::middleware::Cache;
use agentloop::{
    ChatRequest, ChatResponse, ChatStreamEvent, Cost, CostSource, EmbedRequest, Fold, Protocol,
};
use agentloop_sim::Simulator;

use crate::cache::support::{Kind, client};

/// The response as a cache gives it.
fn stored(mut response: ChatResponse) -> ChatResponse {
    assert!(!response.cached);
    response.cached = true;
    response.cost = Some(Cost::of_cached());
    response
}

#[tokio::test(start_paused = true)]
async fn an_equal_request_is_sent_once() {
    for kind in Kind::ALL {
        let simulator = Simulator::new();
        let ai = client(&simulator, Cache::new());
        let mut cached = Vec::new();
        for text in ["a", "a", "b", "a"] {
            cached.push(kind.ask(&ai, "sim/echo", text).await.unwrap());
        }
        assert_eq!(cached, [false, true, false, true], "{kind:?}");
        assert_eq!(simulator.ledger().calls, 2, "{kind:?}");
    }
}

/// Every kind of part, several choices, and warnings.
#[tokio::test(start_paused = true)]
async fn a_stored_response_is_the_same_complete_and_streamed() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let models = ["echo", "think", "tools", "cite", "json", "long-40", "image", "audio"];
    for (at, model) in models.iter().enumerate() {
        let request = ChatRequest::new(format!("sim/{model}")).user("Hello").n(2);
        let first = if at % 2 == 0 {
            ai.chat(request.clone()).await.unwrap()
        } else {
            ai.stream(request.clone()).await.unwrap().response().await.unwrap()
        };
        let expected = stored(first);
        assert_eq!(ai.chat(request.clone()).await.unwrap(), expected, "{model}");

        let mut stream = ai.stream(request).await.unwrap();
        let (mut fold, mut events) = (Fold::new(), Vec::new());
        while let Some(event) = stream.next().await {
            let event = event.unwrap();
            fold.push(&event).unwrap();
            events.push(event);
        }
        assert!(
            matches!(&events[0], ChatStreamEvent::MessageStart { cached: true, .. }),
            "{model}: {:?}",
            events[0]
        );
        assert!(matches!(events.last(), Some(ChatStreamEvent::MessageDone { .. })));
        assert!(events.iter().any(|event| matches!(event, ChatStreamEvent::ContentDelta { .. })));
        assert_eq!(fold.finish().unwrap(), expected, "{model}");
    }
    assert_eq!(simulator.ledger().calls, models.len() as u64);
}

#[tokio::test(start_paused = true)]
async fn a_stored_response_is_marked_costs_nothing_and_keeps_its_usage() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let request = ChatRequest::new("sim/echo").user("Hello");
    let first = ai.chat(request.clone()).await.unwrap();
    let hit = ai.chat(request).await.unwrap();
    let cost = hit.cost.clone().unwrap();
    assert_eq!((cost.usd.picos(), cost.source), (0, CostSource::Cache));
    assert_eq!(hit.usage, first.usage);
    let json = serde_json::to_value(&hit).unwrap();
    assert_eq!(json["cached"], true);
    assert_eq!(json["cost"], serde_json::json!({"usd": "0", "source": "cache"}));
    assert_eq!(serde_json::to_value(&first).unwrap().get("cached"), None);
}

#[tokio::test(start_paused = true)]
async fn stored_vectors_are_the_same() {
    let simulator = Simulator::new();
    let ai = client(&simulator, Cache::new());
    let request = EmbedRequest::new("sim/vectors", ["one", "two", ""]).dimensions(33);
    let mut first = ai.embed(request.clone()).await.unwrap();
    first.cached = true;
    assert_eq!(ai.embed(request).await.unwrap(), first);
}

#[tokio::test(start_paused = true)]
async fn an_alias_shares_responses_and_another_protocol_does_not() {
    let simulator = Simulator::new();
    let cache = Cache::new();
    let ai = crate::cache::support::builder(&simulator, cache)
        .provider(simulator.provider_named("claude", Protocol::Anthropic))
        .provider(simulator.provider_named("copy", Protocol::OpenAiChat))
        .alias("mine", "sim/echo")
        .default_provider("sim")
        .build()
        .unwrap();
    let mut cached = Vec::new();
    for model in ["mine", "sim/echo", "echo", "copy/echo", "claude/echo", "sim/think"] {
        let request = ChatRequest::new(model).user("a").max_tokens(50);
        cached.push(ai.chat(request).await.unwrap().cached);
    }
    assert_eq!(cached, [false, true, true, false, false, false]);
}
