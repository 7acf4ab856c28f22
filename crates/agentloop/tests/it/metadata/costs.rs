//! The cost of a response: reported by the provider, or from the price list.

use agentloop::{AgentLoop, ChatRequest, CostSource, EmbedRequest, Protocol, Provider, Usd};
use serde_json::{Value, json};

use super::{body_of, stream_of};
use crate::support::canned;

fn usd(text: &str) -> Usd {
    text.parse().unwrap()
}

fn chat(usage: &Value) -> Value {
    let message = json!({ "role": "assistant", "content": "hi" });
    let choice = json!({ "index": 0, "finish_reason": "stop", "message": message });
    json!({ "id": "c", "model": "m", "choices": [choice], "usage": usage })
}

#[test]
fn costs_in_ticks_are_read_in_chat_completions() {
    let usage = json!({ "prompt_tokens": 159, "completion_tokens": 9, "total_tokens": 313,
                        "completion_tokens_details": { "reasoning_tokens": 145 },
                        "cost_in_usd_ticks": 2_733_250 });
    let response = body_of("xai", Protocol::OpenAiChat, &chat(&usage));
    let cost = response.cost.unwrap();
    assert_eq!((cost.usd, cost.source), (usd("0.000273325"), CostSource::Provider));
    assert_eq!(response.usage.completion_tokens, Some(154));
}

#[test]
fn a_cost_that_cannot_be_one_is_ignored_with_a_warning() {
    for (field, cost) in [
        ("cost", json!(-5)),
        ("cost", json!("NaN")),
        ("cost", json!({ "total_cost": -0.1 })),
        ("cost_in_usd_ticks", json!(-1)),
    ] {
        let usage =
            json!({ "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, field: cost });
        let response = body_of("openrouter", Protocol::OpenAiChat, &chat(&usage));
        assert_eq!(response.cost, None, "{cost}");
        let warned =
            |text: &str| response.warnings.iter().any(|warning| warning.message.contains(text));
        assert!(warned("which was ignored"), "{cost}: {:?}", response.warnings);
    }
    let usage = json!({ "input_tokens": 1, "output_tokens": 1, "cost": -2 });
    let message = json!({ "type": "message", "id": "m", "role": "assistant", "model": "m", "content": [],
                          "stop_reason": "end_turn", "usage": usage });
    let response = body_of("openrouter", Protocol::Anthropic, &message);
    assert_eq!((response.cost, response.warnings.len()), (None, 1));
}

#[test]
fn counts_that_contradict_the_total_are_warned_about_once_per_stream() {
    let usage = json!({ "prompt_tokens": 21, "completion_tokens": 107, "total_tokens": 128,
                        "completion_tokens_details": { "reasoning_tokens": 118 } });
    let chunk = |reason: Value| {
        json!({ "id": "c", "model": "m", "usage": usage, "choices": [{ "index": 0, "finish_reason": reason,
                "delta": { "content": "a" } }] })
    };
    let chunks = [chunk(Value::Null), chunk(Value::Null), chunk(json!("stop"))];
    let response = stream_of("openrouter", Protocol::OpenAiChat, &chunks);
    assert_eq!(response.usage.total_tokens, Some(128));
    let odd: Vec<_> = response.warnings.iter().filter(|w| w.message.contains("118")).collect();
    assert_eq!(odd.len(), 1);
}

#[test]
fn the_tier_of_gemini_is_the_tier_of_the_price() {
    let body = |tier: Value| {
        let mut usage = json!({ "promptTokenCount": 1_000_000, "candidatesTokenCount": 0, "totalTokenCount": 1_000_000 });
        usage.as_object_mut().unwrap().extend(tier.as_object().unwrap().clone());
        let candidate =
            json!({ "content": { "parts": [{ "text": "hi" }] }, "finishReason": "STOP" });
        json!({ "candidates": [candidate], "usageMetadata": usage })
    };
    for (provider, words, tier) in [
        ("google", json!({ "serviceTier": "FLEX" }), Some("flex")),
        ("google", json!({ "serviceTier": "standard" }), Some("standard")),
        ("vertex", json!({ "trafficType": "ON_DEMAND_PRIORITY" }), Some("priority")),
        (
            "vertex",
            json!({ "trafficType": "PROVISIONED_THROUGHPUT" }),
            Some("provisioned_throughput"),
        ),
        ("vertex", json!({ "trafficType": "ON_DEMAND" }), None),
    ] {
        let response = body_of(provider, Protocol::Gemini, &body(words.clone()));
        let served = response.provider_metadata.get("serviceTier").and_then(Value::as_str);
        assert_eq!(served, tier, "{words}");
        assert_eq!(response.provider_metadata.get("trafficType"), words.get("trafficType"));
        assert_eq!(stream_of(provider, Protocol::Gemini, &[body(words)]), response);
    }
}

fn client(provider: Provider, body: &Value) -> AgentLoop {
    let provider = provider.key("k");
    AgentLoop::builder()
        .provider(provider)
        .transport(canned::json(body.to_string()))
        .build()
        .unwrap()
}

fn builtin(name: &str) -> Provider {
    Provider::builtin(name).unwrap()
}

#[tokio::test]
async fn a_response_carries_its_cost_without_any_middleware() {
    let usage = json!({ "prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100 });
    let ai = client(builtin("openai"), &chat(&usage));
    let request = || ChatRequest::new("openai/gpt-4o").user("hi");
    let response = ai.chat(request()).await.unwrap();
    let cost = response.cost.clone().unwrap();
    assert_eq!((cost.usd, cost.source), (usd("0.0035"), CostSource::Prices));
    let streamed = ai.stream(request()).await.unwrap().response().await.unwrap();
    assert_eq!(streamed.cost, Some(cost));
}

#[tokio::test]
async fn a_tier_without_a_known_price_has_no_cost() {
    let usage = |tier: &str| json!({ "promptTokenCount": 1_000, "candidatesTokenCount": 100, "totalTokenCount": 1_100, "serviceTier": tier });
    let candidate = json!({ "content": { "parts": [{ "text": "hi" }] }, "finishReason": "STOP" });
    let cost = async |tier: &str| {
        let body = json!({ "candidates": [candidate], "usageMetadata": usage(tier) });
        let ai = client(builtin("google"), &body);
        let request = ChatRequest::new("google/gemini-2.5-flash").user("hi");
        ai.chat(request).await.unwrap().cost.map(|cost| cost.usd)
    };
    assert_eq!(cost("standard").await, Some(usd("0.00055")));
    assert_eq!(cost("flex").await, Some(usd("0.000275")));
    assert_eq!(cost("priority").await, Some(usd("0.00099")));
    assert_eq!(cost("platinum").await, None);
}

#[tokio::test]
async fn embeddings_have_the_providers_cost_or_the_price_lists() {
    let body = |usage: Value| json!({ "model": "m", "usage": usage, "data": [{ "index": 0, "embedding": [0.5] }] });
    let named = body(json!({ "prompt_tokens": 8, "total_tokens": 8, "cost": 0.00025 }));
    let ai = client(builtin("openrouter"), &named);
    let response = ai.embed(EmbedRequest::new("openrouter/e", "hi")).await.unwrap();
    let cost = response.cost.unwrap();
    assert_eq!((cost.usd, cost.source), (usd("0.00025"), CostSource::Provider));

    let negative = body(json!({ "prompt_tokens": 8, "total_tokens": 8, "cost": -1 }));
    let ai = client(builtin("openrouter"), &negative);
    let response = ai.embed(EmbedRequest::new("openrouter/e", "hi")).await.unwrap();
    assert_eq!((response.cost, response.warnings.len()), (None, 1));

    let listed = body(json!({ "prompt_tokens": 1_000_000, "total_tokens": 1_000_000 }));
    let ai = client(builtin("openai"), &listed);
    let request = EmbedRequest::new("openai/text-embedding-3-small", "hi");
    let cost = ai.embed(request).await.unwrap().cost.unwrap();
    assert_eq!((cost.usd, cost.source), (usd("0.02"), CostSource::Prices));
}
