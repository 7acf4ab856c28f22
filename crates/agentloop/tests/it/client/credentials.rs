//! Credentials: what authorizes calls that have no key.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use agentloop::credential::{
    AwsSettings, Credential, CredentialSource, EntraSettings, Environment, GoogleSettings, Refused,
    Token, TokenCredential,
};
use agentloop::middleware::Retry;
use agentloop::transport::{Body, SendOptions, Transport};
use agentloop::{
    AgentLoop, BoxFuture, ChatRequest, Config, EmbedRequest, Error, ErrorKind, Provider, Result,
    inspect,
};
use bytes::Bytes;
use http::{HeaderValue, Request, Response};

use crate::client::fake::{Fake, Reply, ask};

const URL: &str = "https://lab.test/v1";

/// Returns a credential whose tokens are numbered, and the number of them.
fn numbered() -> (TokenCredential, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let credential = TokenCredential::new(move || {
        let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
        async move {
            let token = Token::new(format!("token-{number}-secret"));
            Ok(token.expires(SystemTime::now() + Duration::from_secs(3600)))
        }
    });
    (credential, count)
}

fn lab(credential: impl Credential + 'static) -> Provider {
    Provider::openai_compatible("lab", URL).credential(credential)
}

fn tokens(fake: &Fake) -> Vec<String> {
    let requests = fake.requests();
    let header = |request: &Request<Bytes>| {
        let value = request.headers().get("authorization");
        value.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
    };
    requests.iter().map(header).collect()
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_call_is_authorized_and_the_token_is_obtained_once() {
    let (credential, count) = numbered();
    let done = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let vectors = r#"{"data":[{"index":0,"embedding":[0.5]}]}"#;
    let models = r#"{"data":[{"id":"m"}]}"#;
    let fake = Fake::new([
        Reply::text("hi"),
        Reply::sse(&[done]),
        Reply::json(vectors),
        Reply::json(models),
    ]);
    let ai = fake.builder().provider(lab(credential)).build().unwrap();
    ai.chat(ask()).await.unwrap();
    ai.stream(ask()).await.unwrap().response().await.unwrap();
    ai.embed(EmbedRequest::new("lab/m", ["a"])).await.unwrap();
    ai.models("lab").await.unwrap();
    assert_eq!(tokens(&fake), ["Bearer token-1-secret"; 4]);
    assert!(fake.requests()[0].headers()["authorization"].is_sensitive());
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn the_models_of_bedrock_are_listed_at_another_host_with_a_signature_for_it() {
    let fake = Fake::new([
        Reply::json(r#"{"modelSummaries":[{"modelId":"amazon.nova-lite-v1:0"}]}"#),
        Reply::json(
            r#"{"inferenceProfileSummaries":[{"inferenceProfileId":"us.amazon.nova-lite-v1:0"}]}"#,
        ),
    ]);
    let ai = fake
        .builder()
        .env("AWS_REGION", "us-east-1")
        .env("AWS_BEARER_TOKEN_BEDROCK", "")
        .env("AWS_ACCESS_KEY_ID", "AKEXAMPLE")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .build()
        .unwrap();
    let models = ai.models("bedrock").await.unwrap();
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["amazon.nova-lite-v1:0", "us.amazon.nova-lite-v1:0"]);
    let urls: Vec<String> =
        fake.requests().iter().map(|request| request.uri().to_string()).collect();
    let host = "https://bedrock.us-east-1.amazonaws.com";
    assert_eq!(
        urls,
        [format!("{host}/foundation-models"), format!("{host}/inference-profiles?maxResults=1000")]
    );
    for value in tokens(&fake) {
        assert!(value.contains("/us-east-1/bedrock/aws4_request, SignedHeaders="), "{value}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_key_is_used_in_place_of_a_credential() {
    let (credential, count) = numbered();
    let fake = Fake::new([Reply::text("a"), Reply::text("b")]);
    let provider = lab(credential);
    let ai = fake.builder().provider(provider).build().unwrap();
    ai.with_key("lab", "sk-own").unwrap().chat(ask()).await.unwrap();
    ai.chat(ask().key("lab", "sk-request")).await.unwrap();
    assert_eq!(tokens(&fake), ["Bearer sk-own", "Bearer sk-request"]);
    assert_eq!(count.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_replaced_and_the_request_is_sent_once_more() {
    let (credential, _) = numbered();
    let refused = || Reply::json(r#"{"error":{"message":"expired"}}"#).status(401);
    let fake = Fake::new([Reply::text("a"), refused(), Reply::text("b"), refused(), refused()]);
    let ai = fake.builder().provider(lab(credential)).build().unwrap();
    ai.chat(ask()).await.unwrap();
    tokio::time::advance(Duration::from_secs(60)).await;
    assert_eq!(ai.chat(ask()).await.unwrap().text(), "b");
    let expected = ["Bearer token-1-secret", "Bearer token-1-secret", "Bearer token-2-secret"];
    assert_eq!(tokens(&fake), expected);
    // A token that was just obtained is not replaced, so a wrong one does not obtain others for ever.
    let error = ai.chat(ask()).await.unwrap_err();
    assert_eq!((error.kind(), fake.requests().len()), (ErrorKind::Auth, 4));
}

/// A provider that refuses every token but the second one, after a while.
#[derive(Debug)]
struct Revoked;

impl Transport for Revoked {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move {
            let is_new = request.headers()["authorization"] == "Bearer token-2-secret";
            // The calls are refused one after the other.
            let number: u64 = request.headers()["x-number"].to_str().unwrap().parse().unwrap();
            tokio::time::sleep(Duration::from_millis(100 * number)).await;
            let (status, body) = if is_new {
                (200, r#"{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#)
            } else {
                (401, r#"{"error":{"message":"revoked"}}"#)
            };
            let response = Response::builder().status(status);
            Ok(response.body(Body::whole(body)).unwrap())
        })
    }
}

/// The first call that was refused replaced the token, and all others failed with the old one.
#[tokio::test(start_paused = true)]
async fn concurrent_calls_whose_token_is_revoked_all_succeed_with_one_new_token() {
    let (credential, count) = numbered();
    let ai = AgentLoop::builder().provider(lab(credential).transport(Revoked)).build().unwrap();
    let call = |number: usize| ai.chat(ask().header("x-number", number.to_string()));
    // Obtains the first token, which is refused at once.
    assert_eq!(call(0).await.unwrap_err().kind(), ErrorKind::Auth);
    tokio::time::advance(Duration::from_secs(60)).await;
    let calls = futures_util::future::join_all((0..20).map(call)).await;
    let failed = calls.iter().filter(|call| call.is_err()).count();
    assert_eq!((failed, count.load(Ordering::SeqCst)), (0, 2));
}

/// Signs with the number of the attempt, and asks to try again as often as it may.
#[derive(Debug, Default)]
struct Signs(AtomicUsize);

impl Credential for Signs {
    fn authorize<'a>(
        &'a self,
        request: &'a mut Request<Bytes>,
        environment: Environment<'a>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let number = self.0.fetch_add(1, Ordering::SeqCst);
            let who = environment.variable("SIGNER").unwrap_or_default();
            let text = format!("{number} {who} {} {}", request.uri().path(), request.body().len());
            let mut value = HeaderValue::from_str(&text).unwrap();
            value.set_sensitive(true);
            request.headers_mut().insert("authorization", value);
            Ok(())
        })
    }

    fn refused(&self, _: Refused<'_>) -> bool {
        true
    }

    fn variable(&self, name: &str, _: Environment<'_>) -> Option<String> {
        (name == "LAB_HOST").then(|| "lab.test".to_owned())
    }

    fn check(&self, environment: Environment<'_>) -> Result<()> {
        match environment.variable("SIGNER") {
            Some(_) => Ok(()),
            None => Err(Error::new(ErrorKind::MissingKey, "there is no signer")),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_credential_sees_the_final_request_and_signs_every_attempt() {
    let fake = Fake::new([Reply::json("{}").status(503), Reply::text("a")]);
    let ai = fake.builder().provider(lab(Signs::default())).env("SIGNER", "me").layer(Retry::new());
    ai.build().unwrap().chat(ask()).await.unwrap();
    let length = fake.requests()[0].body().len();
    let expected = |number: usize| format!("{number} me /v1/chat/completions {length}");
    assert_eq!(tokens(&fake), [expected(0), expected(1)]);
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_always_wants_another_attempt_gets_one() {
    let refused = || Reply::json("{}").status(403);
    let fake = Fake::new([refused(), refused(), refused()]);
    let ai = fake.builder().provider(lab(Signs::default())).build().unwrap();
    assert_eq!(ai.chat(ask()).await.unwrap_err().kind(), ErrorKind::Auth);
    assert_eq!(fake.requests().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_a_credential_adds_is_removed_from_errors_and_raw_responses() {
    for status in [400, 401, 500] {
        let (credential, _) = numbered();
        let body = r#"{"error":{"message":"the token token-1-secret is wrong"}}"#;
        let fake = Fake::new([Reply::json(body).status(status)]);
        let ai = fake.builder().provider(lab(credential)).build().unwrap();
        let error = ai.chat(ask()).await.unwrap_err();
        assert!(!format!("{error:?} {error:#?}").contains("token-1-secret"), "{error:#?}");
    }
    let (credential, _) = numbered();
    let fake = Fake::new([Reply::text("token-1-secret")]);
    let ai = fake.builder().provider(lab(credential)).build().unwrap();
    let response = ai.chat(ask().include_raw()).await.unwrap();
    assert!(!format!("{:?}", response.raw).contains("token-1-secret"));
}

#[tokio::test(start_paused = true)]
async fn a_credential_that_fails_fails_the_call_before_anything_is_sent() {
    let fails = TokenCredential::new(|| async {
        Err(Error::new(ErrorKind::Connection, "the service that issues tokens is down"))
    });
    let fake = Fake::new([]);
    let ai = fake.builder().provider(lab(fails)).build().unwrap();
    let error = ai.chat(ask()).await.unwrap_err();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::Connection, Some("lab")));
    assert!(error.is_retryable() && fake.requests().is_empty());
    let breaks = TokenCredential::new(|| async { Ok(Token::new("a\nb")) });
    let ai = fake.builder().provider(lab(breaks)).build().unwrap();
    assert_eq!(ai.chat(ask()).await.unwrap_err().kind(), ErrorKind::MissingKey);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_a_credential_no_longer_than_for_its_response() {
    let hangs = TokenCredential::new(std::future::pending::<Result<Token>>);
    let fake = Fake::new([]);
    let timeouts = agentloop::Timeouts::default().total(Duration::from_secs(3));
    let ai = fake.builder().provider(lab(hangs)).timeouts(timeouts).build().unwrap();
    let began = tokio::time::Instant::now();
    assert_eq!(ai.chat(ask()).await.unwrap_err().kind(), ErrorKind::Timeout);
    assert!(began.elapsed() <= Duration::from_secs(3));
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_not_used_at_another_origin() {
    let (credential, count) = numbered();
    let fake = Fake::new([]);
    let ai = fake.builder().provider(lab(credential)).build().unwrap();
    let error = ai.chat(ask().base_url("lab", "https://evil.test/v1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert!(error.message().contains("evil.test"), "{error}");
    assert_eq!((count.load(Ordering::SeqCst), fake.requests().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_credential_completes_the_base_url_and_tells_whether_it_is_there() {
    let fake = Fake::new([Reply::text("a")]);
    let provider =
        Provider::openai_compatible("lab", "https://${LAB_HOST}/v1").credential(Signs::default());
    let ai = fake.builder().provider(provider.clone()).build().unwrap();
    assert_eq!(ai.base_url("lab").unwrap(), "https://lab.test/v1");
    let error = ai.check_key("lab").unwrap_err();
    assert_eq!((error.message(), error.provider()), ("there is no signer", Some("lab")));
    let ai = fake.builder().provider(provider).env("SIGNER", "me").env("LAB_HOST", "other.test");
    let ai = ai.build().unwrap();
    assert!(ai.check_key("lab").unwrap());
    assert_eq!(ai.base_url("lab").unwrap(), "https://other.test/v1");
    ai.chat(ask()).await.unwrap();
    let shown = inspect::encode(&ai, &ChatRequest::new("lab/m").user("Hi"), false).unwrap();
    assert_eq!(shown.headers["authorization"], "Bearer ***");
}

#[test]
fn a_credential_is_written_as_a_name_or_as_a_table() {
    let parse = |written: &str| {
        let text =
            format!("[providers.lab]\nbase_url = 'https://lab.test'\ncredential = {written}\n");
        Config::parse(&text).map(|config| config.providers[0].credential.clone())
    };
    let settings = |source: CredentialSource| match source {
        CredentialSource::Aws(settings) => settings,
        other => panic!("{other:?}"),
    };
    assert_eq!(settings(parse("'aws'").unwrap()), AwsSettings::default());
    let named = settings(parse("{ aws = { profile = 'work', region = 'eu-west-1' } }").unwrap());
    assert_eq!(named, AwsSettings::default().profile("work").region("eu-west-1"));
    let google = "{ google = { file = '~/g.json', project = 'p', quota_project = 'q' } }";
    let google = match parse(google).unwrap() {
        CredentialSource::Google(settings) => settings,
        other => panic!("{other:?}"),
    };
    let expected = GoogleSettings::default().file("~/g.json").project("p").quota_project("q");
    assert_eq!(google, expected);
    assert!(matches!(parse("'google'").unwrap(), CredentialSource::Google(_)));
    let entra = match parse("{ entra = { cli = false, scope = 's' } }").unwrap() {
        CredentialSource::Entra(settings) => settings,
        other => panic!("{other:?}"),
    };
    assert_eq!(entra, EntraSettings::default().scope("s").without_cli());
    assert!(matches!(parse("'entra'").unwrap(), CredentialSource::Entra(_)));
    for wrong in [
        "'azure'",
        "{ aws = { profil = 'x' } }",
        "{ gcp = {} }",
        "{ aws = {}, google = {} }",
        "{ entra = { cli = 'no' } }",
        "7",
        "[]",
    ] {
        let error = parse(wrong).unwrap_err();
        assert!(error.message().contains("aws"), "{error}");
    }
}

/// The error named the variable of the URL only, and not the file whose project was needed.
#[tokio::test]
async fn an_incomplete_url_is_an_error_that_also_names_what_is_wrong_with_the_credential() {
    let builder = || {
        let names =
            ["VERTEX_PROJECT", "VERTEX_ACCESS_TOKEN", "GOOGLE_VERTEX_PROJECT", "AWS_REGION"];
        let more = ["GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "AWS_DEFAULT_REGION", "AWS_PROFILE"];
        let builder = AgentLoop::builder().env("HOME", "/nonexistent");
        let builder = builder.env("AWS_BEARER_TOKEN_BEDROCK", "").env("AWS_CONFIG_FILE", "");
        let builder = builder.env("AWS_SHARED_CREDENTIALS_FILE", "").env("AWS_ACCESS_KEY_ID", "");
        names.into_iter().chain(more).fold(builder, |builder, name| builder.env(name, ""))
    };
    let file = "/nonexistent/key.json";
    let ai = builder().env("GOOGLE_APPLICATION_CREDENTIALS", file).build().unwrap();
    let error = ai.chat(ChatRequest::new("vertex/gemini-3.8-flash").user("Hi")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.message().contains("VERTEX_PROJECT") && error.message().contains(file),
        "{error}"
    );
    let hint = error.hint().unwrap();
    assert!(hint.contains("VERTEX_PROJECT") && hint.contains("GOOGLE_APPLICATION_CREDENTIALS"));
    let ai = builder().env("AWS_PROFILE", "nope").build().unwrap();
    let error = ai.chat(ChatRequest::new("bedrock/m").user("Hi")).await.unwrap_err();
    assert!(
        error.message().contains("AWS_REGION") && error.message().contains("`nope`"),
        "{error}"
    );
    // With a key, nothing is said about credentials.
    let ai = builder().env("AWS_BEARER_TOKEN_BEDROCK", "example").build().unwrap();
    let error = ai.chat(ChatRequest::new("bedrock/m").user("Hi")).await.unwrap_err();
    assert_eq!(error.message(), "the base URL is incomplete: AWS_REGION is not set");
}
