//! The status, the headers and the body as the provider sent them, if they are requested.

use agentloop::limits::MAX_RAW_BYTES;
use agentloop::middleware::Cache;
use agentloop::{
    AgentLoop, ChatRequest, ChatResponse, ChatStreamEvent, EmbedRequest, EmbedResponse, Fold,
    Provider,
};
use serde_json::{Value, json};

use crate::client::fake::{Fake, Reply, ask};

const KEY: &str = "sk-lab-0123456789abcdef";
const CHUNK: &str = r#"{"id":"1","model":"m","choices":[{"index":0,"delta":{"content":"Hi é"},"finish_reason":"stop"}]}"#;

/// A reply with headers as providers send them.
fn with_headers(mut reply: Reply) -> Reply {
    reply.headers.extend([
        ("x-ratelimit-remaining-tokens", "149984"),
        ("openai-processing-ms", "132"),
        ("set-cookie", "__cf_bm=abc; path=/"),
        ("x-you-sent", KEY),
    ]);
    reply
}

fn client(fake: &Fake) -> AgentLoop {
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1").key(KEY);
    fake.builder().provider(lab).build().unwrap()
}

fn stream_reply(pieces: &[&str]) -> Reply {
    with_headers(Reply::sse(pieces))
}

async fn events(ai: &AgentLoop, request: ChatRequest) -> Vec<ChatStreamEvent> {
    let mut stream = ai.stream(request).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event.unwrap());
    }
    events
}

fn assert_headers(raw: &agentloop::RawResponse) {
    assert_eq!(raw.status, 200);
    assert_eq!(raw.header("x-ratelimit-remaining-tokens"), Some("149984"));
    assert_eq!(raw.header("OpenAI-Processing-Ms"), Some("132"));
    assert_eq!(raw.header("set-cookie"), Some("***"));
    assert_eq!(raw.header("x-you-sent"), Some("***"));
}

#[tokio::test]
async fn a_response_has_the_raw_one_if_it_was_requested() {
    let reply = with_headers(Reply::text("Hi"));
    let body = reply.pieces[0].1.clone();
    let fake = Fake::new([reply.clone(), reply]);
    let ai = client(&fake);
    let response = ai.chat(ask().include_raw()).await.unwrap();
    let raw = response.raw.as_deref().unwrap();
    assert_headers(raw);
    assert_eq!(raw.body, body);
    let plain = ai.chat(ask()).await.unwrap();
    assert_eq!(plain.raw, None);
    let mut without = response.clone();
    without.raw = None;
    assert_eq!(without, plain);
    // It is never sent.
    assert_eq!(fake.bodies()[0], fake.bodies()[1]);
    let json = serde_json::to_value(&response).unwrap();
    assert_eq!(json["raw"]["status"], 200);
    assert_eq!(serde_json::from_value::<ChatResponse>(json).unwrap(), response);
    assert!(serde_json::to_value(&plain).unwrap().get("raw").is_none());
}

#[tokio::test]
async fn a_stream_ends_with_its_raw_text() {
    let text = format!(": comment\n\ndata: {CHUNK}\n\ndata: [DONE]\n\n");
    let (first, second) = text.split_at(40);
    let fake = Fake::new([stream_reply(&[first, second]), stream_reply(&[&text])]);
    let ai = client(&fake);
    let events = events(&ai, ask().include_raw()).await;
    let [.., ChatStreamEvent::Raw { raw }, ChatStreamEvent::MessageDone { response }] = &events[..]
    else {
        panic!("{events:?}");
    };
    assert_headers(raw);
    assert_eq!(raw.body, text);
    assert_eq!(response.raw.as_ref(), Some(raw));
    let mut fold = Fold::new();
    events.iter().for_each(|event| fold.push(event).unwrap());
    assert_eq!(fold.finish().unwrap(), **response);
    assert_eq!(response.unfold().last(), events.last());
    let lines: Vec<Value> = events.iter().map(|e| serde_json::to_value(e).unwrap()).collect();
    assert_eq!(lines[lines.len() - 2]["type"], "raw");
    assert_eq!(serde_json::from_value::<Vec<ChatStreamEvent>>(json!(lines)).unwrap(), events);

    let plain = self::events(&ai, ask()).await;
    assert!(!plain.iter().any(|event| matches!(event, ChatStreamEvent::Raw { .. })));
    assert_eq!(plain.len() + 1, events.len());
}

#[tokio::test]
async fn a_complete_body_for_a_stream_has_the_same_raw_response() {
    let fake = Fake::new([with_headers(Reply::text("Hi")), with_headers(Reply::text("Hi"))]);
    let ai = client(&fake);
    let whole = ai.chat(ask().include_raw()).await.unwrap();
    let streamed = ai.stream(ask().include_raw()).await.unwrap().response().await.unwrap();
    assert!(whole.raw.is_some());
    assert_eq!(whole.raw, streamed.raw);
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_masked_in_the_body() {
    let fake = Fake::new([Reply::text(&format!("your key is {KEY}"))]);
    let response = client(&fake).chat(ask().include_raw()).await.unwrap();
    let body = response.raw.unwrap().body;
    assert!(body.contains("your key is ***\"") && !body.contains(KEY), "{body}");
}

#[tokio::test]
async fn a_long_stream_is_cut_with_a_warning_and_read_to_its_end() {
    let comment = format!(": {}\n\n", "x".repeat(1 << 20));
    let end = format!("data: {CHUNK}\n\ndata: [DONE]\n\n");
    let mut pieces = vec![comment.as_str(); 20];
    pieces.push(&end);
    let fake = Fake::new([Reply::sse(&pieces)]);
    let events = events(&client(&fake), ask().include_raw()).await;
    let Some(ChatStreamEvent::MessageDone { response }) = events.last() else {
        panic!("{} events", events.len());
    };
    assert_eq!(response.text(), "Hi é");
    let raw = response.raw.as_ref().unwrap();
    assert!(raw.body.len() <= MAX_RAW_BYTES && raw.body.len() > MAX_RAW_BYTES - 1024);
    let cut: Vec<_> = response.warnings.iter().filter(|w| w.message.contains("was cut")).collect();
    assert_eq!(cut.len(), 1);
    assert_eq!(cut[0].subject.as_deref(), Some("include_raw"));
}

#[tokio::test]
async fn embeddings_have_one_raw_response_for_each_call_in_order() {
    let reply = |numbers: &[f32]| {
        let data: Vec<Value> = numbers.iter().map(|n| json!({ "embedding": [n] })).collect();
        with_headers(Reply::json(json!({ "model": "e", "data": data }).to_string()))
    };
    let replies = || [reply(&[1.0, 2.0]), reply(&[3.0])];
    let fake = Fake::new(replies().into_iter().chain(replies()));
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1")
        .key(KEY)
        .quirks(|quirks| quirks.embeddings.batch = Some(2));
    let ai = fake.builder().provider(lab).build().unwrap();
    let request = || EmbedRequest::new("lab/e", ["a", "b", "c"]);
    let response = ai.embed(request().include_raw()).await.unwrap();
    let bodies: Vec<&str> = response.raw.iter().map(|raw| raw.body.as_str()).collect();
    let sent: Vec<String> = replies().map(|reply| reply.pieces[0].1.clone()).into();
    assert_eq!(bodies, sent);
    response.raw.iter().for_each(assert_headers);
    let json = serde_json::to_value(&response).unwrap();
    assert_eq!(serde_json::from_value::<EmbedResponse>(json).unwrap(), response);
    assert_eq!(ai.embed(request()).await.unwrap().raw, []);
    assert_eq!(fake.bodies()[0], fake.bodies()[2]);
}

#[tokio::test]
async fn a_cached_response_is_shared_with_those_who_did_not_ask_and_has_no_raw_one() {
    let vectors = Reply::json(r#"{"model":"e","data":[{"embedding":[1.0]}]}"#);
    let fake = Fake::new([Reply::text("Hi"), vectors]);
    let ai = fake.builder().layer(Cache::new()).build().unwrap();
    assert!(ai.chat(ask().include_raw()).await.unwrap().raw.is_some());
    for request in [ask(), ask().include_raw()] {
        let hit = ai.chat(request).await.unwrap();
        assert_eq!((hit.cached, hit.raw), (true, None));
    }
    let request = || EmbedRequest::new("lab/e", "a");
    assert_eq!(ai.embed(request().include_raw()).await.unwrap().raw.len(), 1);
    let hit = ai.embed(request()).await.unwrap();
    assert_eq!((hit.cached, hit.raw), (true, Vec::new()));
}
