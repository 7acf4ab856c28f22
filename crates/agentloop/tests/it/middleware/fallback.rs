//! Which model is tried after which, and what the caller sees.

use std::time::Duration;

use agentloop::middleware::{Fallback, Jitter, Retry};
use agentloop::{ChatRequest, EmbedRequest, Error, ErrorKind, Protocol, Provider, WarningKind};
use agentloop_sim::{Fault, Faults};

use crate::middleware::lab::{
    ANSWER, KINDS, Kind, Lab, PROTOCOLS, ask, builder, chat, client, question, stream,
};

/// To the other provider, for chats and for vectors.
fn to(provider: &str) -> Fallback {
    Fallback::new([format!("{provider}/long-8")])
}

fn fallback(kind: Kind, providers: &[&str]) -> Fallback {
    let model = if kind == Kind::Embed { "vectors" } else { "long-8" };
    Fallback::new(providers.iter().map(|provider| format!("{provider}/{model}")))
}

#[tokio::test(start_paused = true)]
async fn the_next_model_uses_its_own_protocol_and_the_response_names_it() {
    for kind in KINDS {
        for (from, into) in PROTOCOLS.into_iter().flat_map(|a| PROTOCOLS.map(|b| (a, b))) {
            let embeds = |one| !matches!(one, Protocol::Anthropic | Protocol::GeminiInteractions);
            if kind == Kind::Embed && !embeds(into) {
                continue;
            }
            let a = Lab::failing("a", "status=503").speaking(from);
            let b = Lab::well("b").speaking(into);
            let seen = ask(&client([&a, &b], fallback(kind, &["b"])), kind, "a").await;
            if kind == Kind::Embed && !embeds(from) {
                // Found before anything is sent, and no failure that leads on.
                assert_eq!(seen.error().kind(), ErrorKind::Unsupported);
                continue;
            }
            let warnings = seen.warnings(WarningKind::Fallback);
            assert_eq!((warnings.len(), seen.provider.as_str()), (1, "b"), "{kind:?}");
            assert!(warnings[0].subject.as_deref().unwrap().starts_with("a/"));
            assert!(warnings[0].message.contains("overloaded"), "{}", warnings[0]);
            assert_eq!((a.calls(), b.calls()), (1, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_other_model_is_tried_if_the_first_one_responds() {
    for kind in KINDS {
        let (a, b) = (Lab::well("a"), Lab::well("b"));
        let seen = ask(&client([&a, &b], fallback(kind, &["b"])), kind, "a").await;
        assert!(seen.warnings.is_empty());
        assert_eq!((seen.provider.as_str(), b.calls()), ("a", 0));
    }
}

#[tokio::test(start_paused = true)]
async fn errors_that_another_model_may_avoid_fall_back_and_invalid_requests_do_not() {
    let leads_on = [
        "status=500",
        "status=503",
        "status=529",
        "status=429",
        "status=408",
        "status=409",
        "status=402",
        "status=429;code=insufficient_quota",
        "status=400;code=context_length_exceeded",
        "status=413",
        "refuse",
        "cut-bytes=0",
    ];
    let ends = ["status=400", "status=401", "status=403", "status=404", "status=422"];
    for kind in KINDS {
        for (fault, leads) in
            leads_on.map(|fault| (fault, 1)).into_iter().chain(ends.map(|fault| (fault, 0)))
        {
            let (a, b) = (Lab::failing("a", fault), Lab::well("b"));
            let seen = ask(&client([&a, &b], fallback(kind, &["b"])), kind, "a").await;
            assert_eq!((a.calls(), b.calls()), (1, leads), "{fault} {kind:?}");
            assert_eq!(seen.error.is_none(), leads == 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_missing_key_falls_back() {
    let b = Lab::well("b");
    let keyless = Provider::openai_compatible("a", "http://a.test/v1").key_env("NO_SUCH_KEY_HERE");
    let ai = builder([&b]).provider(keyless).layer(to("b")).build().unwrap();
    let seen = ask(&ai, Kind::Chat, "a").await;
    assert!(seen.warnings(WarningKind::Fallback)[0].message.contains("missing_key"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_never_falls_back() {
    let b = Lab::well("b");
    let layers = builder([&b]).layer(to("b").on_error(|_| true));
    let ai = layers
        .middleware(|_, _| async { Err(Error::new(ErrorKind::Cancelled, "stopped")) })
        .build()
        .unwrap();
    let error = ai.chat(question("b/echo")).await.unwrap_err();
    assert_eq!((error.kind(), error.causes().len()), (ErrorKind::Cancelled, 0));
}

#[tokio::test(start_paused = true)]
async fn a_predicate_replaces_the_default() {
    let (a, b) = (Lab::failing("a", "status=404"), Lab::well("b"));
    let strict = to("b").on_error(|error| error.kind() == ErrorKind::NotFound);
    assert_eq!(ask(&client([&a, &b], strict.clone()), Kind::Chat, "a").await.provider, "b");
    let a = Lab::failing("a", "status=500");
    let seen = ask(&client([&a, &b], strict), Kind::Chat, "a").await;
    assert_eq!(seen.error().kind(), ErrorKind::Server);
}

#[tokio::test(start_paused = true)]
async fn if_all_models_fail_one_error_has_all_causes() {
    for kind in KINDS {
        let labs = [
            Lab::failing("a", "status=429;retry-after=9"),
            Lab::failing("b", "status=503;retry-after=4"),
            Lab::failing("c", "status=429;code=insufficient_quota;retry-after=1"),
        ];
        let seen = ask(&client(&labs, fallback(kind, &["b", "c"])), kind, "a").await;
        let error = seen.error();
        assert_eq!(error.kind(), ErrorKind::AllFailed);
        let kinds: Vec<ErrorKind> = error.causes().iter().map(Error::kind).collect();
        assert_eq!(kinds, [ErrorKind::RateLimit, ErrorKind::Overloaded, ErrorKind::Quota]);
        let who: Vec<_> = error.causes().iter().filter_map(Error::provider).collect();
        assert_eq!(who, ["a", "b", "c"]);
        // The wait of an error that is not retryable does not count.
        assert!(error.is_retryable());
        assert_eq!(error.retry_after(), Some(Duration::from_secs(4)));
        assert_eq!(error.to_string().lines().count(), 4, "{error}");
    }
    let labs = [Lab::failing("a", "status=402"), Lab::failing("b", "status=413")];
    let seen = ask(&client(&labs, to("b")), Kind::Chat, "a").await;
    assert_eq!(seen.error().kind(), ErrorKind::AllFailed);
    assert!(!seen.error().is_retryable());
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_single_model_is_its_own() {
    for list in [vec![], vec!["a/long-8"], vec!["same"]] {
        let a = Lab::failing("a", "status=503");
        let ai = builder([&a]).alias("same", "a/long-8").layer(Fallback::new(list));
        let error = ask(&ai.build().unwrap(), Kind::Chat, "a").await.error.unwrap();
        assert_eq!((error.kind(), error.causes().len()), (ErrorKind::Overloaded, 0));
        assert_eq!(a.calls(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_that_does_not_fall_back_has_the_earlier_ones_as_causes() {
    let labs = [Lab::failing("a", "status=503"), Lab::failing("b", "status=400"), Lab::well("c")];
    let layer = Fallback::new(["b/long-8", "c/long-8"]);
    let error = ask(&client(&labs, layer), Kind::Chat, "a").await.error.unwrap();
    assert_eq!((error.kind(), error.provider()), (ErrorKind::InvalidRequest, Some("b")));
    assert_eq!(error.causes()[0].provider(), Some("a"));
    assert_eq!(labs[2].calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn aliases_are_resolved_for_each_model() {
    let (a, b) = (Lab::failing("a", "status=503"), Lab::well("b"));
    let ai = builder([&a, &b]).alias("first", "a/long-8").alias("second", "b/long-8");
    let ai = ai.layer(Fallback::new(["second"])).build().unwrap();
    let seen = chat(&ai, question("first")).await;
    assert_eq!((seen.provider.as_str(), seen.text.as_str()), ("b", ANSWER));
    assert_eq!(seen.warnings[0].subject.as_deref(), Some("a/long-8"));
}

#[tokio::test(start_paused = true)]
async fn the_list_of_a_request_replaces_that_of_the_client() {
    for kind in KINDS {
        let labs = [Lab::failing("a", "status=503"), Lab::well("b"), Lab::well("c")];
        let ai = client(&labs, fallback(kind, &["b"]));
        let provider = match kind {
            Kind::Chat => chat(&ai, question("a/long-8").fallbacks(["c/long-8"])).await.provider,
            Kind::Stream => {
                stream(&ai, question("a/long-8").fallbacks(["c/long-8"])).await.provider
            }
            Kind::Embed => {
                let request = EmbedRequest::new("a/vectors", "x").fallbacks(["c/vectors"]);
                ai.embed(request).await.unwrap().provider
            }
        };
        assert_eq!((provider.as_str(), labs[1].calls()), ("c", 0));
    }
}

#[tokio::test]
async fn a_list_without_the_middleware_is_a_warning_and_is_not_sent() {
    let lab = Lab::well("lab");
    let ai = builder([&lab]).build().unwrap();
    let chat = ai.chat(question("lab/echo").fallbacks(["b/m"])).await.unwrap();
    let vectors = EmbedRequest::new("lab/vectors", "x").fallbacks(["b/m"]);
    for warnings in [chat.warnings, ai.embed(vectors.clone()).await.unwrap().warnings] {
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].subject.as_deref(), Some("fallbacks"));
    }
    for protocol in PROTOCOLS {
        let lab = Lab::well("lab").speaking(protocol);
        let ai = builder([&lab]).build().unwrap();
        let request = question("lab/m").fallbacks(["elsewhere/m"]);
        let sent = agentloop::inspect::encode(&ai, &request, true).unwrap();
        assert!(!sent.body.get().contains("elsewhere"), "{}", sent.body);
        if !matches!(
            protocol,
            Protocol::Anthropic | Protocol::Bedrock | Protocol::GeminiInteractions
        ) {
            let sent = agentloop::inspect::encode_embed(&ai, &vectors).unwrap();
            assert!(!format!("{sent:?}").contains("fallbacks"));
        }
    }
}

#[test]
fn the_list_is_part_of_the_json_of_a_request() {
    let request = ChatRequest::new("a/m").fallbacks(["b/m"]);
    let json = serde_json::to_value(&request).unwrap();
    assert_eq!(json["fallbacks"], serde_json::json!(["b/m"]));
    assert_eq!(serde_json::from_value::<ChatRequest>(json).unwrap(), request);
    assert!(!serde_json::to_string(&ChatRequest::new("a/m")).unwrap().contains("fallbacks"));
}

#[tokio::test(start_paused = true)]
async fn the_protocol_chosen_for_one_provider_is_not_used_for_another() {
    let a = Lab::failing("a", "status=503");
    let b = Lab::well("b").speaking(Protocol::Gemini);
    let ai = client([&a, &b], to("b"));
    let seen = chat(&ai, question("a/long-8").protocol(Protocol::OpenAiChat)).await;
    assert_eq!(seen.text, ANSWER);
    let dropped = seen.warnings(WarningKind::Dropped);
    assert_eq!(dropped[0].subject.as_deref(), Some("protocol"));
}

#[tokio::test(start_paused = true)]
async fn retry_inside_repeats_each_model_and_retry_outside_the_whole_list() {
    let retry = || Retry::new().jitter(Jitter::none());
    for kind in KINDS {
        let labs = [Lab::failing("a", "status=500"), Lab::failing("b", "status=500")];
        let ai = builder(&labs).layer(fallback(kind, &["b"])).layer(retry()).build().unwrap();
        let error = ask(&ai, kind, "a").await.error.unwrap();
        assert_eq!((labs[0].calls(), labs[1].calls()), (3, 3));
        let earlier: Vec<usize> = error.causes().iter().map(|cause| cause.causes().len()).collect();
        assert_eq!((error.kind(), earlier), (ErrorKind::AllFailed, vec![2, 2]));

        let first = Faults::first(1, Fault::status(500));
        let labs = [Lab::new("a", first.clone()), Lab::new("b", first)];
        let ai = builder(&labs).layer(retry()).layer(fallback(kind, &["b"])).build().unwrap();
        let seen = ask(&ai, kind, "a").await;
        assert!(seen.warnings(WarningKind::Retried)[0].message.contains("all_failed"));
        assert_eq!((labs[0].calls(), labs[1].calls()), (2, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_too_long_is_a_warning() {
    let most = agentloop::limits::MAX_FALLBACKS;
    let long = |model: &str| (0..most + 4).map(|at| format!("{model}-{at}")).collect::<Vec<_>>();
    let a = Lab::failing("a", "status=503");
    let error = chat(&client([&a], Fallback::new(long("a/m"))), question("a/m")).await.error;
    assert!(error.as_ref().unwrap().message().contains("5 more"), "{error:?}");
    assert_eq!(a.calls(), most as u64);
    let b = Lab::well("b");
    let seen = chat(&client([&b], Fallback::new(long("b/m"))), question("b/echo")).await;
    assert_eq!(seen.warnings(WarningKind::Dropped)[0].subject.as_deref(), Some("fallbacks"));
}
