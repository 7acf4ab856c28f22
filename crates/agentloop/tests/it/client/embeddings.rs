//! Embeddings: in order, split at the provider's limit, usage summed or absent.

use std::time::Duration;

use agentloop::{EmbedInputType, EmbedRequest, EmbedResponse, EmbedUsage, ErrorKind, Provider};
use serde_json::{Value, json};

use crate::client::fake::{Fake, Reply};

fn vectors(numbers: &[(usize, f32)], tokens: Option<u64>) -> Reply {
    let data: Vec<Value> = numbers
        .iter()
        .map(|(index, number)| json!({"index": index, "embedding": [number]}))
        .collect();
    let mut body = json!({"model": "e", "data": data});
    if let Some(tokens) = tokens {
        body["usage"] = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    }
    Reply::json(body.to_string())
}

fn batched(fake: &Fake) -> agentloop::AgentLoop {
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1")
        .quirks(|quirks| quirks.embeddings.batch = Some(2));
    fake.builder().provider(lab).build().unwrap()
}

#[tokio::test]
async fn texts_are_split_at_the_limit_and_vectors_are_in_order() {
    let fake = Fake::new([
        vectors(&[(1, 2.0), (0, 1.0)], Some(5)),
        vectors(&[(0, 3.0), (1, 4.0)], Some(6)),
        vectors(&[(0, 5.0)], Some(1)),
    ]);
    let request = EmbedRequest::new("lab/e", ["a", "b", "c", "d", "e"]);
    let response = batched(&fake).embed(request).await.unwrap();
    assert_eq!(response.embeddings, [[1.0], [2.0], [3.0], [4.0], [5.0]]);
    assert_eq!(response.usage, Some(EmbedUsage::new(12, 12)));
    let sent: Vec<Value> = fake.bodies().iter().map(|body| body["input"].clone()).collect();
    assert_eq!(sent, [json!(["a", "b"]), json!(["c", "d"]), json!(["e"])]);
}

#[tokio::test]
async fn a_sum_of_which_a_part_is_unknown_is_absent() {
    let fake = Fake::new([vectors(&[(0, 1.0), (1, 2.0)], Some(5)), vectors(&[(0, 3.0)], None)]);
    let response = batched(&fake).embed(EmbedRequest::new("lab/e", ["a", "b", "c"])).await.unwrap();
    assert_eq!(response.usage, None);
}

#[tokio::test]
async fn base64_is_decoded_and_a_missing_vector_is_an_error() {
    let fake = Fake::new([
        Reply::json(r#"{"data":[{"embedding":"AACAPwAAAEA="}]}"#),
        vectors(&[(0, 1.0)], None),
        Reply::json(r#"{"data":[{"embedding":"AACAPwA="}]}"#),
        Reply::json(r#"{"error":{"message":"no","code":"insufficient_quota"}}"#),
    ]);
    let ai = fake.client();
    let response = ai.embed(EmbedRequest::new("lab/e", "a")).await.unwrap();
    assert_eq!(response.embeddings, [[1.0, 2.0]]);
    let error = ai.embed(EmbedRequest::new("lab/e", ["a", "b"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let error = ai.embed(EmbedRequest::new("lab/e", "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    let error = ai.embed(EmbedRequest::new("lab/e", "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Quota);
}

#[tokio::test]
async fn the_length_has_the_provider_s_name_or_a_warning() {
    for (provider, name) in
        [("openai", Some("dimensions")), ("mistral", Some("output_dimension")), ("together", None)]
    {
        let fake = Fake::new([vectors(&[(0, 1.0)], None)]);
        let ai = fake
            .builder()
            .env("OPENAI_API_KEY", "k")
            .env("MISTRAL_API_KEY", "k")
            .env("TOGETHER_API_KEY", "k")
            .build()
            .unwrap();
        let request = EmbedRequest::new(format!("{provider}/e"), "a").dimensions(64);
        let response = ai.embed(request).await.unwrap();
        match name {
            Some(name) => assert_eq!(fake.bodies()[0][name], 64),
            None => assert_eq!(response.warnings[0].subject.as_deref(), Some("dimensions")),
        }
    }
}

#[tokio::test]
async fn a_provider_without_embeddings_is_an_error_before_anything_is_sent() {
    let fake = Fake::new([]);
    let ai = fake.builder().env("DEEPSEEK_API_KEY", "k").build().unwrap();
    let error = ai.embed(EmbedRequest::new("deepseek/e", "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let hint = error.hint().unwrap();
    assert!(
        hint.contains("openai") && hint.contains("lab") && !hint.contains("deepseek"),
        "{hint}"
    );
    let error = ai.embed(EmbedRequest::new("lab/e", Vec::<String>::new())).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidRequest);
}

/// Eight responses of one vector each, each after a second.
fn slow() -> Vec<Reply> {
    let reply = |number: u8| {
        let mut reply = vectors(&[(0, number.into())], Some(1));
        reply.delay = Duration::from_secs(1);
        reply
    };
    (0..8).map(reply).collect()
}

fn one_by_one(fake: &Fake) -> agentloop::AgentLoop {
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1")
        .quirks(|quirks| quirks.embeddings.batch = Some(1));
    fake.builder().provider(lab).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_few_calls_are_under_way_at_once_and_the_order_is_kept() {
    for (concurrency, seconds) in [(None, 2), (Some(1), 8), (Some(3), 3), (Some(99), 1)] {
        let fake = Fake::new(slow());
        let mut request = EmbedRequest::new("lab/e", ["a", "b", "c", "d", "e", "f", "g", "h"]);
        request.concurrency = concurrency;
        let began = tokio::time::Instant::now();
        let response = one_by_one(&fake).embed(request).await.unwrap();
        assert_eq!(began.elapsed().as_secs(), seconds, "{concurrency:?}");
        let numbers: Vec<f32> = response.into_iter().map(|vector| vector[0]).collect();
        assert_eq!(numbers, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_error_ends_the_call_and_names_its_texts() {
    let mut replies = slow();
    replies[2] = Reply::json(r#"{"error":{"message":"too long"}}"#).status(400);
    let fake = Fake::new(replies);
    let request = EmbedRequest::new("lab/e", ["a", "b", "c", "d", "e", "f", "g", "h"]);
    let began = tokio::time::Instant::now();
    let error = one_by_one(&fake).embed(request).await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(400)));
    assert_eq!(error.message(), "input[2..3]: too long");
    assert_eq!((error.provider(), error.model()), (Some("lab"), Some("e")));
    // The others are not waited for, and no more are begun.
    assert_eq!((began.elapsed().as_secs(), fake.requests().len()), (0, 3));
}

#[tokio::test]
async fn a_change_is_one_warning_for_all_calls() {
    let fake = Fake::new([vectors(&[(0, 1.0), (1, 2.0)], None), vectors(&[(0, 3.0)], None)]);
    let request = EmbedRequest::new("lab/e", ["a", "b", "c"]).input_type(EmbedInputType::Query);
    let response = batched(&fake).embed(request).await.unwrap();
    assert_eq!(response.warnings.len(), 1, "{:?}", response.warnings);
    assert_eq!((response.model.as_str(), response.first()), ("e", Some([1.0].as_slice())));
    let json = serde_json::to_string(&response).unwrap();
    assert_eq!(serde_json::from_str::<EmbedResponse>(&json).unwrap(), response);
}

#[tokio::test]
async fn two_vectors_of_one_index_are_an_error() {
    let fake = Fake::new([vectors(&[(0, 1.0), (0, 2.0)], None)]);
    let error = fake.client().embed(EmbedRequest::new("lab/e", ["a", "b"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    assert!(error.message().contains("index") && error.raw().is_some(), "{error:?}");
}

#[tokio::test]
async fn vectors_of_different_lengths_are_an_error() {
    let body = r#"{"data":[{"index":0,"embedding":[1,2]},{"index":1,"embedding":[1]}]}"#;
    let fake = Fake::new([Reply::json(body)]);
    let error = fake.client().embed(EmbedRequest::new("lab/e", ["a", "b"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.message().contains("different lengths"), "{error}");
    // Also where they come from different calls.
    let other = Reply::json(r#"{"data":[{"index":0,"embedding":[1,2]}]}"#);
    let fake = Fake::new([vectors(&[(0, 1.0), (1, 2.0)], None), other]);
    let error =
        batched(&fake).embed(EmbedRequest::new("lab/e", ["a", "b", "c"])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
    assert!(error.message().contains("embeddings[2]"), "{error}");
}
