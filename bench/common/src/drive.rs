//! Runs a contestant: `NAME SCENARIO BASE-URL COUNT CONCURRENCY`.
//!
//! It prints one line of JSON: how many answers were right and wrong, what was allocated, and what the scenario
//! measures by itself (latencies, the memory of idle streams).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::alloc;
use crate::scenario::{Kind, Scenario};

/// What a contestant says of one answer.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The text, or the arguments of the tool call.
    pub text: String,
    /// Why the call failed.
    pub error: Option<String>,
}

impl Outcome {
    pub fn failed(error: impl std::fmt::Display) -> Self {
        Self { text: String::new(), error: Some(error.to_string()) }
    }
}

/// A client under test. One is made for each worker; clones share connections if the client does so.
pub trait Contestant: Clone + Send + 'static {
    /// A client for `base`, such as `http://127.0.0.1:1234/chat`. Each appends its protocol's path.
    fn new(scenario: Scenario, base: &str) -> Self;
    /// One call. `seen` is shown each delta as it comes.
    fn call(&mut self, seen: &mut (dyn FnMut(&str) + Send))
    -> impl Future<Output = Outcome> + Send;
}

/// The `main` of a contestant.
pub fn run<C: Contestant>() {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |what: &str| arguments.next().unwrap_or_else(|| panic!("missing: {what}"));
    let name = argument("scenario");
    let scenario = Scenario::named(&name).unwrap_or_else(|| panic!("no scenario {name}"));
    let base = format!("{}/{name}", argument("base-url").trim_end_matches('/'));
    let count: usize = argument("count").parse().expect("a count");
    let concurrency: usize = argument("concurrency").parse().expect("a concurrency");
    let threads =
        std::env::var("BENCH_THREADS").ok().and_then(|threads| threads.parse().ok()).unwrap_or(1);
    let runtime = if threads > 1 {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
    } else {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    }
    .expect("a runtime");
    alloc::start();
    let line = runtime.block_on(async move {
        match scenario.kind {
            Kind::Idle => idle::<C>(scenario, &base, count).await,
            Kind::Timed { .. } => timed::<C>(scenario, &base, count).await,
            _ => work::<C>(scenario, &base, count, concurrency).await,
        }
    });
    println!("{line}");
    runtime.shutdown_background();
}

async fn work<C: Contestant>(
    scenario: Scenario,
    base: &str,
    count: usize,
    concurrency: usize,
) -> String {
    let expected: Arc<str> = scenario.expected().into();
    let (left, wrong) = (Arc::new(AtomicUsize::new(count)), Arc::new(AtomicUsize::new(0)));
    let client = C::new(scenario, base);
    let worker = |mut client: C| {
        let (expected, left, wrong) = (expected.clone(), left.clone(), wrong.clone());
        async move {
            while left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok() {
                let outcome = client.call(&mut |_| {}).await;
                if outcome.error.is_some() || outcome.text != *expected {
                    if wrong.fetch_add(1, Relaxed) == 0 {
                        eprintln!(
                            "wrong: {:?}, {} bytes of {}",
                            outcome.error,
                            outcome.text.len(),
                            expected.len()
                        );
                    }
                }
            }
        }
    };
    if concurrency <= 1 {
        worker(client).await;
    } else {
        let tasks: Vec<_> =
            (0..concurrency).map(|_| tokio::spawn(worker(client.clone()))).collect();
        for task in tasks {
            task.await.expect("a worker");
        }
    }
    let (calls, bytes) = alloc::counted();
    let wrong = wrong.load(Relaxed);
    format!(
        "{{\"right\":{},\"wrong\":{wrong},\"allocations\":{calls},\"allocated\":{bytes},\"peak_kib\":{}}}",
        count - wrong,
        peak()
    )
}

async fn timed<C: Contestant>(scenario: Scenario, base: &str, count: usize) -> String {
    let mut client = C::new(scenario, base);
    let (mut late, mut wrong) = (Vec::new(), 0);
    for _ in 0..count {
        let outcome = client
            .call(&mut |delta| {
                let now =
                    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
                if let Ok(sent) = delta.trim().parse::<u128>() {
                    late.push(now.saturating_sub(sent) as f64 / 1000.0);
                }
            })
            .await;
        wrong += usize::from(outcome.error.is_some());
        if let Some(error) = outcome.error {
            eprintln!("wrong: {error}");
        }
    }
    let wanted = count * scenario.units();
    late.sort_by(f64::total_cmp);
    let at = |part: f64| late.get((late.len() as f64 * part) as usize).copied().unwrap_or(f64::NAN);
    format!(
        "{{\"right\":{},\"wrong\":{},\"median_us\":{:.2},\"p90_us\":{:.2}}}",
        count - wrong,
        wrong + usize::from(late.len() != wanted),
        at(0.5),
        at(0.9)
    )
}

async fn idle<C: Contestant>(scenario: Scenario, base: &str, count: usize) -> String {
    let client = C::new(scenario, base);
    let begun = Arc::new(AtomicUsize::new(0));
    let failed = Arc::new(AtomicUsize::new(0));
    let spawn = |client: &C| {
        let (mut client, begun, failed) = (client.clone(), begun.clone(), failed.clone());
        tokio::spawn(async move {
            let mut first = true;
            let outcome = client
                .call(&mut |_| {
                    if std::mem::take(&mut first) {
                        begun.fetch_add(1, Relaxed);
                    }
                })
                .await;
            if let Some(error) = outcome.error {
                eprintln!("idle: {error}");
            }
            failed.fetch_add(1, Relaxed);
        })
    };
    let all = |wanted: usize| {
        let (begun, failed) = (begun.clone(), failed.clone());
        async move {
            for _ in 0..6000 {
                if begun.load(Relaxed) >= wanted || failed.load(Relaxed) > 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    // The first few bring what is made once.
    let few = 16;
    let mut tasks: Vec<_> = (0..few).map(|_| spawn(&client)).collect();
    all(few).await;
    let before = (resident(), alloc::live());
    tasks.extend((0..count).map(|_| spawn(&client)));
    all(few + count).await;
    let after = (resident(), alloc::live());
    let begun = begun.load(Relaxed) - few.min(begun.load(Relaxed));
    format!(
        "{{\"right\":{},\"wrong\":{},\"resident_each\":{},\"live_each\":{}}}",
        begun,
        count - begun,
        after.0.saturating_sub(before.0) / count.max(1),
        (after.1 - before.1).max(0) / count.max(1) as i64
    )
}

/// The memory of this process that is in RAM.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// The most of it that ever was, in KiB. What a parent learns by waiting for a child may be the parent's own.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}
