//! The cost of a response.

use agentloop::models::ModelData;
use agentloop::{CostSource, Usage};
use serde_json::json;

use crate::models::{noon, record, today};

fn model() -> ModelData {
    record(
        r#"{"kind":"chat","prices":[
            {"per_million":{"input":"3","output":"15","cache_read":"0.3","cache_write":"3.75","cache_write_1h":"6",
             "audio_input":"10","audio_output":"20","image_output":"30"},
             "per_call":{"web_search_requests":"0.01","web_fetch_requests":"0"}},
            {"above_prompt_tokens":200000,"per_million":{"input":"6","output":"22.5"}},
            {"service_tier":"batch","per_million":{"input":"1.5","output":"7.5"}}]}"#,
    )
}

fn usage(usage: serde_json::Value) -> Usage {
    serde_json::from_value(usage).unwrap()
}

fn cost(model: &ModelData, of: serde_json::Value, tier: Option<&str>) -> Option<String> {
    let cost = model.cost(&usage(of), today(), tier)?;
    assert_eq!(cost.source, CostSource::Prices);
    Some(cost.usd.to_string())
}

#[test]
fn each_kind_of_token_has_its_price() {
    for (of, expected) in [
        // A prompt above the size of the second line has the price of that line.
        (json!({"promptTokens": 1_000_000, "completionTokens": 0}), Some("6")),
        (json!({"promptTokens": 1_000, "completionTokens": 100}), Some("0.0045")),
        (json!({"promptTokens": 0, "completionTokens": 0}), Some("0")),
        (
            json!({"promptTokens": 1_000, "completionTokens": 0, "details": {"cachedTokens": 600}}),
            Some("0.00138"),
        ),
        (
            json!({"promptTokens": 1_000, "completionTokens": 0,
                   "details": {"cacheWriteTokens": 500, "cacheWriteHourTokens": 200}}),
            Some("0.003825"),
        ),
        (
            json!({"promptTokens": 1_000, "completionTokens": 10, "details": {"audioPromptTokens": 400,
                   "audioCompletionTokens": 4}}),
            Some("0.00597"),
        ),
        (
            json!({"promptTokens": 1, "completionTokens": 1_000,
                   "details": {"completionTokensByModality": {"IMAGE": 900, "TEXT": 100}}}),
            Some("0.028503"),
        ),
        (
            json!({"promptTokens": 1_000, "completionTokens": 0,
                   "details": {"serverToolRequests": {"web_search_requests": 3, "web_fetch_requests": 2}}}),
            Some("0.033"),
        ),
        // Thoughts without a price of their own cost as much as the response.
        (
            json!({"promptTokens": 0, "completionTokens": 100, "details": {"reasoningTokens": 90}}),
            Some("0.0015"),
        ),
    ] {
        assert_eq!(cost(&model(), of.clone(), None).as_deref(), expected, "{of}");
    }
}

#[test]
fn without_a_price_that_is_needed_there_is_no_cost() {
    for of in [
        json!({"promptTokens": 1_000}),
        json!({"completionTokens": 1_000}),
        json!({}),
        // The line for long prompts has no price for caches.
        json!({"promptTokens": 300_000, "completionTokens": 1, "details": {"cachedTokens": 1}}),
        json!({"promptTokens": 1, "completionTokens": 1, "details": {"serverToolRequests": {"dice": 1}}}),
        // Whether the cache held the audio is unknown.
        json!({"promptTokens": 10, "completionTokens": 1, "details": {"audioPromptTokens": 4, "cachedTokens": 4}}),
        // More of a kind than there is.
        json!({"promptTokens": 1, "completionTokens": 1, "details": {"cachedTokens": 2}}),
        json!({"promptTokens": 1, "completionTokens": 1, "details": {"audioCompletionTokens": 2}}),
    ] {
        assert_eq!(cost(&model(), of.clone(), None), None, "{of}");
    }
    let of = json!({"promptTokens": 1, "completionTokens": 1});
    assert_eq!(cost(&ModelData::default(), of.clone(), None), None);
    let half = record(r#"{"prices":[{"per_million":{"input":"1"}}]}"#);
    assert_eq!(cost(&half, of, None), None, "the answer's price is missing");
}

#[test]
fn a_tier_has_the_prices_that_are_listed_for_it() {
    let of = |prompt: u64| json!({"promptTokens": prompt, "completionTokens": 0});
    for (prompt, tier, expected) in [
        (1_000, None, Some("0.003")),
        (1_000, Some("default"), Some("0.003")),
        (1_000, Some("standard"), Some("0.003")),
        (1_000, Some("batch"), Some("0.0015")),
        (1_000, Some("flex"), None),
        (1_000, Some("auto"), None),
        (200_000, None, Some("0.6")),
        (200_001, None, Some("1.200006")),
        (200_000, Some("batch"), Some("0.3")),
        // The usual price of so long a prompt is another one, and the tier does not list it.
        (200_001, Some("batch"), None),
    ] {
        let found = cost(&model(), of(prompt), tier);
        assert_eq!(found.as_deref(), expected, "{prompt} {tier:?}");
    }
}

#[test]
fn a_price_holds_on_its_days() {
    let model = record(
        r#"{"prices":[{"until":"2026-12-01","per_million":{"input":"1","output":"1"}},
            {"from":"2026-12-01","until":"2027-01-01","per_million":{"input":"2","output":"2"}}]}"#,
    );
    let of = usage(json!({"promptTokens": 1_000_000, "completionTokens": 0}));
    let on = |days| model.cost(&of, noon(days), None).map(|cost| cost.usd.to_string());
    assert_eq!(on(20_787).as_deref(), Some("1"), "2026-11-30");
    assert_eq!(on(20_788).as_deref(), Some("2"), "2026-12-01");
    assert_eq!(on(20_819), None, "2027-01-01");
}

#[test]
fn a_price_holds_at_its_hours() {
    let model = record(
        r#"{"prices":[{"per_million":{"input":"2","output":"2"}},
            {"hours":["12345/22:00-00:00","67/00:00-00:00"],"per_million":{"input":"1","output":"1"}}]}"#,
    );
    let of = usage(json!({"promptTokens": 1_000_000, "completionTokens": 0}));
    // 2026-11-15 is a Sunday.
    for (hours_later, expected) in
        [(0, "1"), (11, "1"), (12, "2"), (33, "2"), (34, "1"), (35, "1"), (36, "2")]
    {
        let moment = today() + std::time::Duration::from_secs(hours_later * 3_600);
        let cost = model.cost(&of, moment, None).unwrap();
        assert_eq!(cost.usd.to_string(), expected, "{hours_later}");
    }
    for text in
        ["", "8/00:00-01:00", "1/01:00-01:00", "1/02:00-01:00", "/00:00-01:00", "1/24:00-00:00"]
    {
        assert!(text.parse::<agentloop::models::Hours>().is_err(), "{text}");
    }
}

#[test]
fn thoughts_requests_and_vectors_can_have_prices_of_their_own() {
    let deep = record(
        r#"{"prices":[{"per_million":{"input":"2","output":"8","reasoning":"3"},"per_request":"0.005"}]}"#,
    );
    let of = json!({"promptTokens": 1_000, "completionTokens": 1_000, "details": {"reasoningTokens": 600}});
    assert_eq!(cost(&deep, of, None).as_deref(), Some("0.012"));
    let vectors = record(r#"{"kind":"embedding","prices":[{"per_million":{"input":"0.02"}}]}"#);
    assert_eq!(cost(&vectors, json!({"promptTokens": 5}), None).as_deref(), Some("0.0000001"));
}

#[test]
fn nothing_is_rounded_before_the_end() {
    // A third of a millionth of a dollar for a million tokens: less than a pico-dollar a token.
    let model = record(r#"{"prices":[{"per_million":{"input":"0.000000333333","output":"0"}}]}"#);
    let of = |prompt: u64| json!({"promptTokens": prompt, "completionTokens": 0});
    assert_eq!(cost(&model, of(1), None).as_deref(), Some("0"));
    assert_eq!(cost(&model, of(3_000_000), None).as_deref(), Some("0.000000999999"));
}
