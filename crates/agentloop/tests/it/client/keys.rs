//! Keys: found when needed, shown to the provider alone.

use agentloop::provider::Auth;
use agentloop::{Config, ErrorKind, Provider, inspect};

use crate::client::fake::{Fake, Reply, ask};

const KEY: &str = "sk-this-is-secret";

#[tokio::test]
async fn a_key_is_sent_in_the_header_of_its_provider() {
    for (auth, name, value) in [
        (Auth::Bearer, "authorization", format!("Bearer {KEY}")),
        (Auth::ApiKey, "api-key", KEY.to_owned()),
        (Auth::XApiKey, "x-api-key", KEY.to_owned()),
        (Auth::XGoogApiKey, "x-goog-api-key", KEY.to_owned()),
        (Auth::Header("X-Lab-Key".parse().unwrap()), "x-lab-key", KEY.to_owned()),
    ] {
        let fake = Fake::new([Reply::text("hi")]);
        let lab = Provider::openai_compatible("lab", "http://lab.test/v1").auth(auth).key(KEY);
        let ai = fake.builder().provider(lab).build().unwrap();
        ai.chat(ask()).await.unwrap();
        let requests = fake.requests();
        assert_eq!(requests[0].headers()[name], value.as_str());
        assert!(requests[0].headers()[name].is_sensitive());
    }
}

#[tokio::test]
async fn a_request_s_own_headers_are_sent_but_never_over_the_key() {
    let fake = Fake::new([Reply::text("hi")]);
    let lab =
        Provider::openai_compatible("lab", "http://lab.test/v1").key(KEY).header("x-team", "a");
    let ai = fake.builder().provider(lab).build().unwrap();
    let request =
        ask().header("X-Trace", "7").header("Authorization", "Bearer other").header("x-team", "b");
    let answer = ai.chat(request).await.unwrap();
    let requests = fake.requests();
    assert_eq!(requests[0].headers()["authorization"], format!("Bearer {KEY}").as_str());
    assert_eq!(requests[0].headers()["x-trace"], "7");
    assert_eq!(requests[0].headers()["x-team"], "b");
    assert!(answer.warnings.iter().any(|warning| warning.message.contains("Authorization")));
}

#[tokio::test]
async fn a_header_of_another_name_carries_the_key_of_a_configured_provider() {
    let config = |auth: &str| {
        format!("[providers.lab]\nbase_url = 'http://lab.test/v1'\nauth = {auth}\nkey_env = 'X'\n")
    };
    let fake = Fake::new([Reply::text("hi")]);
    let parsed = Config::parse(&config("{ header = 'X-Lab-Key' }")).unwrap();
    let ai = fake.builder().config(&parsed).key("lab", KEY).build().unwrap();
    let answer = ai.chat(ask().header("x-lab-key", "other")).await.unwrap();
    assert_eq!(fake.requests()[0].headers()["x-lab-key"], KEY);
    assert!(fake.requests()[0].headers().get("authorization").is_none());
    assert!(answer.warnings.iter().any(|warning| warning.message.contains("x-lab-key")));
    for wrong in
        ["{ header = 'content-length' }", "{ header = 'a b' }", "{ header = '' }", "'x-lab-key'"]
    {
        let error = Config::parse(&config(wrong)).expect_err(wrong);
        assert_eq!(error.kind(), ErrorKind::Config, "{wrong}");
    }
}

#[tokio::test]
async fn a_missing_key_is_reported_before_anything_is_sent() {
    let fake = Fake::new([]);
    let lab =
        Provider::openai_compatible("lab", "http://lab.test/v1").key_env("LAB_KEY_OF_THIS_TEST");
    let ai = fake.builder().provider(lab).build().unwrap();
    let error = ai.chat(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
    assert_eq!(error.provider(), Some("lab"));
    assert!(error.hint().unwrap().contains("LAB_KEY_OF_THIS_TEST"));
    assert!(fake.requests().is_empty());
    assert!(ai.check_key("lab").is_err());
    assert!(!fake.client().check_key("lab").unwrap());
}

#[tokio::test]
async fn a_key_can_be_read_from_a_file() {
    let path = std::env::temp_dir().join(format!("agentloop-key-{}", std::process::id()));
    std::fs::write(&path, format!("{KEY}\n")).unwrap();
    let config = Config::parse(&format!(
        "[providers.lab]\nbase_url = \"http://lab.test/v1\"\nkey_file = {path:?}\n"
    ))
    .unwrap();
    let fake = Fake::new([Reply::text("hi")]);
    fake.builder().config(&config).build().unwrap().chat(ask()).await.unwrap();
    assert_eq!(fake.requests()[0].headers()["authorization"], format!("Bearer {KEY}").as_str());
    std::fs::remove_file(&path).unwrap();
    let error = fake.builder().config(&config).build().unwrap().chat(ask()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingKey);
}

#[tokio::test]
async fn a_key_is_in_nothing_that_can_be_printed() {
    let fake = Fake::new([Reply::json(r#"{"error":{"message":"no"}}"#).status(401)]);
    let lab = Provider::openai_compatible("lab", "http://lab.test/v1").key(KEY);
    let ai = fake.builder().provider(lab.clone()).env("LAB", KEY).build().unwrap();
    let error = ai.chat(ask()).await.unwrap_err();
    let encoded = inspect::encode(&ai, &ask(), false).unwrap();
    let shown = [
        format!("{lab:?} {lab:#?}"),
        format!("{ai:?}"),
        format!("{error:?} {error} {}", serde_json::to_string(&error).unwrap()),
        format!("{:?}", fake.builder().provider(lab)),
        format!("{encoded:?} {}", serde_json::to_string(&encoded).unwrap()),
        format!("{:?}", fake.requests()),
    ];
    for text in shown {
        assert!(!text.contains("secret"), "{text}");
    }
    assert_eq!(encoded.headers["authorization"], "Bearer ***");
}

#[tokio::test]
async fn a_key_sent_to_another_machine_over_http_is_a_warning() {
    for (url, key, warned) in [
        ("http://lab.test/v1", true, true),
        ("http://10.0.0.7:8000/v1", true, true),
        ("http://lab.test/v1", false, false),
        ("https://lab.test/v1", true, false),
        ("http://localhost:8000/v1", true, false),
        ("http://[::1]:8000/v1", true, false),
        ("http://127.0.0.1:8000/v1", true, false),
    ] {
        let fake = Fake::new([Reply::text("hi")]);
        let lab = Provider::openai_compatible("lab", url);
        let lab = if key { lab.key(KEY) } else { lab };
        let ai = fake.builder().provider(lab).build().unwrap();
        let response = ai.chat(ask()).await.unwrap();
        let kinds: Vec<_> = response.warnings.iter().map(|warning| warning.kind).collect();
        let expected = if warned { vec![agentloop::WarningKind::Insecure] } else { Vec::new() };
        assert_eq!(kinds, expected, "{url}");
    }
}

#[tokio::test]
async fn a_key_that_a_provider_sends_back_in_another_form_is_not_shown() {
    use base64::Engine;
    let base64 = base64::engine::general_purpose::STANDARD.encode(format!("Bearer {KEY}"));
    let reversed: String = KEY.chars().rev().collect();
    let split = KEY.replace("is-", "is- \n");
    for form in [KEY, base64.as_str(), &reversed, &split] {
        let body = serde_json::json!({"error": {"message": format!("wrong key: {form}")}});
        let fake = Fake::new([Reply::json(body.to_string()).status(401)]);
        let lab = Provider::openai_compatible("lab", "https://lab.test/v1").key(KEY);
        let ai = fake.builder().provider(lab).build().unwrap();
        let error = ai.chat(ask()).await.unwrap_err();
        // What was encoded together with the key stays.
        let before = if form == base64 { "QmVhcmVyIH" } else { "" };
        assert_eq!(error.message(), format!("wrong key: {before}***"), "{form}");
        assert!(!error.raw().unwrap().contains(form), "{form}");
    }
}
