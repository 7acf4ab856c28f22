//! `[limits]` of `agentloop.toml`.

use std::time::Duration;

use agentloop::middleware::{Limit, Limits};
use agentloop::{Config, ErrorKind};

use crate::limits::host::{Host, Way, at_once};

#[test]
fn the_file_can_set_all_that_code_can() {
    let config = Config::parse(
        r#"
        [limits.openai]
        concurrency = 8
        requests_per_minute = 500
        tokens_per_minute = 200_000
        queue = 64
        max_wait = 20
        burst = 6
        max_pause = 0.5

        [limits."openai/gpt-5"]
        concurrency = 2

        [limits.work]
        providers = ["azure", "lab"]
        requests_per_minute = 60

        [limits.default]
        concurrency = 32
        "#,
    )
    .unwrap();
    let openai = Limit::new()
        .concurrency(8)
        .requests_per_minute(500)
        .tokens_per_minute(200_000)
        .queue(64)
        .max_wait(Duration::from_secs(20))
        .burst(Duration::from_secs(6))
        .max_pause(Duration::from_millis(500));
    let limits = Limits::new()
        .for_provider("openai", openai)
        .for_model("openai/gpt-5", Limit::new().concurrency(2))
        .for_account("work", ["azure", "lab"], Limit::new().requests_per_minute(60))
        .default_limit(Limit::new().concurrency(32));
    assert_eq!(format!("{:?}", config.limits.unwrap()), format!("{limits:?}"));
}

#[tokio::test(start_paused = true)]
async fn configured_limits_apply_to_the_client() {
    let config = Config::parse("[limits.sim]\nrequests_per_minute = 2\nqueue = 0").unwrap();
    let ai = Host::new().builder().config(&config).build().unwrap();
    let went = at_once(&ai, Way::Chat, 5).await.iter().filter(|result| result.is_ok()).count();
    assert_eq!(went, 2);
}

#[test]
fn an_invalid_table_is_an_error_that_names_its_place() {
    for (text, expected) in [
        ("[limits.openai]\nrequests = 5", "line 2: unknown field `requests`"),
        ("[limits]\nopenai = 5", "line 2: "),
        ("[limits.openai]\nconcurrency = 0", "limits.openai.concurrency: must be greater than 0"),
        ("[limits.openai]\nmax_wait = -1", "limits.openai.max_wait: "),
        ("[limits.\"a/b\"]\nproviders = [\"a\"]", "limits.a/b.providers: "),
        ("[limits]\nredis = \"nonsense\"", "limits.redis: "),
    ] {
        let error = Config::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().starts_with(expected), "{}", error.message());
    }
}

#[test]
fn limits_of_an_unknown_provider_are_an_error() {
    for text in [
        "[limits.opena]\nconcurrency = 1",
        "[limits.\"opena/gpt-5\"]\nconcurrency = 1",
        "[limits.work]\nproviders = [\"openai\", \"opena\"]\nconcurrency = 1",
    ] {
        let config = Config::parse(text).unwrap();
        let error = Host::new().builder().config(&config).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains("`opena`"), "{error}");
        assert!(error.hint().unwrap().contains("did you mean `openai`"), "{error:?}");
    }
}

#[test]
fn the_documented_examples_can_be_read() {
    let chapter = include_str!("../../../../../docs/limits.md");
    let shown: Vec<&str> = chapter.split("```toml").skip(1).collect();
    assert_eq!(shown.len(), 2);
    for text in shown {
        let text = text.split("```").next().unwrap();
        assert!(Config::parse(text).unwrap().limits.is_some());
    }
}

#[test]
fn a_url_with_a_password_is_not_shown() {
    let text = "[limits]\nredis = \"redis://user:hunter2@localhost:x\"";
    let error = Config::parse(text).unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"));
    let text = "[limits]\nredis = \"redis://user:hunter2@localhost\"";
    let config = Config::parse(text).unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
