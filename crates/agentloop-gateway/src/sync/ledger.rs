//! Moves rows from the journal to the store, and reads the sums of budgets.

use std::sync::Arc;

use agentloop::Result;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use super::health::Access;
use super::sums::read_sums;
use super::{Context, MAX_BACK_OFF, MAX_BATCH, PAUSE, SUMS};
use crate::journal::Batch;

/// Reading sums takes at most one part in this many of the time: a large ledger is asked less often.
const SUMS_SHARE: u32 = 20;

/// How a batch ended.
enum Stored {
    /// There was none.
    Nothing,
    /// It is stored. Whether it had as many rows as a batch can have.
    Rows { is_full: bool },
}

/// Runs until the tasks must end, and then until the journal is empty. `has_rows`: the journal has rows of an earlier process,
/// of which the store may have some.
pub(super) async fn run(context: Arc<Context>, has_rows: bool) {
    let mut ticks = interval(SUMS);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut back_off = PAUSE;
    // Rows that the store had already are counted in the sums that were read before them.
    let mut is_doubtful = has_rows;
    let mut is_stopping = false;
    let mut next_sums = Instant::now();
    loop {
        tokio::select! {
            () = context.journal.changed() => {}
            _ = ticks.tick(), if !is_stopping => {
                let is_settled = is_doubtful && !has_unstored(&context);
                let is_due = context.settings.is_shared && next_sums <= Instant::now();
                let all = is_settled || is_due;
                let began = Instant::now();
                if read_sums(&context, None, all).await.is_ok() && is_settled {
                    is_doubtful = false;
                }
                next_sums = Instant::now() + began.elapsed() * SUMS_SHARE;
                continue;
            }
            () = context.stopped(), if !is_stopping => {
                is_stopping = true;
                continue;
            }
            () = std::future::ready(()), if is_stopping && !has_unstored(&context) => return,
        }
        match store_batch(&context).await {
            Ok(Stored::Rows { is_full: true }) => back_off = PAUSE,
            Ok(Stored::Rows { .. } | Stored::Nothing) => {
                back_off = PAUSE;
                // Rows are collected for a moment, unless these are the last.
                if !is_stopping {
                    pause(&context, PAUSE).await;
                }
            }
            Err(_) => {
                // The store may have the rows although it failed.
                is_doubtful = true;
                back_off = (back_off * 2).min(MAX_BACK_OFF);
                if is_stopping { sleep(PAUSE).await } else { pause(&context, back_off).await }
            }
        }
    }
}

fn has_unstored(context: &Context) -> bool {
    context.journal.health().unstored_rows > 0
}

/// Waits, or until the tasks must end.
async fn pause(context: &Context, time: std::time::Duration) {
    tokio::select! {
        () = sleep(time) => {}
        () = context.stopped() => {}
    }
}

async fn store_batch(context: &Context) -> Result<Stored> {
    let prices = context.books.take_prices();
    if !prices.is_empty()
        && let Err(error) =
            context.ask(Access::Write, context.store.put_prices(prices.clone())).await
    {
        context.books.put_back_prices(prices);
        return Err(error);
    }
    let Some(batch) = next_batch(context).await else { return Ok(Stored::Nothing) };
    let is_full = batch.rows.len() >= MAX_BATCH;
    // No sum may be read while it is not known whether these rows are in it.
    let sums = context.sums.lock().await;
    context.ask(Access::Write, context.store.append(Arc::clone(&batch.rows))).await?;
    context.books.rows_stored(&batch.rows);
    drop(sums);
    let journal = context.journal.clone();
    // It may delete files. If it is not completed, the rows are stored again, which changes nothing.
    let _ = spawn_blocking(move || journal.stored(batch)).await;
    Ok(Stored::Rows { is_full })
}

async fn next_batch(context: &Context) -> Option<Batch> {
    let batch = if !context.journal.must_read() {
        context.journal.next_batch(MAX_BATCH)
    } else {
        let journal = context.journal.clone();
        spawn_blocking(move || journal.next_batch(MAX_BATCH)).await.ok()?
    };
    (!batch.is_empty()).then_some(batch)
}
