//! What calls of Bedrock cost: by the profile in the name, or by the region of the call.

use agentloop::middleware::Costs;
use agentloop::{AgentLoop, ChatRequest, EmbedRequest};
use serde_json::{Value, json};

use crate::support::canned;

fn client(region: &str, body: &Value, costs: Option<Costs>) -> AgentLoop {
    let builder = AgentLoop::builder()
        .env("AWS_REGION", region)
        .env("AWS_BEARER_TOKEN_BEDROCK", "k")
        .transport(canned::json(body.to_string()));
    match costs {
        Some(costs) => builder.layer(costs).build().unwrap(),
        None => builder.build().unwrap(),
    }
}

fn converse(usage: &Value) -> Value {
    json!({
        "output": { "message": { "role": "assistant", "content": [{ "text": "Hello" }] } },
        "stopReason": "end_turn", "usage": usage, "metrics": { "latencyMs": 1 },
    })
}

async fn cost(region: &str, model: &str, body: &Value) -> Option<String> {
    let costs = Costs::new();
    let ledger = costs.ledger();
    let request = || ChatRequest::new(format!("bedrock/{model}")).user("Hi");
    let plain = client(region, body, None).chat(request()).await.unwrap().cost;
    let counted = client(region, body, Some(costs)).chat(request()).await.unwrap().cost;
    assert_eq!(plain, counted, "the middleware computes the same cost");
    let total = plain.map(|cost| cost.usd);
    assert_eq!(ledger.total().usd, total.unwrap_or_default(), "{model}");
    total.map(|usd| usd.to_string())
}

/// The usage of recording bedrock-json-citations-pdf-in-d45f14bd.
fn recorded() -> Value {
    converse(&json!({
        "cacheReadInputTokenCount": 0, "cacheReadInputTokens": 0, "cacheWriteInputTokenCount": 0,
        "cacheWriteInputTokens": 0, "inputTokens": 672, "outputTokens": 39, "serverToolUsage": {},
        "totalTokens": 711,
    }))
}

#[tokio::test]
async fn a_recorded_usage_costs_what_its_profile_costs() {
    // 672 × 1.10 + 39 × 5.50 dollars per million, and 672 × 1 + 39 × 5 through the global profile.
    for (model, expected) in [
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some("0.0009537")),
        ("US.anthropic.claude-haiku-4-5-20251001-v1:0", Some("0.0009537")),
        ("jp.anthropic.claude-haiku-4-5-20251001-v1:0", Some("0.0009537")),
        ("global.anthropic.claude-haiku-4-5-20251001-v1:0", Some("0.000867")),
        (
            "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-haiku-4-5-20251001-v1:0",
            Some("0.0009537"),
        ),
        // Both sources list the price of the global profile for the name without one.
        ("anthropic.claude-haiku-4-5-20251001-v1:0", None),
        // No source has a price for this geography.
        ("in.anthropic.claude-haiku-4-5-20251001-v1:0", None),
        ("xx.anthropic.claude-haiku-4-5-20251001-v1:0", None),
        ("us.us.anthropic.claude-haiku-4-5-20251001-v1:0", None),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0:200k", None),
        ("us.anthropic.claude-haiku-4-5", None),
        ("us.anthropic.claude-unknown-v1:0", None),
        ("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3", None),
        ("arn:aws:bedrock:us-east-1:123456789012:provisioned-model/a1b2c3", None),
        ("arn:aws:bedrock:us-east-1:123456789012:imported-model/amazon.nova-lite-v1:0", None),
    ] {
        for region in ["us-east-1", "eu-central-1"] {
            assert_eq!(cost(region, model, &recorded()).await.as_deref(), expected, "{model}");
        }
    }
}

#[tokio::test]
async fn tokens_of_caches_and_tiers_have_their_prices() {
    let body = converse(&json!({
        "inputTokens": 10, "outputTokens": 100, "totalTokens": 1_110, "cacheReadInputTokens": 700,
        "cacheWriteInputTokens": 300,
        "cacheDetails": [{ "ttl": "1h", "inputTokens": 200 }, { "ttl": "5m", "inputTokens": 100 }],
    }));
    // 10 × 3.30, 700 × 0.33, 100 × 4.125, 200 × 6.60 and 100 × 16.50 dollars per million.
    let claude = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    assert_eq!(cost("eu-west-1", claude, &body).await.as_deref(), Some("0.0036465"));
    // Nova has no price of writing.
    assert_eq!(cost("us-east-1", "us.amazon.nova-pro-v1:0", &body).await, None);

    let mut body =
        converse(&json!({ "inputTokens": 1_000, "outputTokens": 100, "totalTokens": 1_100 }));
    for (tier, expected) in [
        (json!(null), Some("0.00112")),
        (json!({ "type": "default" }), Some("0.00112")),
        (json!({ "type": "flex" }), Some("0.00056")),
        (json!({ "type": "priority" }), Some("0.00196")),
        (json!({ "type": "reserved" }), None),
    ] {
        body["serviceTier"] = tier.clone();
        let found = cost("us-east-1", "us.amazon.nova-pro-v1:0", &body).await;
        assert_eq!(found.as_deref(), expected, "{tier}");
    }
    body["serviceTier"] = json!({ "type": "default" });
    body["performanceConfig"] = json!({ "latency": "standard" });
    let found = cost("us-east-1", "us.amazon.nova-pro-v1:0", &body).await;
    assert_eq!(found.as_deref(), Some("0.00112"));
    body["performanceConfig"] = json!({ "latency": "optimized" });
    assert_eq!(
        cost("us-east-1", "us.amazon.nova-pro-v1:0", &body).await,
        None,
        "its price is not known"
    );
}

#[tokio::test]
async fn a_name_without_a_profile_costs_what_its_region_costs() {
    let body =
        converse(&json!({ "inputTokens": 1_000, "outputTokens": 100, "totalTokens": 1_100 }));
    for (region, model, expected) in [
        ("us-east-1", "minimax.minimax-m2.5", Some("0.00042")),
        ("us-west-2", "minimax.minimax-m2.5", Some("0.00042")),
        ("eu-west-2", "minimax.minimax-m2.5", Some("0.000656")),
        ("ap-southeast-2", "minimax.minimax-m2.5", Some("0.000434")),
        ("us-west-1", "minimax.minimax-m2.5", None),
        ("ca-central-1", "minimax.minimax-m2.5", None),
        ("us-east-1", "amazon.nova-lite-v1:0", Some("0.000084")),
        ("us-gov-west-1", "amazon.nova-lite-v1:0", Some("0.0001008")),
        ("eu-central-1", "amazon.nova-lite-v1:0", None),
        // The geographies have different prices, so that of one is not certain.
        ("eu-central-1", "eu.amazon.nova-lite-v1:0", None),
        ("us-east-1", "us.amazon.nova-lite-v1:0", Some("0.000084")),
        (
            "eu-central-1",
            "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0",
            Some("0.000084"),
        ),
        ("us-east-1", "arn:aws:bedrock:eu-central-1::foundation-model/amazon.nova-lite-v1:0", None),
        ("us-east-1", "arn:aws:bedrock:::foundation-model/amazon.nova-lite-v1:0", None),
        ("us-east-1", "arn:aws:bedrock:us-east-1::foundation-model/", None),
    ] {
        let found = cost(region, model, &body).await;
        assert_eq!(found.as_deref(), expected, "{model} in {region}");
    }
}

#[tokio::test]
async fn a_base_url_of_the_request_decides_the_region() {
    let body =
        converse(&json!({ "inputTokens": 1_000, "outputTokens": 100, "totalTokens": 1_100 }));
    let costs = Costs::new();
    let ledger = costs.ledger();
    let ai = client("us-east-1", &body, Some(costs));
    for (url, expected) in [
        ("https://bedrock-runtime.eu-west-2.amazonaws.com", Some("0.000656")),
        ("https://bedrock.proxy.example.com", None),
        ("https://bedrock-runtime.us-east-1.amazonaws.com", Some("0.00042")),
    ] {
        let request = ChatRequest::new("bedrock/minimax.minimax-m2.5").user("Hi");
        let response = ai.chat(request.base_url("bedrock", url).key("bedrock", "k")).await.unwrap();
        let usd = response.cost.map(|cost| cost.usd.to_string());
        assert_eq!(usd.as_deref(), expected, "{url}");
    }
    assert_eq!(ledger.total().usd.to_string(), "0.001076");
}

#[tokio::test]
async fn embeddings_have_the_price_of_their_region() {
    let body = json!({ "embedding": [0.5, 0.5], "inputTextTokenCount": 1_000 });
    for (region, expected) in [("us-east-1", Some("0.00002")), ("eu-central-1", None)] {
        let request = EmbedRequest::new("bedrock/amazon.titan-embed-text-v2:0", ["Hi"]);
        let response = client(region, &body, None).embed(request).await.unwrap();
        let usd = response.cost.map(|cost| cost.usd.to_string());
        assert_eq!(usd.as_deref(), expected, "{region}");
    }
}
