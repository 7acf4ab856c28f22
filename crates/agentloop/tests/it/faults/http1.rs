//! HTTP/1.1: the table, line by line.

use std::time::{Duration, Instant};

use agentloop::transport::HttpTransport;
use agentloop::{ErrorKind, Protocol};
use futures_util::future::join_all;

use crate::faults::calls::{Call, client, transport};
use crate::faults::leaks::{PATIENCE, leaving_nothing};
use crate::faults::server::{Plan, Server, Step};
use crate::faults::table::{Fate, LINES, Line};

/// How long is waited for what never comes; where something comes, far longer.
const SHORT: Duration = Duration::from_millis(300);

#[test]
fn every_fault_has_its_kind_and_is_retried_before_the_first_content() {
    leaving_nothing(async || {
        // One for all: each server is an origin of its own.
        let (mut wrong, transport) = (Vec::new(), transport());
        for line in LINES {
            let all =
                Call::everywhere().map(|(call, protocol)| check(line, call, protocol, &transport));
            wrong.extend(join_all(all).await.into_iter().flatten());
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    });
}

/// Returns what is wrong in one row of the table for one call.
async fn check(
    line: &'static Line,
    call: Call,
    protocol: Protocol,
    transport: &HttpTransport,
) -> Vec<String> {
    let fate = match (call.is_streamed(), line.without_end) {
        (false, _) => line.whole,
        // The streams of this protocol have no end marker.
        (true, Some(fate)) if protocol == Protocol::Gemini => fate,
        (true, _) => line.streamed,
    };
    let mut wrong = Vec::new();
    let mut expect = |what: &str, seen: String, wanted: String| {
        if seen != wanted {
            let place = format!("{}, {call:?} in {protocol:?}", line.name);
            wrong.push(format!("{place}, {what}: {seen}, not {wanted}"));
        }
    };
    let stalls = line.steps.iter().any(|step| matches!(step, Step::Stall));
    let timeout = if stalls { SHORT } else { PATIENCE };
    let from = call.before();

    // Always: the error itself, and that the connection is not kept.
    let plan = Plan { protocol, from, to: usize::MAX, steps: line.steps };
    let server = Server::start(plan).await;
    let ai = client(protocol, &server.url, transport.clone(), timeout, 0);
    let seen = call.make(&ai).await;
    let kind = seen.as_ref().err().map(agentloop::Error::kind);
    expect("the error", format!("{kind:?}"), format!("{:?}", fate.kind()));
    if let Err(error) = &seen
        && kind == fate.kind()
    {
        expect("retryable", error.is_retryable().to_string(), fate.is_retried().to_string());
        expect("the provider", format!("{:?}", error.provider()), "Some(\"lab\")".to_owned());
    }
    let began = Instant::now();
    // A connection with a good response may be reused.
    let kept = usize::from(seen.is_ok());
    while server.open() > kept && began.elapsed() < PATIENCE {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    expect("open connections", (server.open() <= kept).to_string(), true.to_string());
    drop((ai, server));

    // Once: what a retry makes of it.
    let to = if line.follows { usize::MAX } else { from + 1 };
    let server = Server::start(Plan { to, ..plan }).await;
    let ai = client(protocol, &server.url, transport.clone(), timeout, 3);
    let seen = call.make(&ai).await;
    let kind = seen.as_ref().err().map(agentloop::Error::kind);
    let wanted: Option<ErrorKind> = if fate.is_retried() { None } else { fate.kind() };
    expect("with retries", format!("{kind:?}"), format!("{wanted:?}"));
    let tries = server.requests() - from;
    // On a busy machine a good response may arrive late too, and be retried.
    let right = if fate.is_retried() { tries >= 2 } else { tries == 1 || line.follows };
    expect("tries", format!("{tries} {right}"), format!("{tries} true"));
    wrong
}

impl Fate {
    fn kind(self) -> Option<ErrorKind> {
        match self {
            Self::Well => None,
            Self::Again(kind) | Self::Fails(kind) => Some(kind),
        }
    }

    fn is_retried(self) -> bool {
        matches!(self, Self::Again(_))
    }
}
