//! All of them in the default order, over random schedules of faults: what was paid for is what the simulator bills.

use std::sync::{Arc, Mutex};

use agentloop::middleware::{
    Cache, CostEntry, Costs, Fallback, Jitter, Limit, Limits, LogEntry, LogStatus, Logger,
    Response, Retry,
};
use agentloop::{AgentLoop, ModelCatalog, Protocol, Usd};
use agentloop_sim::{Fault, Faults};
use proptest::prelude::*;

use crate::middleware::lab::{Lab, Seen, ask, builder, question};
use crate::middleware::schedules::{call, fault, patient, run};

/// A thousandth of a dollar for a token read, two for a token written.
const PRICES: &str = r#"
    ["a/long-8"]
    prices = [{ per_million = { input = "1000", output = "2000" } }]
    ["b/long-8"]
    prices = [{ per_million = { input = "1000", output = "2000" } }]
    ["a/vectors"]
    kind = "embedding"
    prices = [{ per_million = { input = "1000" } }]
    ["b/vectors"]
    kind = "embedding"
    prices = [{ per_million = { input = "1000" } }]
"#;

type List<T> = Arc<Mutex<Vec<T>>>;

/// Two providers behind the whole stack, and what each middleware saw.
struct Bench {
    ai: AgentLoop,
    labs: [Lab; 2],
    entries: List<CostEntry>,
    records: List<LogEntry>,
    /// The bill of the simulator for each attempt: tokens of the prompt and the response.
    billed: List<(u64, u64)>,
    costs: Costs,
}

impl Bench {
    fn new(protocol: Protocol, faults: [Vec<Option<Fault>>; 2], seed: u64) -> Self {
        let [first, second] = faults;
        let labs = [
            Lab::new("a", Faults::in_order(first)).speaking(protocol),
            Lab::new("b", Faults::in_order(second)).speaking(protocol),
        ];
        let (entries, records) = (List::default(), List::<LogEntry>::default());
        let billed = List::default();
        let costs = Costs::new().limit("1000".parse().unwrap()).on_call({
            let entries: List<CostEntry> = Arc::clone(&entries);
            move |entry| entries.lock().unwrap().push(entry.clone())
        });
        let logger = Logger::to({
            let records = Arc::clone(&records);
            move |record| records.lock().unwrap().push(record.clone())
        });
        let simulators = labs.each_ref().map(|lab| lab.simulator.clone());
        let tries: List<(u64, u64)> = Arc::clone(&billed);
        let ai = builder(&labs)
            .models(ModelCatalog::embedded().with_overrides(PRICES).unwrap())
            .layer(logger)
            .layer(Cache::new())
            .layer(Fallback::new(["b/long-8"]))
            .layer(Retry::new().max_retries(2).jitter(Jitter::seeded(seed)))
            .layer(costs.clone())
            .layer(Limits::new().for_provider("a", Limit::new().concurrency(3)))
            .middleware(move |request, next| {
                let (simulators, tries) = (simulators.clone(), Arc::clone(&tries));
                async move {
                    let bill = || {
                        let ledgers = simulators.each_ref().map(|simulator| simulator.ledger());
                        let read: u64 = ledgers.iter().map(|ledger| ledger.prompt_tokens).sum();
                        let written: u64 =
                            ledgers.iter().map(|ledger| ledger.completion_tokens).sum();
                        (read, written)
                    };
                    let before = bill();
                    let answer: agentloop::Result<Response> = next.run(request).await;
                    let after = bill();
                    tries.lock().unwrap().push((after.0 - before.0, after.1 - before.1));
                    answer
                }
            });
        Self { ai: patient(ai), labs, entries, records, billed, costs }
    }

    /// Every attempt is in the ledger, and costs what was billed for it, or is marked as an estimate.
    fn check(&self, calls: usize) {
        let (entries, billed) = (self.entries.lock().unwrap(), self.billed.lock().unwrap());
        assert_eq!(entries.len(), billed.len(), "{entries:?} {billed:?}");
        let upstream: u64 = self.labs.iter().map(Lab::calls).sum();
        assert_eq!(upstream, billed.len() as u64);
        let mut sum = Usd::default();
        for (entry, (read, written)) in entries.iter().zip(billed.iter()) {
            let usage = &entry.usage;
            if !entry.estimated {
                assert_eq!(usage.prompt_tokens.unwrap_or(0), *read, "{entry:?}");
                assert_eq!(usage.completion_tokens.unwrap_or(0), *written, "{entry:?}");
                let picos = i128::from(*read) + 2 * i128::from(*written);
                let bill = Usd::from_picos(picos * 1_000_000_000);
                let cost = entry.cost.as_ref().map(|cost| cost.usd).unwrap_or_default();
                assert_eq!(cost, bill, "{entry:?}");
            }
            sum = sum + entry.cost.as_ref().map(|cost| cost.usd).unwrap_or_default();
        }
        let ledger = self.costs.ledger();
        assert_eq!((ledger.total().usd, ledger.reserved()), (sum, Usd::default()));
        assert_eq!(ledger.total().calls, entries.len() as u64);
        assert_eq!(self.records.lock().unwrap().len(), calls, "one record a call");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn the_ledger_has_what_was_billed(
        (kind, protocol) in call(),
        first in prop::collection::vec(fault(), 0..4),
        second in prop::collection::vec(fault(), 0..4),
        seed in any::<u64>(),
    ) {
        run(async {
            let bench = Bench::new(protocol, [first.clone(), second.clone()], seed);
            let seen: Seen = ask(&bench.ai, kind, "a").await;
            bench.check(1);
            let status = bench.records.lock().unwrap()[0].status;
            let expected = if seen.error.is_some() { LogStatus::Error } else { LogStatus::Ok };
            assert_eq!(status, expected);
            // A stored response needs no call and costs nothing.
            if seen.error.is_none() {
                let calls = bench.billed.lock().unwrap().len();
                let from_b = seen.provider == "b";
                ask(&bench.ai, kind, "a").await;
                if !from_b {
                    assert_eq!(bench.billed.lock().unwrap().len(), calls, "a hit calls no provider");
                }
                bench.check(2);
            }
        });
    }

    #[test]
    fn a_stream_that_is_dropped_is_in_the_books(
        protocol in prop::sample::select(&crate::middleware::lab::PROTOCOLS[..]),
        faults in prop::collection::vec(fault(), 0..3),
        taken in 0_usize..12,
    ) {
        run(async {
            let bench = Bench::new(protocol, [faults.clone(), Vec::new()], 7);
            if let Ok(mut stream) = bench.ai.stream(question("a/long-8")).await {
                for _ in 0..taken {
                    if !matches!(stream.next().await, Some(Ok(_))) {
                        break;
                    }
                }
            }
            bench.check(1);
        });
    }
}
