//! The stacks that are measured, against the simulator in process.

use agentloop::middleware::{Cache, Costs, Fallback, Limit, Limits, Logger, Retry};
use agentloop::{AgentLoop, AgentLoopBuilder, CacheMode, ChatRequest, ModelCatalog};
use tracing::subscriber::NoSubscriber;

const PRICES: &str = r#"
    ["sim/echo"]
    prices = [{ per_million = { input = "1", output = "2" } }]
"#;

pub(crate) type Stack = (&'static str, fn(AgentLoopBuilder) -> AgentLoopBuilder);

/// Each by itself, and all in the default order.
pub(crate) const STACKS: [Stack; 9] = [
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
    ("cache, refilled", |builder| builder.layer(Cache::new())),
];

fn limits() -> Limits {
    let limit = Limit::new().concurrency(8).requests_per_minute(100_000_000);
    Limits::new().for_provider("sim", limit.tokens_per_minute(1_000_000_000))
}

pub(crate) fn request(stack: &str) -> ChatRequest {
    let mode = if stack == "cache, refilled" { CacheMode::Refresh } else { CacheMode::Bypass };
    ChatRequest::new("sim/echo").system("Be brief.").user("Why is the sky blue?").cache(mode)
}

/// Builds a client with that stack. The subscriber wants no records, so the logger writes none.
pub(crate) fn client(stack: fn(AgentLoopBuilder) -> AgentLoopBuilder) -> AgentLoop {
    let _ = tracing::subscriber::set_global_default(NoSubscriber::default());
    let catalog = ModelCatalog::embedded().with_overrides(PRICES).unwrap();
    let builder = AgentLoop::builder().provider(agentloop_sim::provider()).models(catalog);
    stack(builder).build().unwrap()
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
