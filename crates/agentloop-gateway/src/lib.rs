//! A server that puts every LLM provider behind the APIs that programs already use.
//!
//! Clients speak the API of OpenAI (chat completions or Responses), Anthropic or Google, and name any model as
//! `provider/model`. If the provider speaks the same API, the request is *relayed* byte for byte, with another key and
//! model name. Otherwise it is *translated* by the codecs of [`agentloop`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use agentloop::{AgentLoop, Config};
//! use agentloop_gateway::{Gateway, KeyRing, State};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let config = Config::parse("[gateway.keys.me]\nkey_env = 'KEY'")?;
//! let client = AgentLoop::builder().provider(agentloop_sim::provider()).config(&config).build()?;
//! let settings = config.gateway.unwrap_or_default();
//! let variable = |_: &str| Some("al-secret".to_owned());
//! let state = State::new(&client, &settings, KeyRing::default(), &variable)?;
//! let gateway = Gateway::new(state);
//! let server = gateway.listen("127.0.0.1:0").await?;
//! println!("http://{}", server.address());
//! server.shutdown(std::time::Duration::from_secs(5)).await;
//! # Ok(())
//! # }
//! ```

use agentloop::internal::{read, write};

mod account;
mod background;
mod body;
mod bucket;
mod cache;
mod call;
#[cfg_attr(not(feature = "redis"), allow(dead_code, reason = "only Redis connects gateways"))]
mod cluster;
mod connections;
mod head;
#[doc(hidden)]
pub mod internal;
mod journal;
mod key;
mod live;
mod log;
mod metrics;
mod models;
mod record;
mod route;
mod server;
mod span;
#[doc(hidden)]
pub mod sqlite;
mod state;
mod store;
mod stored;
mod stream;
mod sync;

#[cfg(test)]
#[path = "../tests/servers/mod.rs"]
mod servers;

use std::sync::{Arc, OnceLock, RwLock};

pub use account::Accounts;
pub use body::MAX_DEPTH;
pub use cache::{MAX_CACHE_BYTES, MAX_CACHED_BYTES, MAX_CACHED_REQUEST, MAX_FLIGHT_BYTES};
pub use connections::{FIRST_REQUEST_TIMEOUT, IDLE_TIMEOUT};
pub use key::{KeyRing, new_key};
pub use log::RequestLog;
pub use metrics::{MAX_SERIES, Metrics};
pub use record::{Record, Recorder};
pub use route::{CACHE_TTL, MAX_ROUTE_MODELS};
pub use server::{
    MAX_CONNECTIONS, MAX_HEADER_BYTES, MIN_ADMIN_TOKEN_BYTES, Server, Tls, check_admin_token,
};
pub use span::TraceParent;
pub use state::{CLIENT_TIMEOUT, KEEP_ALIVE, MAX_BODY_BYTES, MAX_HELD_BYTES, State};
pub use store::{
    By, DeletedSum, ExportFormat, KeyRecord, KeyTable, LedgerExport, LedgerRow, Limits,
    MAX_BUDGET_DOLLARS, MAX_LIMIT, MAX_NAME_BYTES, MAX_PAGE, MAX_PATTERN_BYTES, MAX_PATTERNS,
    MAX_TAGS, Outcome, PriceId, RowFilter, SqliteStore, Store, TeamRecord, UsageQuery, UsageSum,
    check_name, csv_cell,
};
#[cfg(feature = "postgres")]
pub use store::{POSTGRES_CONNECTIONS, POSTGRES_DEADLINE, POSTGRES_REPORT_DEADLINE, PostgresStore};
pub use stored::{MAX_STORED_BYTES, MAX_STORED_CONVERSATION};
pub use stream::{GatewayBody, MAX_WAITING_BYTES};

/// A gateway. It is cheap to clone, and clones share everything.
///
/// ```
/// use std::sync::Arc;
///
/// use agentloop::{AgentLoop, GatewayConfig, GatewayLog};
/// use agentloop_gateway::{Gateway, KeyRing, RequestLog, State};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = AgentLoop::builder().provider(agentloop_sim::provider()).build()?;
/// let build = || State::new(&client, &GatewayConfig::default(), KeyRing::default(), &|_| None);
/// let log = Arc::new(RequestLog::new(GatewayLog::Json, std::io::stderr()));
/// let gateway = Gateway::with_recorders(build()?, vec![log]);
/// let server = gateway.listen("127.0.0.1:0").await?;
/// let admin = gateway.listen_admin("127.0.0.1:0", Some("0d5a1c6f2b7e49830d5a1c6f".into())).await?;
/// assert_ne!(server.address(), admin.address());
///
/// // A new configuration.
/// gateway.reload(build()?);
/// assert!(gateway.metrics().write().contains("agentloop_requests_total"));
/// assert!(server.shutdown(std::time::Duration::from_secs(5)).await);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    state: RwLock<Arc<State>>,
    metrics: Arc<Metrics>,
    recorder: Arc<dyn Recorder>,
    accounts: Accounts,
    parent: OnceLock<Box<TraceParent>>,
    store: OnceLock<Arc<dyn Store>>,
}

agentloop::shown! { Inner: self { recorder: self.recorder } }

impl Gateway {
    /// Creates a gateway that writes no log.
    pub fn new(state: State) -> Self {
        Self::with_recorders(state, Vec::new())
    }

    /// Creates a gateway that passes the record of each request to `recorders`. It keeps no ledger.
    pub fn with_recorders(state: State, recorders: Vec<Arc<dyn Recorder>>) -> Self {
        Self::with_accounts(state, recorders, Accounts::in_memory())
    }

    /// Creates a gateway with keys of a store, budgets and a ledger.
    pub fn with_accounts(
        state: State,
        mut recorders: Vec<Arc<dyn Recorder>>,
        accounts: Accounts,
    ) -> Self {
        let metrics = Arc::new(Metrics::default());
        accounts.set_configured(state.budgets());
        recorders.push(Arc::clone(&metrics) as Arc<dyn Recorder>);
        recorders.push(Arc::clone(&state.live) as Arc<dyn Recorder>);
        let recorder = Arc::new(log::Each(recorders));
        let state = RwLock::new(Arc::new(state));
        let (parent, store) = (OnceLock::new(), OnceLock::new());
        Self(Arc::new(Inner { state, metrics, recorder, accounts, parent, store }))
    }

    /// Replaces the settings. Requests in progress keep the old ones; stored and cached responses and what the
    /// dashboard shows stay.
    pub fn reload(&self, mut state: State) {
        let mut current = write(&self.0.state);
        state.stored = Arc::clone(&current.stored);
        if state.cache.has_same_place(&current.cache) {
            state.cache = Arc::clone(&current.cache);
        }
        state.live = Arc::clone(&current.live);
        state.router.keep_history(&current.router);
        self.0.accounts.set_configured(state.budgets());
        *current = Arc::new(state);
    }

    /// Sets how the span of a request is connected to the trace of the client. Only the first call has an effect.
    pub fn connect_traces(
        &self,
        parent: impl Fn(&tracing::Span, &http::HeaderMap) + Send + Sync + 'static,
    ) {
        let _ = self.0.parent.set(Box::new(parent));
    }

    /// Sets the store that the admin API and the dashboard show. Only the first call has an effect.
    pub fn connect_store(&self, store: Arc<dyn Store>) {
        let _ = self.0.store.set(store);
    }

    pub(crate) fn store(&self) -> Option<Arc<dyn Store>> {
        self.0.store.get().cloned()
    }

    /// Opens the span of a request.
    pub(crate) fn open_span(&self, headers: &http::HeaderMap) -> tracing::Span {
        let span = span::open();
        if let Some(parent) = self.0.parent.get().filter(|_| !span.is_disabled()) {
            parent(&span, headers);
        }
        span
    }

    /// Returns the metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&read(&self.0.state))
    }

    /// Returns what keys and teams have used.
    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    pub(crate) fn recorder(&self) -> Arc<dyn Recorder> {
        Arc::clone(&self.0.recorder)
    }
}
