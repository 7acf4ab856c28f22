//! Simulators that speak every protocol, and a client of them with the whole stack.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use agentloop::middleware::{
    Backoff, Cache, Cooldown, CostLedger, Costs, Fallback, Limit, Limits, Logger, Retry,
};
use agentloop::transport::HttpTransport;
use agentloop::{AgentLoop, ErrorKind, ModelCatalog, Protocol, Provider, Timeouts};
use agentloop_sim::{Faults, Server, Simulator};

use crate::books::Books;
use crate::tally::more;

/// Faults after which a provider bills nothing, and says so. Every place without a name is a call that goes well.
const SURE: &str = "|||status=500||||drip||status=429;retry-after=0.02|||||status=503|||||status=502;html||||status=400|||";

/// Faults after which it is unknown what the provider bills.
const UNSURE: &str = "|||cut-events=3|||cut-bytes=200;reset||stall-events=2|||malformed-events=1||error-events=2||error-first\
    |||wrong-length||html|||refuse|||status=500||drip;cut-bytes=400||drip||cut-events=0|||";

/// The models that calls ask for.
pub(crate) const MODELS: [&str; 4] = ["echo", "think", "long-40", "vectors"];

/// What a token costs: a millionth of a dollar read, two written.
pub(crate) const PICOS_PER_TOKEN: i128 = 1_000_000;

pub(crate) struct Group {
    pub(crate) name: &'static str,
    /// Whether the bill must be known to the token.
    pub(crate) is_sure: bool,
    pub(crate) ai: AgentLoop,
    pub(crate) servers: Vec<Server>,
    pub(crate) books: Books,
    pub(crate) ledger: CostLedger,
    /// Calls that came in, and those that were logged.
    pub(crate) entered: Arc<AtomicU64>,
    pub(crate) logged: Arc<AtomicU64>,
    pub(crate) kinds: &'static [ErrorKind],
}

impl Group {
    /// Faults here cost nothing and no call is cancelled: the bill is exact.
    pub(crate) async fn sure() -> Result<Self, Box<dyn std::error::Error>> {
        use ErrorKind::{InvalidRequest, Overloaded, RateLimit, Server};
        let kinds = &[InvalidRequest, Overloaded, RateLimit, Server];
        // Nothing stalls here: a timeout is explained by no fault.
        let timeouts = Timeouts::default().idle(Duration::from_secs(60));
        Self::new("sure", SURE, timeouts, kinds).await
    }

    /// Here connections break and callers go away.
    pub(crate) async fn unsure() -> Result<Self, Box<dyn std::error::Error>> {
        use ErrorKind::{
            Cancelled, Connection, IncompleteStream, Overloaded, Protocol, Server, Timeout,
        };
        let kinds =
            &[Cancelled, Connection, IncompleteStream, Overloaded, Protocol, Server, Timeout];
        let short = Some(Duration::from_millis(1_500));
        let timeouts = Timeouts::default().first_content(short).idle(short);
        Self::new("unsure", UNSURE, timeouts, kinds).await
    }

    async fn new(
        name: &'static str,
        faults: &str,
        timeouts: Timeouts,
        kinds: &'static [ErrorKind],
    ) -> Result<Self, Box<dyn std::error::Error>> {
        let (mut servers, mut prices) = (Vec::new(), String::new());
        let mut limits = Limits::new();
        let mut builder = AgentLoop::builder()
            .timeouts(timeouts)
            .transport(HttpTransport::builder().without_proxy().build()?);
        for protocol in Protocol::ALL {
            let faults: Faults = faults.parse()?;
            let simulator = Simulator::new().with_faults(faults.cycle());
            let server = simulator.serve("127.0.0.1:0").await?;
            let lane = lane(name, *protocol);
            let mut provider = Provider::openai_compatible(lane.clone(), server.url());
            provider.protocol = *protocol;
            // Fewer than come at once, so that some wait.
            limits = limits.for_provider(lane.clone(), Limit::new().concurrency(24));
            builder = builder.provider(provider);
            servers.push(server);
            for model in MODELS {
                let price = r#"prices = [{ per_million = { input = "1", output = "2" } }]"#;
                prices.push_str(&format!("[\"{lane}/{model}\"]\n{price}\n"));
            }
        }
        let (books, entered) = (Books::default(), Arc::new(AtomicU64::new(0)));
        let logged = Arc::new(AtomicU64::new(0));
        let costs = Costs::new().limit("1000000".parse()?).on_call({
            let books = books.clone();
            move |entry| books.enter(entry)
        });
        let counted = Arc::clone(&entered);
        let lines = Arc::clone(&logged);
        let wait = Backoff::constant(Duration::from_millis(5));
        let ledger = costs.ledger();
        let ai = builder
            .models(ModelCatalog::embedded().with_overrides(&prices)?)
            .middleware(move |request, next| {
                more(&counted);
                async move { next.run(request).await }
            })
            .layer(Logger::to(move |_| more(&lines)))
            .layer(Cache::new().max_bytes(2 << 20))
            .layer(Fallback::new([""; 0]).cooldown(Cooldown::never()))
            .layer(Retry::new().max_retries(1).backoff(wait))
            .layer(costs)
            .layer(limits)
            .build()?;
        let is_sure = name == "sure";
        Ok(Self { name, is_sure, ai, servers, books, ledger, entered, logged, kinds })
    }
}

/// The provider of that protocol in that group.
pub(crate) fn lane(group: &str, protocol: Protocol) -> String {
    format!("{group}-{}", format!("{protocol:?}").to_lowercase())
}
