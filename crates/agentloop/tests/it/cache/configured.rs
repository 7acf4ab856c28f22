//! `[cache]` of agentloop.toml.

use agentloop::{AgentLoop, ChatRequest, Config, ErrorKind};
use agentloop_sim::Simulator;

#[tokio::test]
async fn a_file_can_configure_a_cache() {
    let simulator = Simulator::new();
    let config =
        Config::parse("[cache]\nmax_bytes = 1000000\nttl = 60\nnamespace = \"tests\"").unwrap();
    let ai = AgentLoop::builder().provider(simulator.provider()).config(&config).build().unwrap();
    let request = ChatRequest::new("sim/echo").user("a");
    assert!(!ai.chat(request.clone()).await.unwrap().cached);
    assert!(ai.chat(request.clone()).await.unwrap().cached);
    // Another client of the same configuration shares it.
    let ai = AgentLoop::builder().provider(simulator.provider()).config(&config).build().unwrap();
    assert!(ai.chat(request).await.unwrap().cached);
}

#[test]
fn an_empty_table_is_a_cache_and_no_table_is_none() {
    assert!(Config::parse("[cache]").unwrap().cache.is_some());
    assert!(Config::parse("").unwrap().cache.is_none());
    assert!(Config::parse("[cache]\nredis = \"redis://localhost\"").unwrap().cache.is_some());
}

#[test]
fn an_invalid_table_is_an_error_that_shows_no_password() {
    for (table, said) in [
        ("max_byte = 1", "max_byte"),
        ("ttl = -1", "cache: ttl"),
        ("max_bytes = 1\nredis = \"redis://u:pass-word@h\"", "cannot be used together"),
        ("redis = \"http://u:pass-word@h\"", "cache: redis"),
        ("redis = \"rediss://u:pass-word@h\"", "cache: redis"),
        ("redis = \"u:pass-word@h\"", "cache: redis"),
    ] {
        let error = Config::parse(&format!("[cache]\n{table}")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(said), "{shown}");
        assert!(!shown.contains("pass-word"), "{shown}");
    }
    let config = Config::parse("[cache]\nredis = \"redis://u:pass-word@h\"").unwrap();
    assert!(!format!("{config:?}").contains("pass-word"));
}
