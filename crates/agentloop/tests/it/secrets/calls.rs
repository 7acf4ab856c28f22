//! Calls to a server that repeats keys.

use std::sync::{Arc, Mutex};

use agentloop::agent::{Agent, Policy, Tool};
use agentloop::middleware::{Fallback, Logger, Retry};
use agentloop::protocol::serve::Operation;
use agentloop::relay::RelayRequest;
use agentloop::transport::HttpTransport;
use agentloop::{AgentLoop, ChatRequest, EmbedRequest, Error, Protocol, Provider};
use serde_json::{Value, json};

use crate::secrets::echo::{Echo, Manner};
use crate::secrets::listen::Listener;
use crate::secrets::{assert_silent, hush};
use crate::support::own_process::own_process;

/// A client with a secret wherever one fits, and what it logs.
fn client(address: &str) -> (AgentLoop, Arc<Mutex<String>>) {
    let log = Arc::<Mutex<String>>::default();
    let lines = Arc::clone(&log);
    let url = format!("http://{address}/v1?api-key={}", hush("query"));
    let row = Provider::openai_compatible("lab", url)
        .key_env("LAB_KEY")
        .header("x-lab-token", hush("row-header"));
    let other =
        Provider::openai_compatible("other", format!("http://{address}/v1")).key(hush("builder"));
    let ai = AgentLoop::builder()
        .provider(row)
        .provider(other)
        .env("LAB_KEY", hush("environment"))
        .transport(HttpTransport::builder().without_proxy().build().unwrap())
        .layer(Logger::new())
        .layer(Logger::to(move |entry| {
            lines
                .lock()
                .unwrap()
                .push_str(&format!("{entry:?} {}", serde_json::to_string(entry).unwrap()));
        }))
        .layer(Fallback::new(["other/m"]))
        .layer(Retry::new().max_retries(0))
        .build()
        .unwrap();
    (ai, log)
}

fn request() -> ChatRequest {
    ChatRequest::new("lab/m").user("Hi").header("x-my-secret", hush("extra-header"))
}

fn check(what: &str, error: &Error) {
    let json = serde_json::to_string(error).unwrap();
    assert_silent(what, &format!("{error} {error:?} {json} {:?}", error.raw()));
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        assert_silent(what, &format!("{cause} {cause:?}"));
        source = cause.source();
    }
}

/// In a process of its own, because other threads without a subscriber decide what is traced.
#[test]
fn an_error_that_echoes_a_key_does_not_show_it() {
    own_process(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(errors_that_echo_a_key());
    });
}

async fn errors_that_echo_a_key() {
    let (listener, _guard) = Listener::start();
    let mut sent = String::new();
    for manner in [401, 400, 404, 429, 500]
        .map(Manner::Status)
        .into_iter()
        .chain([Manner::Stream, Manner::Garbage])
    {
        let echo = Echo::start(manner.clone()).await;
        let (ai, log) = client(&echo.address);
        let what = format!("{manner:?}");
        check(&what, &ai.chat(request()).await.unwrap_err());
        let streamed = match ai.stream(request()).await {
            Err(error) => error,
            Ok(stream) => stream.response().await.unwrap_err(),
        };
        check(&what, &streamed);
        let mut embed = EmbedRequest::new("lab/m", "Hi");
        embed.extra_headers.insert("x-my-secret".to_owned(), hush("extra-header"));
        check(&what, &ai.embed(embed).await.unwrap_err());
        check(&what, &ai.models("lab").await.unwrap_err());
        let mut events = Agent::new(ai).stream(request());
        while let Some(event) = events.next().await {
            let json = serde_json::to_string(&event).unwrap();
            assert_silent(&what, &format!("{event:?} {json}"));
        }
        assert_silent("the log", &log.lock().unwrap());
        sent.push_str(&echo.heads.lock().unwrap().concat());
    }
    // They were sent, all of them.
    for place in ["environment", "builder", "query", "row-header", "extra-header"] {
        assert!(sent.contains(&hush(place)), "{place}: {sent}");
    }
    assert!(!listener.heard().is_empty());
    assert_silent("what is traced", &listener.heard());
}

/// A gateway passes the body of an error on to its own clients, who must not learn the key of the provider.
#[tokio::test]
async fn a_relayed_error_that_echoes_a_key_does_not_show_it() {
    for status in [400, 401, 404, 429, 500] {
        let echo = Echo::start(Manner::Status(status)).await;
        let (ai, _) = client(&echo.address);
        for operation in [Operation::Chat, Operation::Embed] {
            let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"input":"Hi"}"#;
            let request = RelayRequest::new("lab/m", Protocol::OpenAiChat, operation, body);
            let failed = ai.relay(request).await.unwrap_err();
            check("a relayed error", &failed.error);
            let (headers, body) = *failed.response.unwrap();
            assert!(body.starts_with(br#"{"error":"#), "{body:?}");
            assert_silent("the relayed body", &String::from_utf8_lossy(&body));
            assert_silent("the relayed headers", &format!("{headers:?}"));
        }
        assert!(echo.heads.lock().unwrap().concat().contains(&hush("environment")));
    }
}

#[tokio::test]
async fn no_key_is_sent_to_the_target_of_a_redirect() {
    let end = Echo::start(Manner::Well).await;
    let there = format!("http://{}/elsewhere", end.address);
    let begin = Echo::start(Manner::Redirect(there)).await;
    let (ai, _) = client(&begin.address);
    let error = ai.chat(request()).await.unwrap_err();
    check("a redirect to another origin", &error);
    assert!(format!("{error:?}").contains(&end.address), "{error:?}");
    let _ = ai.models("lab").await;
    assert!(begin.heads.lock().unwrap().concat().contains(&hush("environment")));
    assert_silent("the redirected request", &end.heads.lock().unwrap().concat());
    // A URL in an error may contain a secret too.
    let there = format!("gopher://u:{}@x/", hush("location"));
    let begin = Echo::start(Manner::Redirect(there)).await;
    check("a redirect", &client(&begin.address).0.chat(request()).await.unwrap_err());
}

#[tokio::test]
async fn a_saved_run_contains_no_key() {
    let simulator = agentloop_sim::Simulator::new().with_key(hush("builder"));
    let server = simulator.serve("127.0.0.1:0").await.unwrap();
    let row = Provider::openai_compatible("lab", server.url()).key(hush("builder"));
    let ai = AgentLoop::builder().provider(row.header("x-lab-token", hush("row-header")));
    let parameters = json!({"type": "object"});
    let tool = Tool::dynamic("act", "Acts", parameters, |_: Value, _| async { Ok("done") });
    let agent = Agent::new(ai.build().unwrap()).tool(tool.policy(Policy::Ask));
    let outcome = agent.run(ChatRequest::new("lab/echo").user("Act")).await.unwrap();
    let suspended = outcome.suspended.as_ref().unwrap();
    let json = serde_json::to_string(suspended).unwrap();
    assert_silent("a run that waits", &format!("{suspended:?} {json} {outcome:?}"));
    server.shutdown().await;
}
