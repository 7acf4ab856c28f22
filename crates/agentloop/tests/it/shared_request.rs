//! A request that is borrowed or shared is not copied.

use std::sync::Arc;

use agentloop::transport::Body;
use agentloop::{AgentLoop, ChatRequest, ErrorKind, Provider, SharedRequest, ToolDefinition};
use allocation_counter::measure;
use bytes::Bytes;
use http::Request;
use serde_json::{Value, json};

use crate::support::canned::{self, Canned};

/// Responds to every request with the same text, streamed if the request is for a stream.
fn lab() -> Provider {
    let transport = Canned(|request: &Request<Bytes>| {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        let (kind, text) = match body.get("stream") {
            None => (
                "application/json",
                r#"{"id":"a","choices":[{"message":{"content":"Yes."},"finish_reason":"stop"}]}"#,
            ),
            Some(_) => (
                "text/event-stream",
                "data: {\"id\":\"a\",\"choices\":[{\"delta\":{\"content\":\"Yes.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
            ),
        };
        canned::response(kind, Body::whole(text.to_owned()))
    });
    Provider::openai_compatible("lab", "http://lab.invalid").transport(transport)
}

/// A request as an agent has it: many tools, a long conversation.
fn request() -> ChatRequest {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let tools = (0..50).map(|at| ToolDefinition::function(format!("read_{at}"), schema.clone()));
    (0..50).fold(ChatRequest::new("lab/m").tools(tools), |request, _| request.user("Go on."))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn a_call_does_not_copy_a_request_that_it_borrows_or_shares() {
    let (ai, runtime) = (AgentLoop::builder().provider(lab()).build().unwrap(), runtime());
    let (mine, shared) = (request(), Arc::new(request()));
    let chat = |request: SharedRequest<'_>| {
        measure(|| assert_eq!(runtime.block_on(ai.chat(request)).unwrap().text(), "Yes."))
    };
    let stream = |request: SharedRequest<'_>| {
        measure(|| {
            let response = runtime.block_on(async { ai.stream(request).await?.response().await });
            assert_eq!(response.unwrap().text(), "Yes.");
        })
    };
    let copy = measure(|| drop(mine.clone())).count_total;
    assert!(copy > 500, "{copy}");
    // Values that are created once.
    chat(request().into());
    stream(request().into());
    for (what, call) in [
        ("chat", &chat as &dyn Fn(SharedRequest<'_>) -> allocation_counter::AllocationInfo),
        ("stream", &stream),
    ] {
        let owned = call(mine.clone().into()).count_total;
        // A stream shares a request that it is given.
        let (borrowed, held) = (call((&mine).into()), call((&shared).into()));
        println!(
            "{what}: {owned} allocations owned, {} borrowed, {} shared",
            borrowed.count_total, held.count_total
        );
        assert!(borrowed.count_total <= owned, "{what}: {} borrowed", borrowed.count_total);
        assert!(held.count_total <= owned, "{what}: {} shared", held.count_total);
    }
}

#[test]
fn middleware_copies_a_borrowed_request_and_shares_a_shared_one() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&seen);
    let builder = AgentLoop::builder().provider(lab()).middleware(
        move |request: agentloop::middleware::Request, next: agentloop::middleware::Next| {
            let log = Arc::clone(&log);
            async move {
                log.lock().unwrap().push(request.chat().unwrap() as *const ChatRequest as usize);
                next.run(request).await
            }
        },
    );
    let (ai, runtime) = (builder.build().unwrap(), runtime());
    let (mine, shared) = (request(), Arc::new(request()));
    runtime.block_on(async {
        ai.chat(&mine).await.unwrap();
        ai.chat(&shared).await.unwrap();
        ai.stream(&shared).await.unwrap().response().await.unwrap();
    });
    let seen = seen.lock().unwrap();
    let place = Arc::as_ptr(&shared) as usize;
    assert!(seen[0] != &raw const mine as usize && seen[1..] == [place, place]);
    assert_eq!(Arc::strong_count(&shared), 1, "a call that ended holds nothing");
}

#[test]
fn a_borrowed_request_that_is_nested_too_deeply_is_refused() {
    let ai = AgentLoop::builder().provider(lab()).build().unwrap();
    let deep = (0..200).fold(Value::Null, |inner, _| json!([inner]));
    let mut request = ChatRequest::new("lab/m").user("Hello");
    request.extra_body.insert("deep".to_owned(), deep);
    let shared = Arc::new(request.clone());
    for refused in [SharedRequest::from(&request), (&shared).into(), shared.clone().into()] {
        let error = runtime().block_on(ai.chat(refused)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidRequest);
    }
    assert!(runtime().block_on(ai.stream(&request)).is_err());
}
