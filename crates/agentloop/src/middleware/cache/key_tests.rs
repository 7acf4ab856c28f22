//! Which requests share a key, and which do not.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::CacheKey;
use super::key::{NAMES_OF_CALLS, NOT_IN_THE_KEY, Route};
use crate::chat::{CacheMode, ChatRequest, EmbedInputType, EmbedRequest, Protocol};
use crate::provider::{AUTH_HEADERS, Param, Provider};
use crate::secret::Secret;
use crate::timeouts::Timeouts;

fn lab() -> Provider {
    Provider::openai_compatible("lab", "http://lab.test/v1")
}

fn route(provider: &Provider) -> Route<'_> {
    Route { namespace: "", provider, model: "m", base_url: &provider.base_url, key: None }
}

fn key(request: &ChatRequest) -> CacheKey {
    route(&lab()).chat(request).unwrap()
}

fn chat(value: Value) -> ChatRequest {
    serde_json::from_value(value).unwrap()
}

/// Returns a request with every field that JSON can express, none of them empty.
fn full() -> Value {
    json!({
        "model": "lab/m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}},
            ]},
            {"role": "tool", "tool_call_id": "c1", "content": "2"},
        ],
        "temperature": 0.5, "top_p": 0.9, "top_k": 4, "max_tokens": 100, "stop": ["x", "y"], "seed": 7, "n": 2,
        "frequency_penalty": 0.1, "presence_penalty": 0.2,
        "tools": [{"type": "function", "function": {
            "name": "f", "description": "d",
            "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}},
        }}],
        "tool_choice": "required", "parallel_tool_calls": true,
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "schema": {"type": "object"}}},
        "modalities": ["text", "audio"], "audio": {"voice": "v", "format": "wav"},
        "image": {"aspect_ratio": "16:9"}, "verbosity": "low", "tags": ["t"], "fallbacks": ["lab/other"],
        "reasoning_effort": "low", "thinking": {"enabled": true, "budget_tokens": 100},
        "logprobs": true, "top_logprobs": 2, "logit_bias": {"1": 1.5, "2": -3.0},
        "stream": true, "stream_options": {"include_usage": true},
        "service_tier": "flex", "prompt_cache_key": "k", "user": "u", "metadata": {"a": "1", "b": "2"},
        "extra_body": {"deep": {"a": [1, {"x": 1, "y": 2}], "b": null}}, "extra_headers": {"x-beta": "1"},
        "provider_options": {"lab": {"deep": {"a": [1]}}},
        "lenient": true, "strict": true, "output_strategy": "tool", "protocol": "openai_chat", "cache": "refresh",
        "include_raw": true,
    })
}

#[test]
fn the_full_request_has_every_field() {
    let written = serde_json::to_value(chat(full())).unwrap();
    assert_eq!(written.as_object().unwrap().len(), full().as_object().unwrap().len());
    // All fields of an empty request are empty, so each name is followed by one colon. `timeouts`, `media` and `access` have
    // no JSON.
    let empty = format!("{:?}", ChatRequest::default());
    assert_eq!(empty.matches(": ").count(), full().as_object().unwrap().len() + 3, "{empty}");
}

#[test]
fn every_field_is_part_of_the_key_but_the_ones_that_are_listed() {
    let whole = key(&chat(full()));
    for name in full().as_object().unwrap().keys() {
        let mut without = full();
        match name.as_str() {
            "model" => without["model"] = json!("lab/other"),
            "messages" => without["messages"] = json!([]),
            _ => drop(without.as_object_mut().unwrap().remove(name)),
        }
        // Headers are in the key by themselves.
        let same = NOT_IN_THE_KEY.contains(&name.as_str()) && name != "extra_headers";
        assert_eq!(key(&chat(without)) == whole, same, "{name}");
    }
}

/// Changes every leaf of the full request, one at a time.
#[test]
fn a_change_anywhere_is_another_key() {
    fn paths(value: &Value, at: String, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                fields.iter().for_each(|(name, value)| paths(value, format!("{at}/{name}"), found));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(i, v)| paths(v, format!("{at}/{i}"), found));
            }
            _ => found.push(at),
        }
    }
    let mut found = Vec::new();
    paths(&full(), String::new(), &mut found);
    let mut keys = HashMap::from([(key(&chat(full())), "nothing".to_owned())]);
    let mut changed = 0;
    for path in found {
        let name = path.split('/').nth(1).unwrap();
        if NOT_IN_THE_KEY.contains(&name) && name != "extra_headers" {
            continue;
        }
        let mut other = full();
        let leaf = other.pointer_mut(&path).unwrap();
        *leaf = match leaf {
            Value::String(text) => json!(format!("{text}!")),
            Value::Number(number) if number.is_f64() => json!(number.as_f64().unwrap() + 0.25),
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::Bool(yes) => json!(!*yes),
            _ => json!("something"),
        };
        // Words of a fixed vocabulary cannot just be lengthened.
        let Ok(other) = serde_json::from_value::<ChatRequest>(other) else { continue };
        changed += 1;
        let before = keys.insert(key(&other), path.clone());
        assert_eq!(before, None, "{path} changes nothing");
    }
    assert!(changed > 40, "{changed}");
}

/// A generator that needs no crate; the numbers are those of SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((x ^ (x >> 31)) % bound).unwrap()
    }

    /// Small values of every kind, so that different requests are as alike as can be.
    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 6 } else { 8 }) {
            0 => json!(null),
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(3)),
            3 => json!(self.below(3) as f64 / 2.0),
            4 | 5 => json!(["", "a", "b", "ab", "1", "null"][self.below(6)]),
            6 => (0..self.below(4)).map(|_| self.value(depth - 1)).collect(),
            _ => Value::Object(self.fields(depth - 1)),
        }
    }

    fn fields(&mut self, depth: u64) -> Map<String, Value> {
        let mut fields = Map::new();
        for _ in 0..self.below(4) {
            let name = ["a", "b", "ab", "c"][self.below(4)];
            fields.insert(name.to_owned(), self.value(depth));
        }
        fields
    }

    fn request(&mut self) -> ChatRequest {
        let mut request = ChatRequest::new("lab/m");
        for _ in 0..=self.below(3) {
            let text = ["a", "b", "ab", "a\nb"][self.below(4)];
            request = match self.below(3) {
                0 => request.user(text),
                1 => request.system(text),
                _ => request.assistant(text),
            };
        }
        request.extra_body = self.fields(3);
        request.metadata = (self.below(3) == 0).then(|| self.fields(1));
        request.temperature = [None, Some(0.0), Some(1.0)][self.below(3)];
        request.top_p = [None, Some(0.0), Some(1.0)][self.below(3)];
        request.seed = [None, Some(0), Some(1)][self.below(3)];
        request.user_id = [None, Some("a".to_owned())][self.below(2)].clone();
        request
    }
}

/// Returns the JSON with the fields of every object sorted, in another way than the key does it.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<&String, Value> =
                fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            sorted.into_iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[test]
fn a_million_pairs_of_different_requests_share_no_key_and_equal_ones_do() {
    let mut dice = Dice(1);
    let mut keys: HashMap<String, CacheKey> = HashMap::new();
    let mut repeated = 0;
    for _ in 0..4000 {
        let request = dice.request();
        let question = sorted(&serde_json::to_value(&request).unwrap()).to_string();
        let key = key(&request);
        if let Some(before) = keys.insert(question, key) {
            assert_eq!(before, key);
            repeated += 1;
        }
    }
    let distinct: HashSet<CacheKey> = keys.values().copied().collect();
    assert_eq!(distinct.len(), keys.len(), "two different requests share a key");
    assert!(keys.len() * (keys.len() - 1) / 2 > 1_000_000, "{} requests", keys.len());
    assert!(repeated > 10, "{repeated} equal requests");
}

/// Returns the JSON with the fields of every object in reverse order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .rev()
            .map(|(name, value)| (name.clone(), reversed(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(reversed).collect(),
        other => other.clone(),
    }
}

#[test]
fn equal_requests_in_another_order_share_a_key() {
    assert_ne!(full().to_string(), reversed(&full()).to_string());
    assert_eq!(key(&chat(full())), key(&chat(reversed(&full()))));
    let mut dice = Dice(2);
    for _ in 0..200 {
        let request = dice.request();
        let mut other = request.clone();
        other.extra_body = reversed(&Value::Object(other.extra_body)).as_object().unwrap().clone();
        assert_eq!(key(&request), key(&other));
    }
}

#[test]
fn settings_that_do_not_shape_the_response_do_not_change_the_key() {
    let plain = ChatRequest::new("lab/m").user("a");
    let mut other = plain.clone().protocol(Protocol::OpenAiChat).cache(CacheMode::Refresh);
    other.model = "an-alias".to_owned();
    other.timeouts = Some(Timeouts::default());
    other.stream = Some(true);
    for name in AUTH_HEADERS.iter().chain(&NAMES_OF_CALLS) {
        other = other.header(name.to_uppercase(), "x");
    }
    assert_eq!(key(&plain), key(&other));
    assert_eq!(key(&plain.clone().header("X-A", "1")), key(&plain.clone().header("x-a", "1")));
    assert_ne!(key(&plain.clone().header("x-a", "1")), key(&plain.header("x-a", "2")));
}

#[test]
fn another_destination_is_another_key() {
    let request = ChatRequest::new("lab/m").user("a");
    let rows = [
        lab(),
        lab().key_env("OTHER_KEY"),
        Provider::openai_compatible("other", "http://lab.test/v1"),
        lab().base_url("http://other.test/v1"),
        lab().header("x-beta", "1"),
        lab().strip([Param::Seed]),
        lab().default_field("seed", 1),
        lab().quirks(|quirks| {
            quirks.token_cap = crate::provider::quirks::TokenCap::MaxCompletionTokens;
        }),
        Provider { protocol: Protocol::Anthropic, ..lab() },
    ];
    let mut keys: Vec<CacheKey> =
        rows.iter().map(|row| route(row).chat(&request).unwrap()).collect();
    let lab = lab();
    keys.push(Route { model: "n", ..route(&lab) }.chat(&request).unwrap());
    keys.push(Route { namespace: "n", ..route(&lab) }.chat(&request).unwrap());
    keys.push(Route { namespace: "n", model: "", ..route(&lab) }.chat(&request).unwrap());
    let (one, other) = (Secret::new("sk-one"), Secret::new("sk-other"));
    keys.push(Route { key: Some(&one), ..route(&lab) }.chat(&request).unwrap());
    keys.push(Route { key: Some(&other), ..route(&lab) }.chat(&request).unwrap());
    keys.push(Route { base_url: "https://other.test", ..route(&lab) }.chat(&request).unwrap());
    // The API key is not part of the request.
    assert_eq!(keys[0], keys[1]);
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len() - 1);
}

#[test]
fn embeddings_have_keys_of_their_own() {
    let lab = lab();
    let key = |request: &EmbedRequest| route(&lab).embed(request).unwrap();
    let one = EmbedRequest::new("lab/m", "a");
    assert_eq!(key(&one), key(&EmbedRequest::new("lab/m", ["a"]).concurrency(2)));
    let mut with_user = one.clone();
    with_user.user_id = Some("u".to_owned());
    let mut with_extra = one.clone();
    with_extra.extra_body.insert("a".to_owned(), json!(1));
    let mut with_header = one.clone();
    with_header.extra_headers.insert("x-a".to_owned(), "1".to_owned());
    let others = [
        EmbedRequest::new("lab/m", ["a", ""]),
        EmbedRequest::new("lab/m", ["", "a"]),
        EmbedRequest::new("lab/m", "b"),
        one.clone().dimensions(2),
        one.clone().input_type(EmbedInputType::Query),
        one.clone().input_type(EmbedInputType::Document),
        with_user,
        with_extra,
        with_header,
        one,
    ];
    let keys: HashSet<CacheKey> = others.iter().map(key).collect();
    assert_eq!(keys.len(), others.len());
}
