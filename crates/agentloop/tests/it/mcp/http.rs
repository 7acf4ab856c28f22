//! Servers at a URL, offline: a transport that contains the scripted server.

use std::fmt;
use std::sync::{Arc, Mutex};

use agentloop::agent::mcp::McpServer;
use agentloop::agent::{CancelToken, Policy, RunEvent, RunRequest, ToolStatus};
use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
use agentloop::{ErrorKind, Result};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use serde_json::{Value, json};

use crate::mcp::fake::{Fake, Reaction};
use crate::mcp::run::{agent, call, request};

/// The form of the responses.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    Json,
    Events,
    /// As in the newest version of the protocol, which has no `initialize`.
    Newest,
    Locked,
    Web,
}

struct Site {
    fake: Fake,
    style: Style,
    asked: Mutex<Vec<(Method, HeaderMap)>>,
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.style.fmt(f)
    }
}

impl Site {
    fn answer(&self, request: &Request<Bytes>) -> Response<Body> {
        let head = (request.method().clone(), request.headers().clone());
        self.asked.lock().unwrap().push(head);
        let status = |status, body: &str| {
            Response::builder().status(status).body(Body::whole(body.to_owned())).unwrap()
        };
        match (self.style, request.method()) {
            (Style::Locked, _) => return status(StatusCode::UNAUTHORIZED, "who are you?"),
            (Style::Web, _) => return status(StatusCode::OK, "<html>"),
            (_, &Method::GET) => return status(StatusCode::METHOD_NOT_ALLOWED, ""),
            (_, &Method::DELETE) => return status(StatusCode::OK, ""),
            _ => {}
        }
        let message: Value = serde_json::from_slice(request.body()).unwrap();
        if self.style == Style::Newest {
            if let Some(answer) = newest(&message) {
                let answer =
                    Response::builder().header("content-type", "application/json").body(answer);
                return answer.unwrap();
            }
            assert_eq!(request.headers()["mcp-protocol-version"], "2026-07-28");
        }
        let Reaction::These(said) = self.fake.answer(&message) else {
            return status(StatusCode::INTERNAL_SERVER_ERROR, "it broke");
        };
        if said.is_empty() {
            return status(StatusCode::ACCEPTED, "");
        }
        let answer = Response::builder().header("mcp-session-id", "session-1");
        if matches!(self.style, Style::Json | Style::Newest) {
            let body = Body::whole(said.last().unwrap().to_string());
            return answer.header("content-type", "application/json").body(body).unwrap();
        }
        let whole = said.iter().any(|message| message.get("id").is_some());
        let events =
            said.into_iter().map(|message| Ok(Bytes::from(format!("data: {message}\n\n"))));
        let events = stream::iter(events.collect::<Vec<_>>());
        let body = if whole {
            Body::stream(events)
        } else {
            Body::stream(events.chain(stream::pending()))
        };
        answer.header("content-type", "text/event-stream; charset=utf-8").body(body).unwrap()
    }
}

/// Returns the responses of a server that supports only the newest version.
fn newest(message: &Value) -> Option<Body> {
    let answer = match message["method"].as_str()? {
        "initialize" => json!({ "error": { "code": -32601, "message": "no initialize here" } }),
        "server/discover" => json!({ "result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} },
            "ttlMs": 0,
            "cacheScope": "private",
        } }),
        _ => return None,
    };
    let mut answer = answer.as_object().unwrap().clone();
    answer.insert("jsonrpc".to_owned(), json!("2.0"));
    answer.insert("id".to_owned(), message["id"].clone());
    Some(Body::whole(Value::Object(answer).to_string()))
}

impl Transport for Site {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: SendOptions,
    ) -> BoxFuture<'a, Result<Response<Body>>> {
        Box::pin(async move { Ok(self.answer(&request)) })
    }
}

fn site(style: Style) -> (Arc<Site>, McpServer) {
    let site = Arc::new(Site { fake: Fake::default(), style, asked: Mutex::default() });
    let server = McpServer::http("https://mcp.example.com/mcp")
        .transport(site.clone())
        .bearer("t0p")
        .header("x-tenant", "7")
        .named("site")
        .policy(Policy::Allow);
    (site, server)
}

#[tokio::test]
async fn a_url_can_respond_with_json_or_with_events() {
    for style in [Style::Json, Style::Events] {
        let (site, server) = site(style);
        let connection = server.connect().await.unwrap();
        assert_eq!(connection.tools().len(), 10, "{style:?}");
        let result = call(&connection, "site__sum", json!({ "a": 20, "b": 22 })).await;
        assert_eq!(result.output.to_text(), r#"{"sum":42.0}"#, "{style:?}");
        let failed = call(&connection, "site__refuses", json!({})).await;
        assert_eq!(failed.output.to_text(), "not with me", "{style:?}");
        connection.close().await;
        let asked = site.asked.lock().unwrap();
        for (method, headers) in asked.iter() {
            assert_eq!(headers["authorization"], "Bearer t0p", "{method}");
            assert_eq!(headers["x-tenant"], "7", "{method}");
        }
        let later = asked.iter().filter(|(_, headers)| headers.contains_key("mcp-session-id"));
        assert!(later.count() >= 3, "the session goes along");
        assert!(asked.iter().any(|(method, _)| method == Method::DELETE), "it is ended");
    }
}

#[tokio::test]
async fn a_server_that_supports_only_the_newest_version_can_be_used() {
    let (_, server) = site(Style::Newest);
    let connection = server.connect().await.unwrap();
    let result = call(&connection, "site__echo", json!({ "message": "hi" })).await;
    assert_eq!(result.output.to_text(), "hi");
}

#[tokio::test]
async fn cancelling_a_call_over_http_notifies_the_server() {
    let (site, server) = site(Style::Events);
    let connection = server.connect().await.unwrap();
    let cancel = CancelToken::new();
    let request = RunRequest::new(request()).cancel_token(&cancel);
    let mut stream = agent(&connection, &[("site__slow", json!({}))]).stream(request);
    while let Some(event) = stream.next().await {
        if let RunEvent::ToolProgress { fraction, .. } = event {
            assert_eq!(fraction, Some(0.25));
            cancel.cancel();
        }
    }
    site.fake.wait_for(|message| message["method"] == "notifications/cancelled").await;
}

#[tokio::test]
async fn a_url_that_fails_fails_the_calls_of_its_tools() {
    let (_, server) = site(Style::Json);
    let connection = server.connect().await.unwrap();
    let result = call(&connection, "site__exit", json!({})).await;
    assert_eq!(result.status, ToolStatus::Failed);
    let text = result.output.to_text();
    assert!(text.contains("`site`") && text.contains("HTTP 500"), "{text}");
    let again = call(&connection, "site__echo", json!({ "message": "hi" })).await;
    assert_eq!(again.output.to_text(), "hi", "another call may do better");
}

#[tokio::test]
async fn a_url_that_requires_a_token_or_is_not_a_server_is_reported() {
    let (_, server) = site(Style::Locked);
    let error = server.connect().await.unwrap_err();
    assert_eq!((error.kind(), error.status()), (ErrorKind::Auth, Some(401)));
    assert!(
        error.message().contains("mcp.example.com") && error.message().contains("who are you?"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("bearer"), "{error:?}");
    let (_, server) = site(Style::Web);
    let error = server.connect().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol, "{error}");
}
