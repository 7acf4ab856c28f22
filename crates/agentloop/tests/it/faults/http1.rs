//! HTTP/1.1: the table, line by line.

use std::time::Duration;

use agentloop::transport::HttpTransport;
use agentloop::{ErrorKind, Protocol};
use futures_util::future::join_all;

use crate::faults::calls::{Call, client, transport};
use crate::faults::leaks::leaving_nothing;
use crate::faults::server::{Plan, Server, Step};
use crate::faults::table::{Fate, LINES, Line};
use crate::support::patience::{PATIENCE, until};

/// How long a call waits for what never comes.
///
/// On a busy machine a good response can take longer than the first of these times: a call that is not as expected is made again with the
/// next. What is wrong is wrong with all of them.
const STALLS: [Duration; 3] =
    [Duration::from_millis(300), Duration::from_secs(5), Duration::from_secs(60)];

#[test]
fn every_fault_has_its_kind_and_is_retried_before_the_first_content() {
    leaving_nothing(async || {
        // One for all: each server is an origin of its own.
        let (mut wrong, transport) = (Vec::new(), transport());
        for line in LINES {
            let stalls = line.steps.iter().any(|step| matches!(step, Step::Stall));
            let times: &[Duration] = if stalls { &STALLS } else { &[PATIENCE] };
            let mut calls: Vec<_> = Call::everywhere().collect();
            for time in times {
                let all = calls
                    .iter()
                    .map(|(call, protocol)| check(line, *call, *protocol, &transport, *time));
                let found = join_all(all).await;
                let again = calls.into_iter().zip(&found).filter(|(_, found)| !found.is_empty());
                calls = again.map(|(call, _)| call).collect();
                if calls.is_empty() || Some(time) == times.last() {
                    wrong.extend(found.into_iter().flatten());
                    break;
                }
            }
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
    timeout: Duration,
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
    expect("the fault", (server.requests() > from).to_string(), true.to_string());
    // A connection with a good response may be reused.
    let kept = usize::from(seen.is_ok());
    until("the connections are closed", async || server.open() <= kept).await;
    drop((ai, server));

    // Once: what a retry makes of it.
    let to = if line.follows { usize::MAX } else { from + 1 };
    let server = Server::start(Plan { to, ..plan }).await;
    let ai = client(protocol, &server.url, transport.clone(), timeout, 3);
    let seen = call.make(&ai).await;
    let kind = seen.as_ref().err().map(agentloop::Error::kind);
    let wanted: Option<ErrorKind> = if fate.is_retried() { None } else { fate.kind() };
    expect("with retries", format!("{kind:?}"), format!("{wanted:?}"));
    // The first attempt fails, and the second does not.
    let tries = server.requests().saturating_sub(from);
    let right = tries == if fate.is_retried() { 2 } else { 1 } || line.follows;
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
