//! Deletes old rows.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::health::Access;
use super::{Context, PRUNE, now_ms};
use crate::store::MAX_PAGE;

const DAY_MS: i64 = 86_400_000;

/// When old rows are deleted for the first time.
const FIRST: Duration = Duration::from_secs(60);

/// The pause after a page, in which others can write.
const PAGE_PAUSE: Duration = Duration::from_millis(100);

/// Deletes old rows until the task is aborted.
pub(super) async fn run(context: Arc<Context>) {
    let Some(days) = context.settings.keep_days else { return };
    let mut ticks = interval_at(Instant::now() + FIRST, PRUNE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let before = now_ms() - i64::from(days) * DAY_MS;
        // The rows of a period that has not ended are needed for its budgets. What deleted rows have cost is kept for those in
        // total.
        let periods = context.books.wanted(None, true).into_iter();
        let starts = periods.filter_map(|sum| sum.since_ms).filter(|start| *start > 0);
        let before = starts.fold(before, i64::min);
        // After a failure the next hour continues.
        while let Ok(count) = context.ask(Access::Write, context.store.prune(before)).await {
            if count < MAX_PAGE as u64 {
                break;
            }
            sleep(PAGE_PAUSE).await;
        }
    }
}
