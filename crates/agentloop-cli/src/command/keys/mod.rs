//! `agentloop keys`: the keys of providers, and those of the gateway's clients.

mod args;
mod change;
mod delete;
mod limits;
mod list;
mod provider;

use agentloop_gateway::Store;

pub(crate) use self::args::Args;
pub(crate) use self::limits::{LimitArgs, NoLimitArgs, describe_limits};
pub(crate) use self::provider::check_provider;

use self::args::Action;
use crate::argv::distance;
use crate::failure::Failure;
use crate::setup::Setup;

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    match &args.action {
        None => list::run(args.json, setup).await,
        Some(Action::List { json }) => list::run(args.json || *json, setup).await,
        Some(Action::Set { provider }) => provider::set(provider, setup).await,
        Some(Action::Remove { provider }) => provider::remove(provider, setup).await,
        Some(Action::Create(args)) => change::create(args, setup).await,
        Some(Action::Update(args)) => change::update(args, setup).await,
        Some(Action::Revoke { name }) => delete::revoke(name, setup).await,
        Some(Action::Forget { name, yes }) => delete::forget(name, *yes, setup).await,
    }
}

/// Returns the failure for a name that is not known. Its hint is the name that was probably meant, or else `otherwise`.
pub(crate) fn unknown_name<'a>(
    what: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> Failure {
    let most = if name.chars().count() < 6 { 1 } else { 2 };
    let near = known
        .into_iter()
        .map(|known| (distance(&name.to_lowercase(), &known.to_lowercase()), known))
        .filter(|(distance, _)| *distance <= most)
        .min();
    let message = format!("there is no {what} with the name `{name}`");
    match near {
        Some((_, near)) => Failure::input_with_hint(message, format!("did you mean `{near}`?")),
        None => Failure::input_with_hint(message, otherwise),
    }
}

/// Returns the failure for a name that is not known to the database, or is set in a file.
async fn unknown_key(name: &str, store: &dyn Store, setup: &Setup) -> Failure {
    if has_configured_key(name, setup) {
        return Failure::input_with_hint(
            format!("the key `{name}` is in a configuration file"),
            format!("change [gateway.keys.{name}] in agentloop.toml"),
        );
    }
    let keys = store.load_keys().await.map(|table| table.keys).unwrap_or_default();
    let active = keys.iter().filter(|key| key.revoked_ms.is_none()).map(|key| key.name.as_str());
    unknown_name("key", name, active, "`agentloop keys list` lists the keys")
}

/// Returns whether the configuration has a key of this name.
fn has_configured_key(name: &str, setup: &Setup) -> bool {
    setup.config.gateway.as_ref().is_some_and(|gateway| gateway.keys.contains_key(name))
}
