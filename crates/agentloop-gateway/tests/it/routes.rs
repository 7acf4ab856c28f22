//! Routes, retries and pools of keys.

use agentloop::Protocol;
use agentloop_sim::{Fault, Faults, Simulator};

use crate::common::{CLIENTS, Stage, chat};

#[tokio::test]
async fn a_route_falls_back_before_the_first_content() {
    let settings = "[gateway.routes.safe]\nmodels=['chat/echo!status=500','claude/echo!error-first','gemini/echo']\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    for (at, (_, client)) in CLIENTS.into_iter().enumerate() {
        for stream in [false, true] {
            let (path, body) = chat(client, "safe", stream);
            let reply = stage.post(&path, &body).await;
            assert_eq!(reply.status, 200, "{client:?} {}", reply.text());
            assert!(reply.text().contains("Hello"), "{client:?} {}", reply.text());
        }
        let seen = stage.records.wait(2 * at + 2).await;
        let last = seen.last().unwrap();
        assert_eq!(last.served.as_deref(), Some("gemini/echo"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_failure_is_tried_again_once_and_a_bad_request_never() {
    let simulator = Simulator::new().with_faults(Faults::first(1, Fault::status(503)));
    let stage = Stage::start(simulator).await;
    let (path, body) = chat(Protocol::Anthropic, "chat/echo", false);
    assert_eq!(stage.post(&path, &body).await.status, 200);
    assert_eq!(stage.records.wait(1).await[0].attempts, 2);
    let (path, body) = chat(Protocol::Anthropic, "chat/echo!status=400", false);
    assert_eq!(stage.post(&path, &body).await.status, 400);
    assert_eq!(stage.records.wait(2).await[1].attempts, 1);
    // The client waits for itself if the provider asks for more than a few seconds.
    let (path, body) = chat(Protocol::Anthropic, "chat/echo!status=429;retry-after=60", false);
    let reply = stage.post(&path, &body).await;
    assert_eq!((reply.status, reply.headers["retry-after"].to_str().unwrap()), (429, "60"));
    assert_eq!(stage.records.wait(3).await[2].attempts, 1);
}

#[tokio::test]
async fn a_refused_key_of_a_pool_is_replaced_by_the_next() {
    let simulator = Simulator::new().with_key("sk-GOOD");
    let settings = "[gateway.pools.claude]\nkey_env=['BAD1','GOOD','BAD2']\n";
    let stage = Stage::with(simulator, settings).await;
    for (count, (_, client)) in CLIENTS.into_iter().enumerate() {
        let (path, body) = chat(client, "claude/echo", false);
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.status, 200, "{client:?} {}", reply.text());
        let seen = stage.records.wait(count + 1).await;
        assert!(seen[count].attempts <= 3);
    }
    // A key that was refused is not tried again.
    let attempts: u32 = stage.records.wait(4).await.iter().map(|seen| seen.attempts).sum();
    assert!(attempts <= 4 + 2, "{attempts}");
}

#[tokio::test]
async fn all_keys_refused_is_not_the_clients_fault() {
    let stage = Stage::with(Simulator::new().with_key("sk-OTHER"), "").await;
    for (_, client) in CLIENTS {
        for stream in [false, true] {
            let (path, body) = chat(client, "claude/echo", stream);
            let reply = stage.post(&path, &body).await;
            assert_eq!(reply.status, 502, "{client:?} {}", reply.text());
            assert_eq!(reply.headers["x-should-retry"], "false");
        }
    }
}

/// The error of a missing key did not name the variable to set.
#[tokio::test]
async fn a_missing_key_of_a_provider_is_named_with_its_variable() {
    let settings =
        "[providers.lab]\nbase_url='http://lab.invalid'\nkey_env='AGENTLOOP_NO_SUCH_KEY'\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    for (_, client) in CLIENTS {
        let (path, body) = chat(client, "lab/m", false);
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.status, 502, "{client:?} {}", reply.text());
        assert!(reply.text().contains("the gateway has no key for lab"), "{}", reply.text());
        assert!(reply.text().contains("AGENTLOOP_NO_SUCH_KEY"), "{}", reply.text());
        assert_eq!(reply.headers["x-should-retry"], "false");
    }
}

#[tokio::test]
async fn a_strict_key_refuses_what_would_be_left_out() {
    let settings = "[gateway.keys.strict]\nkey_env='STRICT'\nstrict=true\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    let (path, mut body) = chat(Protocol::OpenAiChat, "claude/echo", false);
    body["logit_bias"] = serde_json::json!({ "50256": -100 });
    let reply = stage.post(&path, &body).await;
    assert_eq!(reply.status, 200);
    assert!(reply.headers["x-agentloop-warnings"].to_str().unwrap().contains("logit_bias"));
    let reply = stage.post_as("sk-STRICT", &path, &body).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("logit_bias"), "{}", reply.text());
}
