//! What the shortcuts of the client save. They are justified by these counts, which do not depend on time: a shortcut that no longer
//! saves what is asserted here should go.

use std::sync::Arc;

use agentloop::middleware::{Next, Request as Call};
use agentloop::transport::{HttpTransport, SendOptions, Transport};
use agentloop::{AgentLoop, ChatRequest, Provider};
use allocation_counter::{AllocationInfo, measure};
use bytes::Bytes;
use http::Request;
use serde_json::json;

use crate::support::canned;

/// The text of the response, in bytes.
const TEXT: usize = 10_000;

fn lab() -> Provider {
    let body = json!({ "id": "a", "model": "m", "choices": [
        { "message": { "role": "assistant", "content": "x".repeat(TEXT) }, "finish_reason": "stop" }
    ] });
    let transport = canned::json(body.to_string());
    Provider::openai_compatible("lab", "http://lab.invalid").transport(transport)
}

fn chat(ai: &AgentLoop, request: &Arc<ChatRequest>) -> AllocationInfo {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = || assert_eq!(runtime.block_on(ai.chat(request)).unwrap().text().len(), TEXT);
    // The first call creates values that are created once.
    call();
    measure(call)
}

/// A client without middleware takes the response from the fold and makes no events of it. With one middleware that does nothing, the
/// same call makes the events and folds them again.
#[test]
fn a_complete_response_without_middleware_saves_its_events() {
    let plain = AgentLoop::builder().provider(lab()).build().unwrap();
    let pass = |request: Call, next: Next| async move { next.run(request).await };
    let through = AgentLoop::builder().provider(lab()).middleware(pass).build().unwrap();
    let request = Arc::new(ChatRequest::new("lab/m").user("Hello"));
    let (plain, through) = (chat(&plain, &request), chat(&through, &request));
    println!(
        "{} allocations of {} bytes without middleware, {} of {} with one",
        plain.count_total, plain.bytes_total, through.count_total, through.bytes_total
    );
    assert!(plain.count_total + 10 <= through.count_total);
    assert!(plain.bytes_total + 2 * TEXT as u64 <= through.bytes_total, "two copies of the text");
}

/// What is needed only until the response begins, or only sometimes, is boxed: media, refusals, embeddings, connecting. The future of a
/// call is inside of the caller's own, which may wait for many at once.
#[test]
fn the_future_of_a_call_is_small() {
    let ai = AgentLoop::builder().provider(lab()).build().unwrap();
    let request = ChatRequest::new("lab/m").user("Hello");
    let (chat, stream) = (size_of_val(&ai.chat(&request)), size_of_val(&ai.stream(&request)));
    println!(
        "chat {chat} bytes, stream {stream} bytes, a request {} bytes",
        size_of::<ChatRequest>()
    );
    assert!(chat <= 6 << 10, "{chat}");
    assert!(stream <= 512, "{stream}");
}

/// glibc keeps free memory of up to 1032 bytes in lists that are cheap to use. The future of a request is allocated for every call.
#[test]
fn the_future_of_a_request_is_small_enough_for_cheap_allocation() {
    let request = Request::post("http://lab.invalid").body(Bytes::new()).unwrap();
    let transport = HttpTransport::new();
    let future = transport.send(request, SendOptions::default());
    let size = size_of_val(&*future);
    println!("{size} bytes");
    assert!(size <= 1032, "{size}");
}
