//! Laws over random schedules of faults: whatever fails, a caller sees one well-formed response or one error, never two
//! starts and never content twice, and exactly as many calls are made as the policy says.

use std::time::Duration;

use agentloop::middleware::{Fallback, Jitter, Retry};
use agentloop::{AgentLoop, Error, ErrorKind, Protocol, Timeouts};
use agentloop_sim::{Fault, Faults};
use proptest::prelude::*;

use crate::middleware::lab::{ANSWER, KINDS, Kind, Lab, PROTOCOLS, Seen, ask, builder};

const FAULTS: [&str; 22] = [
    "status=500",
    "status=503",
    "status=529",
    "status=408",
    "status=409",
    "status=429;retry-after=3",
    "status=429;retry-after=400",
    "status=429;code=insufficient_quota",
    "status=400",
    "status=401",
    "html",
    "refuse",
    "drip",
    "error-first",
    "error-events=4",
    "cut-events=0",
    "cut-events=4",
    "cut-bytes=60;reset",
    "stall-events=0",
    "stall-events=4",
    "malformed-events=0",
    "malformed-events=5",
];

pub(crate) fn fault() -> impl Strategy<Value = Option<Fault>> {
    prop_oneof![
        1 => Just(None),
        5 => prop::sample::select(&FAULTS[..]).prop_map(|text| Some(text.parse().unwrap())),
    ]
}

pub(crate) fn call() -> impl Strategy<Value = (Kind, Protocol)> {
    let kinds = (prop::sample::select(&KINDS[..]), prop::sample::select(&PROTOCOLS[..]));
    kinds.prop_filter("served", |(kind, protocol)| {
        *kind != Kind::Embed
            || !matches!(
                protocol,
                Protocol::Anthropic | Protocol::Bedrock | Protocol::GeminiInteractions
            )
    })
}

pub(crate) fn patient(ai: agentloop::AgentLoopBuilder) -> AgentLoop {
    let second = Duration::from_secs(1);
    let timeouts = Timeouts::none().first_content(30 * second).idle(9 * second);
    ai.timeouts(timeouts).build().unwrap()
}

/// The result of a single attempt with that fault: the same call without any middleware.
async fn alone(fault: &Option<Fault>, kind: Kind, protocol: Protocol) -> Seen {
    let lab = Lab::new("lab", Faults::in_order([fault.clone()])).speaking(protocol);
    ask(&patient(builder([&lab])), kind, "lab").await
}

pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(future)
}

/// The caller sees the result of the attempt that counted.
fn same(seen: &Seen, expected: &Seen) {
    let kinds = |seen: &Seen| seen.error.as_ref().map(Error::kind);
    assert_eq!(kinds(seen), kinds(expected));
    assert_eq!((&seen.text, seen.at_once), (&expected.text, expected.at_once));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_retry_makes_the_calls_that_its_policy_allows(
        (kind, protocol) in call(),
        faults in prop::collection::vec(fault(), 0..6),
        max_retries in 0_u32..5,
        seed in any::<u64>(),
    ) {
        run(async {
            let (mut calls, mut causes) = (0_usize, 0);
            let expected = loop {
                let fault = faults.get(calls).cloned().flatten();
                let seen = alone(&fault, kind, protocol).await;
                calls += 1;
                let again = seen.error.as_ref().is_some_and(|error| {
                    seen.at_once
                        && error.is_retryable()
                        && error.retry_after() < Some(Duration::from_secs(60))
                });
                if !again || calls > max_retries as usize {
                    break seen;
                }
                causes += 1;
            };
            let lab = Lab::new("lab", Faults::in_order(faults.clone())).speaking(protocol);
            let retry = Retry::new().max_retries(max_retries).jitter(Jitter::seeded(seed));
            let ai = patient(builder([&lab]).layer(retry));
            let seen = ask(&ai, kind, "lab").await;
            assert_eq!(lab.calls(), calls as u64);
            same(&seen, &expected);
            match &seen.error {
                Some(error) if seen.at_once => assert_eq!(error.causes().len(), causes),
                Some(_) => {}
                None => assert!(kind == Kind::Embed || seen.text == ANSWER),
            }
        });
    }

    #[test]
    fn a_fallback_calls_each_model_once_until_one_responds(
        (kind, protocol) in call(),
        faults in prop::collection::vec(fault(), 3),
    ) {
        run(async {
            let names = ["a", "b", "c"];
            let mut expected = Vec::new();
            for fault in &faults {
                let seen = alone(fault, kind, protocol).await;
                let leads_on = seen.at_once && seen.error.as_ref().is_some_and(|error| {
                    error.is_retryable() || error.kind() == ErrorKind::Quota
                });
                expected.push(seen);
                if !leads_on {
                    break;
                }
            }
            let all_failed = expected.len() == 3 && expected[2].error.as_ref().is_some_and(|e| {
                expected[2].at_once && (e.is_retryable() || e.kind() == ErrorKind::Quota)
            });
            let labs: Vec<Lab> = names.iter().zip(&faults)
                .map(|(name, fault)| {
                    Lab::new(name, Faults::in_order([fault.clone()])).speaking(protocol)
                })
                .collect();
            let model = if kind == Kind::Embed { "vectors" } else { "long-8" };
            let fallback = Fallback::new(["b", "c"].map(|name| format!("{name}/{model}")));
            let ai = patient(builder(&labs).layer(fallback));
            let seen = ask(&ai, kind, "a").await;
            let calls: Vec<u64> = labs.iter().map(Lab::calls).collect();
            let asked: Vec<u64> = (0..3).map(|at| u64::from(at < expected.len())).collect();
            assert_eq!(calls, asked);
            if all_failed {
                assert_eq!(seen.error().kind(), ErrorKind::AllFailed);
                assert_eq!(seen.error().causes().len(), 3);
            } else {
                same(&seen, expected.last().unwrap());
            }
        });
    }
}
