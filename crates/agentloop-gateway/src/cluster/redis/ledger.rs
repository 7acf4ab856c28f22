//! Sums of the ledger, for what Redis does not have.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use agentloop::Result;
use tokio::time::Instant;

use super::Shared;
use super::table::Base;
use crate::cluster::Window;
use crate::store::{By, RowFilter, Store, UsageQuery};

/// How often is looked for windows whose sums are missing.
const LOOK: Duration = Duration::from_millis(250);
/// The shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(20);
/// The wait after the store has failed.
const FAILED: Duration = Duration::from_secs(2);
/// The most windows of one look.
const MAX_WINDOWS: usize = 64;

/// A window, and whether the sums of the other nodes are missing too.
type Missing = (Window, bool);

/// Runs until the cluster is closed.
pub(super) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    loop {
        let mut wait = LOOK;
        for (window, is_incomplete) in missing(&shared) {
            if let Err(error) = look(&shared, &*store, &window, is_incomplete).await {
                tracing::debug!(%error, "the sums of budgets cannot be read");
                wait = FAILED;
                break;
            }
        }
        tokio::time::sleep(wait.min(PAUSE)).await;
        let rest = tokio::time::sleep(wait.saturating_sub(PAUSE));
        if wait == LOOK {
            tokio::select! {
                () = rest => {}
                () = shared.look.notified() => {}
            }
        } else {
            rest.await;
        }
        if shared.lock().is_closed {
            return;
        }
    }
}

/// Returns windows of which the ledger knows more.
fn missing(shared: &Shared) -> Vec<Missing> {
    let table = shared.lock();
    if !table.is_replayed || table.generation.is_empty() {
        return Vec::new();
    }
    let is_settled = table.generation_since.is_some_and(|since| since.elapsed() >= shared.grace);
    let wanted = table.windows.iter().filter_map(|(window, state)| {
        let is_incomplete = is_settled && state.base != Base::Unknown && !state.is_ready;
        let is_old = matches!(state.base, Base::Redis(_));
        (is_incomplete || is_old).then(|| (window.clone(), is_incomplete))
    });
    wanted.take(MAX_WINDOWS).collect()
}

async fn look(
    shared: &Shared,
    store: &dyn Store,
    window: &Window,
    is_incomplete: bool,
) -> Result<()> {
    let start_ms = shared.lock().start_ms;
    let began = Instant::now();
    let until = window.end_ms.map_or(start_ms, |end| end.min(start_ms));
    let own = sums(store, window, until).await?.into_iter().find(|(node, _)| *node == shared.node);
    let mut columns = Vec::new();
    if is_incomplete {
        columns = sums(store, window, window.end_ms.unwrap_or(i64::MAX)).await?;
        columns.retain(|(node, _)| *node != shared.node);
    }
    let mut table = shared.lock();
    if let Some(state) = table.windows.get_mut(window) {
        state.base = Base::Ledger(own.map_or(0, |(_, sum)| sum));
    }
    table.touch_window(window);
    if is_incomplete {
        table.restores.push_back((window.clone(), columns));
    }
    drop(table);
    tracing::debug!(time = ?began.elapsed(), scope = %window.scope, "sums of the ledger were read");
    shared.wake.notify_one();
    Ok(())
}

/// Returns what each node has spent in a window, in picodollars.
async fn sums(store: &dyn Store, window: &Window, until_ms: i64) -> Result<Vec<(String, i128)>> {
    let mut filter = RowFilter {
        since_ms: (window.start_ms > 0).then_some(window.start_ms),
        until_ms: (until_ms < i64::MAX).then_some(until_ms),
        ..RowFilter::default()
    };
    match window.scope.split_once(':') {
        Some(("team", name)) => filter.team = Some(name.to_owned()),
        Some((_, name)) => filter.key = Some(name.to_owned()),
        None => return Ok(Vec::new()),
    }
    let (by, name) = match &filter.team {
        Some(team) => (By::Team, team.clone()),
        None => (By::Key, filter.key.clone().unwrap_or_default()),
    };
    let sums = store.usage(&UsageQuery::new(Some(By::Node), filter)).await?;
    let mut sums: BTreeMap<String, i128> =
        sums.into_iter().map(|sum| (sum.group, sum.usd.picos())).collect();
    if window.start_ms <= 0 {
        for sum in store.deleted(by, Some(&name)).await? {
            *sums.entry(sum.node).or_default() += sum.usd.picos();
        }
    }
    Ok(sums.into_iter().collect())
}
