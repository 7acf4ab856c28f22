//! All that the dashboard shows, in one document.

use std::time::UNIX_EPOCH;

use http::{Response, StatusCode};
use serde::Serialize;

use super::ledger::{Ledger, LedgerView, Range};
use super::query::{self, now_ms};
use super::reply::{Problem, invalid, to_json};
use crate::Gateway;
use crate::account::AccountsView;
use crate::live::{LiveView, Percentiles};
use crate::route::ProviderView;
use crate::stream::GatewayBody;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Overview {
    version: &'static str,
    /// The name of this gateway among several.
    node: String,
    now_ms: i64,
    started_ms: u64,
    live: LiveView,
    providers: Vec<Provider>,
    /// How many providers there are besides those that are listed because they are used.
    other_providers: usize,
    ledger: LedgerView,
    keys: AccountsView,
    teams: AccountsView,
    /// What does not work as it should: the database, the journal or Redis.
    degraded: Vec<String>,
    /// What this gateway has on its disk only, if it has a journal.
    journal: Option<JournalView>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct JournalView {
    unstored_rows: u64,
    open_calls: usize,
    bytes: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Provider {
    #[serde(flatten)]
    view: ProviderView,
    /// How long its complete responses took in the last hour.
    latency: Percentiles,
}

/// Responds with the overview.
pub(super) async fn respond(
    gateway: &Gateway,
    ledger: &Ledger,
    query: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let pairs = query::pairs(query, &["range"])?;
    let range = match pairs.first() {
        None => Range::Week,
        Some((_, name)) => {
            Range::of_name(name).ok_or_else(|| invalid("`range` must be `1d`, `7d` or `30d`"))?
        }
    };
    let state = gateway.state();
    let (used, unused): (Vec<_>, Vec<_>) =
        state.router.providers().into_iter().partition(ProviderView::is_used);
    let providers = used.into_iter().map(|view| {
        let latency = state.live.times_of(&view.name);
        Provider { view, latency }
    });
    let started = state.live.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let (keys, teams) = gateway.accounts().view(&state);
    let journal = gateway.accounts().journal_health().map(|journal| JournalView {
        unstored_rows: journal.unstored_rows,
        open_calls: journal.open,
        bytes: journal.bytes,
    });
    let overview = Overview {
        node: gateway.accounts().node().to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        now_ms: now_ms(),
        started_ms: u64::try_from(started).unwrap_or(u64::MAX),
        live: state.live.view(),
        providers: providers.collect(),
        other_providers: unused.len(),
        ledger: ledger.view(gateway.store(), range).await,
        keys,
        teams,
        degraded: gateway.accounts().degraded(),
        journal,
    };
    Ok(to_json(StatusCode::OK, &overview))
}
