//! Reads keys and teams when they have changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::health::Access;
use super::snapshot::{self, Snapshot};
use super::sums::read_sums;
use super::{Context, KEYS, START_DEADLINE};
use crate::store::KeyTable;

/// How long changed keys wait for the sums of new budgets. A revoked key must stop within one second.
const SUMS_DEADLINE: Duration = Duration::from_millis(250);

/// How often the copy beside the journal is written although the keys are the same: it also has the sums of budgets.
const SNAPSHOT: Duration = Duration::from_secs(10);

/// Reads keys and sums at the start. Returns the version of the keys, if the store has responded.
pub(super) async fn load_first(context: &Context) -> Option<u64> {
    let load = async {
        let table = context.ask(Access::Read, context.store.load_keys()).await.ok()?;
        read_sums(context, Some(&table), true).await.ok()?;
        Some(table)
    };
    if let Ok(Some(table)) = timeout(START_DEADLINE, load).await {
        let version = table.version;
        save(context, table.clone()).await;
        context.books.set_keys(table);
        return Some(version);
    }
    let path = context.settings.snapshot.clone()?;
    let saved = tokio::task::spawn_blocking(move || snapshot::load(&path)).await.ok()??;
    tracing::warn!("the store cannot be reached: keys and sums are those of its last use");
    for (filter, usd) in saved.sums.iter() {
        context.books.set_base(filter, usd);
    }
    context.books.set_keys(saved.table);
    context.health.set_old_keys(true);
    None
}

/// Looks for changes until the task is aborted.
pub(super) async fn run(context: Arc<Context>, mut version: Option<u64>) {
    let mut ticks = interval(KEYS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut table = None;
    let mut saved = Instant::now();
    loop {
        ticks.tick().await;
        let Ok(current) = context.ask(Access::Read, context.store.keys_version()).await else {
            continue;
        };
        if version != Some(current) {
            let Ok(new) = context.ask(Access::Read, context.store.load_keys()).await else {
                continue;
            };
            // If the store takes long, the keys come first: the next look at the sums has those of new budgets.
            let is_first = version.is_none();
            let _ = timeout(SUMS_DEADLINE, read_sums(&context, Some(&new), is_first)).await;
            version = Some(new.version);
            context.books.set_keys(new.clone());
            context.health.set_old_keys(false);
            table = Some(new);
        } else if saved.elapsed() < SNAPSHOT || !context.settings.is_shared {
            continue;
        }
        if table.is_none() {
            table = context.ask(Access::Read, context.store.load_keys()).await.ok();
        }
        if let Some(table) = &table {
            save(&context, table.clone()).await;
        }
        saved = Instant::now();
    }
}

/// Writes the copy beside the journal.
async fn save(context: &Context, table: KeyTable) {
    let Some(path) = context.settings.snapshot.clone() else { return };
    let sums = context.sums.lock().await.clone();
    let snapshot = Snapshot { table, sums };
    match tokio::task::spawn_blocking(move || snapshot::save(&path, &snapshot)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(%error, "the copy of the keys cannot be written"),
        Err(error) => tracing::warn!(%error, "the copy of the keys was not written"),
    }
}
