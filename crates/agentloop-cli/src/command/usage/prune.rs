//! Deletes old rows of the ledger.

use agentloop_gateway::{RowFilter, UsageQuery};

use super::args::Prune;
use super::{confirm, count, format_usd};
use crate::failure::Failure;
use crate::gateway_store;
use crate::setup::Setup;
use crate::time::format_day;

pub(super) async fn run(args: &Prune, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let nothing = || setup.notes.print_note("there is nothing to delete");
    let Some(database) = gateway_store::open_existing(&config)? else {
        nothing();
        return Ok(());
    };
    let mut filter = RowFilter::default();
    filter.until_ms = Some(args.before);
    let sums = database.usage(&UsageQuery::new(None, filter)).await?;
    let sum = sums.into_iter().next().unwrap_or_default();
    if sum.calls == 0 {
        nothing();
        return Ok(());
    }
    let what = format!(
        "{} of the ledger before {} ({})",
        count(sum.calls, "row"),
        format_day(args.before),
        format_usd(sum.usd)
    );
    if !args.yes && !confirm(&what, setup.notes).await? {
        setup.notes.print_note("nothing was deleted");
        return Ok(());
    }
    let mut deleted = 0;
    // Page by page, so that a running gateway does not wait long.
    loop {
        match database.prune(args.before).await? {
            0 => break,
            page => deleted += page,
        }
    }
    setup.notes.print_note(&format!("deleted {} of the ledger", count(deleted, "row")));
    Ok(())
}
