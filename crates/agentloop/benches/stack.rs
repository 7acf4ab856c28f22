//! What the middlewares add to a call: allocations, and time.
//!
//! `cargo bench -p agentloop --bench stack` prints, for each middleware and for all of them in the default order, what it adds to
//! a chat against the simulator in process. Time depends on the machine; allocations do not, and are checked. With the name of a
//! stack and a number it only makes so many calls, for `valgrind --tool=callgrind`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark prints, and fails when it cannot run"
)]

use std::time::{Duration, Instant};

use agentloop::middleware::{Cache, Costs, Fallback, Limit, Limits, Logger, Retry};
use agentloop::{AgentLoop, AgentLoopBuilder, CacheMode, ChatRequest, ModelCatalog};

/// The most allocations that the whole stack may add to a call.
const MOST_ALLOCATIONS: u64 = 20;

const PRICES: &str = r#"
    ["sim/echo"]
    prices = [{ per_million = { input = "1", output = "2" } }]
"#;

type Stack = (&'static str, fn(AgentLoopBuilder) -> AgentLoopBuilder);

/// Each by itself, and all in the default order.
const STACKS: [Stack; 9] = [
    ("nothing", |builder| builder),
    ("logger", |builder| builder.layer(Logger::new())),
    ("cache, passed by", |builder| builder.layer(Cache::new())),
    ("fallback", |builder| builder.layer(Fallback::new(["sim/think"]))),
    ("retry", |builder| builder.layer(Retry::new())),
    ("costs", |builder| builder.layer(Costs::new())),
    ("limits", |builder| builder.layer(limits())),
    ("all", |builder| {
        builder
            .layer(Logger::new())
            .layer(Cache::new())
            .layer(Fallback::new(["sim/think"]))
            .layer(Retry::new())
            .layer(Costs::new())
            .layer(limits())
    }),
    ("cache, filled anew", |builder| builder.layer(Cache::new())),
];

fn limits() -> Limits {
    let limit = Limit::new().concurrency(8).requests_per_minute(100_000_000);
    Limits::new().for_provider("sim", limit.tokens_per_minute(1_000_000_000))
}

fn request(stack: &str) -> ChatRequest {
    let mode = if stack == "cache, filled anew" { CacheMode::Refresh } else { CacheMode::Bypass };
    ChatRequest::new("sim/echo").system("Be brief.").user("Why is the sky blue?").cache(mode)
}

/// Allocations of one call, and its time: the least of many, which is what the code itself needs.
fn measure(runtime: &tokio::runtime::Runtime, ai: &AgentLoop, stack: &str) -> (u64, Duration) {
    let call = || runtime.block_on(ai.chat(request(stack))).unwrap();
    for _ in 0..200 {
        call();
    }
    let allocations = (0..20)
        .map(|_| allocation_counter::measure(|| drop(call())).count_total)
        .min()
        .unwrap_or_default();
    let mut least = Duration::MAX;
    for _ in 0..200 {
        let began = Instant::now();
        for _ in 0..50 {
            call();
        }
        least = least.min(began.elapsed() / 50);
    }
    (allocations, least)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let catalog = ModelCatalog::embedded().with_overrides(PRICES).unwrap();
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    if let (Some(wanted), Some(count)) = (arguments.next(), arguments.next()) {
        let (name, stack) = STACKS.iter().find(|(name, _)| *name == wanted).unwrap();
        let builder = AgentLoop::builder().provider(agentloop_sim::provider()).models(catalog);
        let ai = stack(builder).build().unwrap();
        for _ in 0..count.parse().unwrap() {
            runtime.block_on(ai.chat(request(name))).unwrap();
        }
        return;
    }
    let mut plain = None;
    println!("{:<20} {:>12} {:>12}", "", "allocations", "µs");
    for (name, stack) in STACKS {
        let builder =
            AgentLoop::builder().provider(agentloop_sim::provider()).models(catalog.clone());
        let ai = stack(builder).build().unwrap();
        let (allocations, time) = measure(&runtime, &ai, name);
        let (base, base_time) = *plain.get_or_insert((allocations, time));
        let added = time.as_secs_f64() - base_time.as_secs_f64();
        println!("{name:<20} {:>+12} {:>+12.2}", allocations - base, added * 1e6);
        assert!(
            name != "all" || allocations - base <= MOST_ALLOCATIONS,
            "the stack adds {} allocations to a call",
            allocations - base
        );
    }
}
