//! More than anybody wants: the bounds hold, and the call fails with the right word.

use std::time::Duration;

use agentloop::{ErrorKind, Protocol};

use crate::faults::calls::{Call, client, transport};
use crate::faults::leaks::leaving_nothing;
use crate::faults::server::Step::{self, Many, Raw};
use crate::faults::server::{Plan, Server};

/// A piece of what has no end.
const MIB: usize = 1 << 20;

async fn fails(call: Call, steps: &'static [Step]) -> ErrorKind {
    let plan = Plan { protocol: Protocol::OpenAiChat, from: call.before(), to: usize::MAX, steps };
    let server = Server::start(plan).await;
    let patient = Duration::from_secs(120);
    let ai = client(plan.protocol, &server.url, transport(), patient, 2);
    let error = tokio::time::timeout(patient, call.made(&ai)).await.unwrap().unwrap_err();
    // A response that is too large is too large again.
    assert_eq!(server.requests() - call.before(), 1, "{call:?} is not tried again");
    error.kind()
}

const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
const JSON: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";

#[test]
fn a_line_without_an_end_is_too_large() {
    leaving_nothing(async || {
        for call in [Call::Stream, Call::RunStream] {
            let steps = &[Raw(EVENTS), Raw("data: "), Many(b'x', 34 * MIB)];
            assert_eq!(fails(call, steps).await, ErrorKind::TooLarge);
        }
    });
}

#[test]
fn a_body_without_an_end_is_too_large() {
    leaving_nothing(async || {
        for call in [Call::Chat, Call::Embed, Call::Run] {
            assert_eq!(
                fails(call, &[Raw(JSON), Raw("{\"id\":\""), Many(b'x', 130 * MIB)]).await,
                ErrorKind::TooLarge
            );
        }
    });
}

#[test]
fn headers_without_an_end_are_an_error() {
    leaving_nothing(async || {
        for call in Call::ALL {
            let steps = &[Raw("HTTP/1.1 200 OK\r\nx: "), Many(b'y', 2 * MIB)];
            assert_eq!(fails(call, steps).await, ErrorKind::Protocol, "{call:?}");
        }
    });
}

#[test]
fn a_small_body_that_unpacks_to_a_large_one_is_too_large() {
    leaving_nothing(async || {
        let bombs: [(Call, &[Step]); 2] = [
            (Call::Stream, &[Step::Bomb("text/event-stream", 34 * MIB)]),
            (Call::Chat, &[Step::Bomb("application/json", 130 * MIB)]),
        ];
        for (call, steps) in bombs {
            assert_eq!(fails(call, steps).await, ErrorKind::TooLarge, "{call:?}");
        }
    });
}
