//! Revokes keys of the gateway's clients, and deletes what is known about them.

use agentloop_gateway::{RowFilter, Store, UsageQuery};

use super::{has_configured_key, unknown_key};
use crate::command::usage::{confirm, count, format_usd};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::{gateway_store, store};

pub(super) async fn revoke(name: &str, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let database = gateway_store::open(&config)?;
    if !database.revoke_key(name, store::now()).await? {
        return Err(unknown_key(name, &*database, setup).await);
    }
    setup.notes.print_note(&format!(
        "the key `{name}` is revoked; gateways that run refuse it within a second"
    ));
    Ok(())
}

pub(super) async fn forget(name: &str, yes: bool, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let database = gateway_store::open(&config)?;
    let keys = database.load_keys().await?.keys;
    let is_active = keys.iter().any(|key| key.name == name && key.revoked_ms.is_none());
    if is_active || has_configured_key(name, setup) {
        let hint = if is_active {
            format!("revoke it first: `agentloop keys revoke {name}`")
        } else {
            format!("remove [gateway.keys.{name}] from agentloop.toml first")
        };
        return Err(Failure::input_with_hint(format!("the key `{name}` is in use"), hint));
    }
    let mut filter = RowFilter::default();
    filter.key = Some(name.to_owned());
    let sums = database.usage(&UsageQuery::new(None, filter)).await?;
    let sum = sums.into_iter().next().unwrap_or_default();
    if sum.calls == 0 && !keys.iter().any(|key| key.name == name) {
        return Err(unknown_key(name, &*database, setup).await);
    }
    let what = format!(
        "the key `{name}` and its {} of the ledger ({})",
        count(sum.calls, "row"),
        format_usd(sum.usd)
    );
    if !yes && !confirm(&what, setup.notes).await? {
        setup.notes.print_note("nothing was deleted");
        return Ok(());
    }
    let rows = delete_rows(&*database, name).await?;
    database.forget_key(name).await?;
    let rows = count(rows, "row");
    setup.notes.print_note(&format!("deleted the key `{name}` and {rows} of the ledger"));
    Ok(())
}

/// Deletes the rows of a key page by page, so that a running gateway does not wait long.
async fn delete_rows(database: &dyn Store, name: &str) -> Result<u64, Failure> {
    let mut deleted = 0;
    loop {
        match database.forget_rows(name).await? {
            0 => return Ok(deleted),
            page => deleted += page,
        }
    }
}
