//! Keys, models and paths.

use agentloop::Protocol;
use agentloop_sim::Simulator;
use http::Request;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::common::{CLIENTS, KEY, Stage, UPSTREAMS, chat};

#[tokio::test]
async fn a_key_is_accepted_in_every_usual_place() {
    let stage = Stage::start(Simulator::new()).await;
    for (_, client) in CLIENTS {
        let (path, body) = chat(client, "chat/echo", false);
        let send = |header: &str, value: &str| {
            stage.send(Request::post(stage.at(&path)).header(header, value), body.to_string())
        };
        for (header, value) in [
            ("authorization", &*format!("Bearer {KEY}")),
            ("x-api-key", KEY),
            ("x-goog-api-key", KEY),
        ] {
            let reply = send(header, value).await;
            assert_eq!(reply.status, 200, "{client:?} {header} {}", reply.text());
        }
        let mark = if path.contains('?') { '&' } else { '?' };
        let reply = stage
            .send(Request::post(stage.at(&format!("{path}{mark}key={KEY}"))), body.to_string())
            .await;
        assert_eq!(reply.status, 200, "{client:?} in the query");
        for (header, value) in
            [("x-nothing", ""), ("authorization", "Bearer al-wrong"), ("authorization", "Bearer ")]
        {
            let reply = send(header, value).await;
            assert_eq!(reply.status, 401, "{client:?} {header}");
            assert_eq!(reply.headers["x-should-retry"], "false");
            assert!(!reply.text().contains("al-wrong"));
        }
    }
    // The client's key never reaches the provider.
    for request in stage.simulator.requests() {
        assert!(!format!("{:?} {}", request.headers, request.uri).contains(KEY));
    }
}

#[tokio::test]
async fn a_key_is_held_to_its_models() {
    let settings = "[gateway.keys.narrow]\nkey_env='NARROW'\nmodels=['chat/*','fast']\n[gateway.routes.fast]\nmodels=['claude/echo']\n";
    let stage = Stage::with(Simulator::new(), settings).await;
    for (model, status) in
        [("chat/echo", 200), ("fast", 200), ("claude/echo", 403), ("gemini/echo", 403)]
    {
        for (_, client) in CLIENTS {
            let (path, body) = chat(client, model, false);
            let reply = stage.post_as("sk-NARROW", &path, &body).await;
            assert_eq!(reply.status, status, "{client:?} {model}: {}", reply.text());
        }
    }
    let request = Request::get(stage.at("/v1/models")).header("authorization", "Bearer sk-NARROW");
    let reply = stage.send(request, "").await;
    let ids: Vec<String> = reply.json()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ids, ["fast"]);
    // SDKs encode the name of a model, in capitals or not.
    for (path, status) in [("fast", 200), ("%66ast", 200), ("chat%2fnothing", 404)] {
        let request = Request::get(stage.at(&format!("/v1/models/{path}")))
            .header("authorization", "Bearer sk-NARROW");
        assert_eq!(stage.send(request, "").await.status, status, "{path}");
    }
}

#[tokio::test]
async fn unknown_models_and_paths_are_404_in_the_callers_format() {
    let stage = Stage::start(Simulator::new()).await;
    for (_, client) in CLIENTS {
        let (path, body) = chat(client, "nothing/echo", false);
        let reply = stage.post(&path, &body).await;
        assert_eq!(reply.status, 404, "{client:?}");
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains("unknown provider `nothing`"), "{message}");
    }
    let reply = stage.post("/v1/nothing", &json!({})).await;
    assert_eq!(reply.status, 404);
    let (_, body) = chat(Protocol::OpenAiChat, "", false);
    assert_eq!(stage.post("/v1/chat/completions", &body).await.status, 400);
}

/// What agents ask before they begin.
#[tokio::test]
async fn probes_of_agents_are_answered_without_a_key() {
    let stage = Stage::start(Simulator::new()).await;
    let mut socket = tokio::net::TcpStream::connect(stage.server.address()).await.unwrap();
    let probe = "GET /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n";
    socket.write_all(probe.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 426");
    assert_eq!(stage.send(Request::head(stage.at("/api/hello")), "").await.status, 200);
    assert_eq!(stage.get("/health/live").await.status, 200);
    assert_eq!(stage.get("/health/ready").await.status, 200);
    let list = Request::get(stage.at("/v1/models?limit=1000"))
        .header("x-api-key", KEY)
        .header("anthropic-version", "2023-06-01");
    let reply = stage.send(list, "").await;
    assert_eq!((reply.status, reply.json()["has_more"].as_bool()), (200, Some(false)));
}

#[tokio::test]
async fn tokens_are_counted_by_the_provider_or_estimated_with_a_warning() {
    let stage = Stage::start(Simulator::new()).await;
    let body = json!({ "model": "claude/echo", "messages": [{ "role": "user", "content": "one two three" }] });
    let reply = stage.post("/v1/messages/count_tokens", &body).await;
    assert_eq!(reply.json()["input_tokens"], 3);
    assert!(!reply.headers.contains_key("x-agentloop-warnings"));
    let body = json!({ "model": "chat/echo", "messages": [{ "role": "user", "content": "one two three" }] });
    let reply = stage.post("/v1/messages/count_tokens", &body).await;
    assert_eq!(reply.status, 200);
    assert!(reply.headers["x-agentloop-warnings"].to_str().unwrap().contains("estimate"));
}

#[tokio::test]
async fn vectors_come_in_the_form_of_the_callers_api() {
    let stage = Stage::start(Simulator::new()).await;
    let embeds = |name: &str| !matches!(name, "claude" | "interactions");
    for (name, _) in UPSTREAMS.iter().filter(|(name, _)| embeds(name)) {
        let model = format!("{name}/embed");
        let reply = stage
            .post(
                "/v1/embeddings",
                &json!({ "model": model, "input": ["a", "b"], "dimensions": 4 }),
            )
            .await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        assert_eq!(reply.json()["data"][1]["embedding"].as_array().unwrap().len(), 4, "{name}");
        let body = json!({ "content": { "parts": [{ "text": "a" }] }, "outputDimensionality": 4 });
        let reply = stage.post(&format!("/v1beta/models/{model}:embedContent"), &body).await;
        assert_eq!(
            reply.json()["embedding"]["values"].as_array().map(Vec::len),
            Some(4),
            "{name}: {}",
            reply.text()
        );
    }
    let reply =
        stage.post("/v1/embeddings", &json!({ "model": "claude/embed", "input": "a" })).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
}
