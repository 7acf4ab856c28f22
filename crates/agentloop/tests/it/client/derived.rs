//! Clients that are derived from another one, and keys and base URLs of single requests.

use agentloop::middleware::{Cache, Fallback, Middleware, Next, Request, Response};
use agentloop::{BoxFuture, ChatRequest, EmbedRequest, ErrorKind, Provider, Result, inspect};

use crate::client::fake::{Fake, Reply, ask};

const OWN: &str = "sk-of-the-client";
const THEIRS: &str = "sk-of-a-customer";

fn lab() -> Provider {
    Provider::openai_compatible("lab", "https://lab.test/v1").key(OWN)
}

fn replies(count: usize) -> Fake {
    Fake::new((0..count).map(|number| Reply::text(&format!("reply {number}"))))
}

/// Returns the URL and the key of each request.
fn sent(fake: &Fake) -> Vec<(String, Option<String>)> {
    let requests = fake.requests();
    let key = |request: &http::Request<bytes::Bytes>| {
        let value = request.headers().get("authorization")?.to_str().unwrap();
        Some(value.trim_start_matches("Bearer ").to_owned())
    };
    requests.iter().map(|request| (request.uri().to_string(), key(request))).collect()
}

fn keys(fake: &Fake) -> Vec<String> {
    sent(fake).into_iter().map(|(_, key)| key.unwrap_or_default()).collect()
}

#[tokio::test]
async fn a_derived_client_shares_the_transport_and_not_the_key() {
    let fake = replies(4);
    let ai = fake.builder().provider(lab()).build().unwrap();
    let theirs = ai.with_key("lab", THEIRS).unwrap();
    ai.chat(ask()).await.unwrap();
    theirs.chat(ask()).await.unwrap();
    ai.chat(ask()).await.unwrap();
    theirs.clone().chat(ask()).await.unwrap();
    // One transport received all of them.
    assert_eq!(keys(&fake), [OWN, THEIRS, OWN, THEIRS]);
    assert!(!format!("{theirs:?}").contains(THEIRS));
}

#[test]
fn a_key_for_an_unknown_provider_is_an_error_that_lists_the_known_ones() {
    let fake = replies(0);
    let built = fake.builder().key("opnai", THEIRS).build().unwrap_err();
    let derived = fake.client().with_key("opnai", THEIRS).unwrap_err();
    for error in [built, derived] {
        assert_eq!(error.kind(), ErrorKind::UnknownProvider);
        let hint = error.hint().unwrap();
        assert!(hint.contains("did you mean `openai`") && hint.contains("lab"), "{hint}");
        assert!(!format!("{error:#?}").contains(THEIRS));
    }
}

#[tokio::test]
async fn the_key_of_the_builder_replaces_the_key_of_the_provider() {
    let fake = replies(1);
    let ai = fake.builder().key("lab", THEIRS).provider(lab()).build().unwrap();
    assert!(ai.check_key("lab").unwrap());
    ai.chat(ask()).await.unwrap();
    assert_eq!(keys(&fake), [THEIRS]);
}

#[tokio::test]
async fn an_empty_or_broken_key_fails_before_anything_is_sent() {
    let fake = replies(0);
    let ai = fake.builder().provider(lab()).build().unwrap();
    for key in ["", " ", "sk-a\nb", "sk-é"] {
        for error in [
            ai.with_key("lab", key).unwrap().chat(ask()).await.unwrap_err(),
            ai.chat(ask().key("lab", key)).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::MissingKey, "{key:?}");
        }
    }
}

/// Adds its name to the tags of a request.
struct Mark(&'static str);

impl Middleware for Mark {
    fn call(&self, mut request: Request, next: Next) -> BoxFuture<'_, Result<Response>> {
        let name = self.0;
        Box::pin(async move {
            let chat = request.chat_mut().unwrap();
            let user = chat.user_id.take().unwrap_or_default();
            chat.user_id = Some(format!("{user}{name}"));
            next.run(request).await
        })
    }
}

#[tokio::test]
async fn the_middleware_of_a_derived_client_is_the_outermost() {
    let fake = replies(3);
    let ai = fake.builder().layer(Mark("a")).build().unwrap();
    let derived = ai.with(Mark("b"));
    derived.with(Mark("c")).chat(ask()).await.unwrap();
    derived.chat(ask()).await.unwrap();
    ai.chat(ask()).await.unwrap();
    let users: Vec<_> = fake.bodies().iter().map(|body| body["user"].clone()).collect();
    assert_eq!(users, ["cba", "ba", "a"]);
}

#[tokio::test]
async fn a_cache_does_not_share_responses_between_keys_or_base_urls() {
    let fake = replies(5);
    let ai = fake.builder().provider(lab()).layer(Cache::new()).build().unwrap();
    let theirs = ai.with_key("lab", THEIRS).unwrap();
    let own = ai.chat(ask()).await.unwrap();
    assert!(ai.chat(ask()).await.unwrap().cached);
    let first = theirs.chat(ask()).await.unwrap();
    assert!(!first.cached && first.text() != own.text());
    assert!(theirs.chat(ask()).await.unwrap().cached);
    // The same key by another way is the same customer.
    assert!(ai.chat(ask().key("lab", THEIRS)).await.unwrap().cached);
    assert!(!ai.chat(ask().key("lab", "sk-of-another")).await.unwrap().cached);
    let elsewhere = || ask().base_url("lab", "https://lab.test/v2");
    assert!(!ai.chat(elsewhere()).await.unwrap().cached);
    assert!(ai.chat(elsewhere()).await.unwrap().cached);
    assert_eq!(fake.requests().len(), 4);
}

#[tokio::test]
async fn a_request_can_have_its_own_key_and_base_url() {
    let fake = replies(2);
    let ai = fake.builder().provider(lab()).build().unwrap();
    let request = ask().key("lab", THEIRS).base_url("lab", "https://proxy.test/x");
    let encoded = inspect::encode(&ai, &request, false).unwrap();
    assert_eq!(encoded.url, "https://proxy.test/x/chat/completions");
    assert_eq!(encoded.headers["authorization"], "Bearer ***");
    ai.chat(request).await.unwrap();
    ai.chat(ask()).await.unwrap();
    assert_eq!(
        sent(&fake),
        [
            ("https://proxy.test/x/chat/completions".to_owned(), Some(THEIRS.to_owned())),
            ("https://lab.test/v1/chat/completions".to_owned(), Some(OWN.to_owned())),
        ]
    );
}

#[tokio::test]
async fn the_key_of_the_client_is_never_sent_to_another_origin() {
    let fake = replies(0);
    let ai = fake.builder().provider(lab()).build().unwrap();
    let derived = ai.with_key("lab", THEIRS).unwrap();
    for url in [
        "https://evil.test/v1",
        "http://lab.test/v1",
        "https://lab.test:8443/v1",
        "https://lab.test@evil.test/v1",
        "https://lab.test.evil.test/v1",
    ] {
        for client in [&ai, &derived] {
            let error = client.chat(ask().base_url("lab", url)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::MissingKey, "{url}");
            assert!(!format!("{error:#?}").contains("sk-"), "{error:#?}");
            let texts = EmbedRequest::new("lab/m", "a").base_url("lab", url);
            assert_eq!(client.embed(texts).await.unwrap_err().kind(), ErrorKind::MissingKey);
        }
    }
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn the_same_origin_gets_the_key_of_the_client() {
    let fake = replies(2);
    let ai = fake.builder().provider(lab()).build().unwrap();
    for url in ["https://LAB.test:443/v9", "https://lab.test/v9/"] {
        ai.chat(ask().base_url("lab", url)).await.unwrap();
    }
    assert_eq!(keys(&fake), [OWN, OWN]);
}

#[tokio::test]
async fn secret_headers_of_the_provider_stay_at_its_origin() {
    let fake = replies(1);
    let row = lab().header("x-team-token", "hunter2").header("x-team", "a");
    let ai = fake.builder().provider(row).build().unwrap();
    let request = ask()
        .key("lab", THEIRS)
        .base_url("lab", "https://proxy.test")
        .header("x-proxy-token", "of the caller");
    ai.chat(request).await.unwrap();
    let requests = fake.requests();
    let headers = requests[0].headers();
    assert!(!headers.contains_key("x-team-token"));
    assert_eq!(
        (&headers["x-team"], &headers["x-proxy-token"]),
        (&"a".parse().unwrap(), &"of the caller".parse().unwrap())
    );
}

#[tokio::test]
async fn a_base_url_of_a_request_is_checked_and_its_variables_are_not_replaced() {
    let fake = replies(0);
    let ai = fake.builder().provider(lab()).env("LAB_SECRET", "hunter2").build().unwrap();
    for url in [
        "",
        "lab.test",
        "ftp://lab.test",
        "file:///etc/passwd",
        "https://",
        "https://a b",
        "${LAB_SECRET}",
        "https://${LAB_SECRET}/v1",
    ] {
        let request = ask().key("lab", THEIRS).base_url("lab", url);
        let error = ai.chat(request).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest, "{url}: {error}");
        assert!(!format!("{error:#?}").contains("hunter2"));
    }
    let hidden = ask().key("lab", THEIRS).base_url("lab", "ftp://u:hunter3@lab.test/?key=hunter4");
    let error = ai.chat(hidden.clone()).await.unwrap_err();
    for shown in
        [format!("{error:#?}"), format!("{hidden:?}"), serde_json::to_string(&hidden).unwrap()]
    {
        for secret in ["hunter3", "hunter4", THEIRS] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

#[tokio::test]
async fn a_provider_without_a_key_can_be_reached_anywhere() {
    let fake = replies(1);
    let ai = fake.client();
    ai.chat(ask().base_url("lab", "https://elsewhere.test")).await.unwrap();
    assert_eq!(sent(&fake), [("https://elsewhere.test/chat/completions".to_owned(), None)]);
}

#[tokio::test]
async fn the_key_of_a_request_does_not_follow_a_fallback_to_another_provider() {
    let refused = Reply::json(format!(r#"{{"error":{{"message":"bad {THEIRS}"}}}}"#)).status(500);
    let fake = Fake::new([refused, Reply::text("hi")]);
    let other = Provider::openai_compatible("other", "https://other.test/v1").key("sk-other");
    let fallback = Fallback::new(["other/m"]);
    let ai = fake.builder().provider(lab()).provider(other).layer(fallback).build().unwrap();
    let request = ask().key("lab", THEIRS).base_url("lab", "https://proxy.test");
    ai.chat(request).await.unwrap();
    assert_eq!(
        sent(&fake),
        [
            ("https://proxy.test/chat/completions".to_owned(), Some(THEIRS.to_owned())),
            ("https://other.test/v1/chat/completions".to_owned(), Some("sk-other".to_owned())),
        ]
    );
}

#[tokio::test]
async fn a_key_that_the_provider_repeats_is_hidden() {
    let body = format!(r#"{{"error":{{"message":"wrong key {THEIRS}"}}}}"#);
    let fake = Fake::new([Reply::json(body).status(401)]);
    let ai = fake.builder().provider(lab()).build().unwrap();
    let error = ai.chat(ask().key("lab", THEIRS)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Auth);
    assert!(!format!("{error:#?} {error}").contains(THEIRS), "{error:#?}");
}

#[test]
fn json_cannot_set_a_key_or_a_base_url() {
    for field in ["key", "base_url", "access", "keys"] {
        let text = format!(r#"{{"model":"lab/m","messages":[],"{field}":{{"lab":"sk-x"}}}}"#);
        let error = serde_json::from_str::<ChatRequest>(&text).unwrap_err();
        assert!(error.to_string().contains(field), "{error}");
        let text = format!(r#"{{"model":"lab/m","input":"a","{field}":{{"lab":"sk-x"}}}}"#);
        assert!(serde_json::from_str::<EmbedRequest>(&text).is_err(), "{field}");
    }
}

#[tokio::test]
async fn a_request_with_a_key_for_an_unknown_provider_fails() {
    let fake = replies(0);
    let error = fake.client().chat(ask().key("lba", THEIRS)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownProvider);
}
