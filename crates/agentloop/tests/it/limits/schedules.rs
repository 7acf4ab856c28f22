//! Whatever the order of arrival: no minute has too many calls, and no call waits while there is room.

use std::time::Duration;

use agentloop::middleware::Limit;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::limits::host::{Host, WAYS};

/// Rates of which a call is worth whole milliseconds.
const RATES: [u64; 5] = [6, 30, 60, 120, 600];

/// When each call is sent, computed in another way than in the library: a bucket with a level.
fn expected(arrivals: &[u64], rate: u64, burst: u64) -> Vec<f64> {
    let rate = rate as f64 / 60_000.0;
    let capacity = burst as f64 * rate;
    let needed = capacity.min(1.0);
    let (mut level, mut at) = (capacity, 0.0_f64);
    arrivals
        .iter()
        .map(|arrival| {
            let came = at.max(*arrival as f64);
            level = (level + (came - at) * rate).min(capacity);
            at = came + ((needed - level) / rate).max(0.0);
            level = (level + (at - came) * rate).min(capacity) - 1.0;
            at
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_minute_has_too_many_calls_and_no_call_waits_while_there_is_room(
        gaps in prop::collection::vec(prop_oneof![Just(0_u64), 0_u64..3_000, 0_u64..40_000], 1..90),
        ways in prop::collection::vec(0_usize..3, 90),
        rate in prop::sample::select(&RATES[..]),
        burst in prop::sample::select(&[1_000_u64, 10_000, 60_000][..]),
    ) {
        let arrivals: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let host = Host::new();
        let began = clock.block_on(async {
            let began = Instant::now();
            let limit = Limit::new()
                .requests_per_minute(rate)
                .burst(Duration::from_millis(burst))
                .max_wait(Duration::from_secs(86_400));
            let ai = host.client(limit);
            let mut calls = Vec::new();
            for (at, arrival) in arrivals.iter().enumerate() {
                tokio::time::sleep_until(began + Duration::from_millis(*arrival)).await;
                let (ai, way) = (ai.clone(), WAYS[ways[at]]);
                calls.push(tokio::spawn(async move {
                    way.ask(&ai, "sim/echo", &format!("call {at}")).await.unwrap();
                }));
                tokio::task::yield_now().await;
            }
            for call in calls {
                call.await.unwrap();
            }
            began
        });
        prop_assert_eq!(host.numbers(), (0..arrivals.len()).collect::<Vec<_>>());
        let times = host.times();
        let most = (rate + rate * burst / 60_000).max(1) + 1;
        for (at, from) in times.iter().enumerate() {
            let within = times[at..].iter().take_while(|time| **time - *from < Duration::from_secs(60));
            prop_assert!(within.count() as u64 <= most);
        }
        for (time, expected) in times.iter().zip(expected(&arrivals, rate, burst)) {
            let went = (*time - began).as_secs_f64() * 1e3;
            // Timers are exact to a millisecond, and what is late once may be a little later next time.
            prop_assert!((went - expected).abs() <= 2.0 + times.len() as f64, "{went} {expected}");
        }
    }

    #[test]
    fn slots_are_all_used_and_never_exceeded(
        gaps in prop::collection::vec(0_u64..1_500, 1..40),
        way in 0_usize..3,
        slots in 1_usize..6,
        drops in prop::collection::vec(any::<bool>(), 40),
    ) {
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time().start_paused(true).build().unwrap();
        let host = Host::new().taking(Duration::from_secs(2));
        clock.block_on(async {
            let ai = host.client(Limit::new().concurrency(slots).max_wait(Duration::from_secs(86_400)));
            let mut calls = Vec::new();
            for (at, gap) in gaps.iter().enumerate() {
                tokio::time::sleep(Duration::from_millis(*gap)).await;
                let call = crate::limits::host::start(&ai, WAYS[way], at);
                calls.push(call);
                if drops[at] && at > 2 {
                    // Some are dropped while they wait or while they run.
                    calls[at / 2].abort();
                }
            }
            for call in calls {
                if let Ok(result) = call.await {
                    result.unwrap();
                }
            }
            // All slots came back.
            let began = Instant::now();
            let results = crate::limits::host::at_once(&ai, WAYS[way], slots).await;
            assert!(results.iter().all(Result::is_ok));
            assert!(began.elapsed() < Duration::from_millis(2_100));
        });
        prop_assert_eq!(host.busiest(), slots);
    }
}
