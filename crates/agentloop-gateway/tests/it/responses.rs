//! Responses that a client refers to by their id.

use agentloop_sim::Simulator;
use serde_json::json;

use crate::common::{Stage, UPSTREAMS};

#[tokio::test]
async fn a_conversation_goes_on_by_the_id_of_its_last_response() {
    let stage = Stage::start(Simulator::new()).await;
    for (name, upstream) in UPSTREAMS.iter().filter(|(name, _)| *name != "responses") {
        for stream in [false, true] {
            let body = json!({ "model": format!("{name}/think"), "input": "My name is Ada.", "stream": stream });
            let reply = stage.post("/v1/responses", &body).await;
            let id = if !stream {
                reply.json()["id"].as_str().unwrap().to_owned()
            } else {
                let at = reply.text().find("resp_").unwrap();
                reply.text()[at..].split('"').next().unwrap().to_owned()
            };
            assert!(id.starts_with("resp_"), "{id}");
            let body = json!({ "model": format!("{name}/echo"), "input": "Who am I?", "previous_response_id": id });
            let reply = stage.post("/v1/responses", &body).await;
            assert_eq!(reply.status, 200, "{upstream:?} {}", reply.text());
            let sent = stage.simulator.last_request().unwrap().chat().unwrap();
            let texts: Vec<String> =
                sent.messages.iter().map(agentloop::ChatMessage::text).collect();
            assert_eq!(texts.first().map(String::as_str), Some("My name is Ada."), "{upstream:?}");
            assert_eq!(texts.last().map(String::as_str), Some("Who am I?"), "{upstream:?}");
            assert!(texts.len() >= 3, "{upstream:?} {texts:?}");
        }
    }
}

#[tokio::test]
async fn an_unknown_id_and_one_that_was_not_stored_are_404() {
    let stage = Stage::start(Simulator::new()).await;
    let body = json!({ "model": "claude/echo", "input": "Hi", "store": false });
    let id = stage.post("/v1/responses", &body).await.json()["id"].as_str().unwrap().to_owned();
    for id in [id.as_str(), "resp_unknown"] {
        let body = json!({ "model": "claude/echo", "input": "Hi", "previous_response_id": id });
        let reply = stage.post("/v1/responses", &body).await;
        assert_eq!(
            (reply.status, reply.json()["error"]["code"].as_str()),
            (404, Some("previous_response_not_found"))
        );
    }
}

#[tokio::test]
async fn a_reload_keeps_stored_responses() {
    let stage = Stage::start(Simulator::new()).await;
    let body = json!({ "model": "claude/echo", "input": "Hi" });
    let reply = stage.post("/v1/responses", &body).await.json();
    assert!(reply["created_at"].as_i64().is_some_and(|time| time > 0), "{reply}");
    let config = agentloop::Config::parse("[gateway.keys.test]\nkey_env='TEST'").unwrap();
    let client = stage.client(agentloop::Protocol::OpenAiChat);
    let state = agentloop_gateway::State::new(
        &client,
        &config.gateway.unwrap(),
        agentloop_gateway::KeyRing::default(),
        &|_| Some(crate::common::KEY.to_owned()),
    );
    stage.gateway.reload(state.unwrap());
    // The provider of the new settings is the gateway itself, which does not know the model: the id is found before.
    let body = json!({ "model": "gw/x", "input": "Bye", "previous_response_id": reply["id"] });
    let reply = stage.post("/v1/responses", &body).await;
    assert_ne!(reply.json()["error"]["code"], "previous_response_not_found", "{}", reply.text());
}
