//! One suite over all rows: a new provider is tested by existing.
//!
//! Every row of the table, and a provider that is added here in a few lines, answers through the simulator, in process
//! and over real HTTP.

mod bad;
mod docs;
mod suite;

use agentloop::provider::Param;
use agentloop::{AgentLoop, Provider};
use agentloop_sim::{Server, Simulator};

/// A compatible provider of one's own, in ten lines.
fn added() -> Provider {
    Provider::openai_compatible("added", "https://api.added.example/v1")
        .key_env("ADDED_API_KEY")
        .header("x-plan", "free")
        .strip([Param::LogitBias, Param::Metadata])
        .rename(Param::Seed, "rng_seed")
        .clamp(Param::Temperature, 0.0, 1.0)
        .quirks(|quirks| {
            quirks.embeddings.batch = Some(2);
        })
}

/// Every row, in every protocol that it supports.
fn rows() -> Vec<Provider> {
    let mut rows = Provider::all();
    rows.push(added());
    let spoken = |row: &Provider| -> Vec<Provider> {
        row.protocols().map(|protocol| row.speaking(protocol).into_owned()).collect()
    };
    rows.iter().flat_map(spoken).collect()
}

#[tokio::test]
async fn every_row_passes_the_suite_in_process() {
    for row in rows() {
        let simulator = Simulator::new();
        let ai = AgentLoop::builder().provider(simulator.simulate(row.clone())).build().unwrap();
        suite::run(&ai, &row).await;
    }
}

#[tokio::test]
async fn every_row_passes_the_suite_over_http() {
    let server = Server::start("127.0.0.1:0").await.unwrap();
    for row in rows() {
        // The row as it is, but for where it is served: its own key, headers, rules and quirks.
        let served = row.clone().base_url(server.url()).key("a-key-of-the-test");
        let ai = AgentLoop::builder().provider(served).build().unwrap();
        suite::run(&ai, &row).await;
    }
    server.shutdown().await;
}

#[tokio::test]
async fn the_added_provider_s_own_rules_are_followed() {
    let ai = AgentLoop::builder().provider(added()).build().unwrap();
    let mut request = agentloop::ChatRequest::new("added/m").user("hi").seed(7).temperature(1.5);
    request.logit_bias = Some([("1".to_owned(), 1.0)].into());
    let encoded = agentloop::inspect::encode(&ai, &request, false).unwrap();
    let body: serde_json::Value = serde_json::from_str(encoded.body.get()).unwrap();
    assert_eq!(body["rng_seed"], 7);
    assert_eq!(body["temperature"], 1.0);
    assert!(body.get("logit_bias").is_none());
    assert_eq!(encoded.headers["x-plan"], "free");
    assert_eq!(encoded.url, "https://api.added.example/v1/chat/completions");
    let subjects: Vec<_> = encoded.warnings.iter().filter_map(|w| w.subject.as_deref()).collect();
    assert_eq!(subjects, ["temperature", "seed", "logit_bias"]);
}
