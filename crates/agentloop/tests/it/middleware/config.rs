//! `[retry]` and `[fallback]` of `agentloop.toml`.

use std::time::Duration;

use agentloop::middleware::WarningsTo;
use agentloop::{Config, WarningKind};
use tokio::time::Instant;

use crate::middleware::lab::{Kind, Lab, ask, builder};

#[tokio::test(start_paused = true)]
async fn configured_fallback_wraps_configured_retry_and_middleware_in_code_wraps_both() {
    let text = r#"
        [retry]
        max_retries = 1
        first_wait = 0
        [fallback]
        models = ["b/long-8"]
    "#;
    let config = Config::parse(text).unwrap();
    let labs = [Lab::failing("a", "status=500"), Lab::new("b", "status=500|".parse().unwrap())];
    let kinds = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = std::sync::Arc::clone(&kinds);
    let tell = WarningsTo::new(move |warning| sink.lock().unwrap().push(warning.kind));
    // The order in which they are given does not matter.
    let ai = builder(&labs).config(&config).layer(tell).build().unwrap();
    let seen = ask(&ai, Kind::Stream, "a").await;
    assert_eq!(seen.provider, "b");
    assert_eq!((labs[0].calls(), labs[1].calls()), (2, 2));
    assert_eq!(*kinds.lock().unwrap(), [WarningKind::Fallback, WarningKind::Retried]);
}

#[tokio::test(start_paused = true)]
async fn every_key_of_the_file_has_an_effect() {
    let text = r#"
        [retry]
        max_retries = 9
        first_wait = 2
        factor = 1
        max_backoff = 2
        max_wait = 5
        total = 100
        budget = { share = 0, per_second = 0.3 }
        [fallback]
        models = []
        cooldown = 7
        cooldown_after = 1
        cooldown_min_retry_after = 5
    "#;
    let config = Config::parse(text).unwrap();
    let shown = format!("{config:?}");
    for words in
        ["max_wait: 5s", "total: Some(100s)", "lasting: 7s", "after: 1", "min_retry_after: 5s"]
    {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    let lab = Lab::failing("a", "status=500");
    let began = Instant::now();
    ask(&builder([&lab]).config(&config).build().unwrap(), Kind::Chat, "a").await;
    // Three are saved up, and what is waited meanwhile pays for not quite two more.
    assert!((4..=6).contains(&lab.calls()), "{}", lab.calls());
    assert!(began.elapsed() <= Duration::from_secs(12));
}

#[test]
fn an_invalid_value_is_an_error_that_names_its_key() {
    for (text, words) in [
        ("[retry]\nretries = 3", "line 2: unknown field `retries`"),
        ("[retry]\nfirst_wait = -1", "retry.first_wait"),
        ("[retry]\nfactor = 0.5", "retry.factor"),
        ("[retry]\nmax_retries = -1", "line 2"),
        ("[retry]\nbudget = { share = -1 }", "retry.budget"),
        ("[fallback]\nmodel = \"x\"", "line 2: unknown field `model`"),
        ("[fallback]\ncooldown = nan", "fallback.cooldown"),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert!(error.message().contains(words), "{text}: {error}");
    }
}

#[test]
fn a_total_of_zero_means_no_limit() {
    let config = Config::parse("[retry]\ntotal = 0").unwrap();
    assert!(format!("{config:?}").contains("total: None"));
    assert!(Config::parse("").unwrap().retry.is_none());
}
