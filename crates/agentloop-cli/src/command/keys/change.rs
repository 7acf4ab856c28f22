//! Creates and changes keys of the gateway's clients.

use agentloop::GatewayConfig;
use agentloop_gateway::{KeyRecord, KeyTable, new_key};
use serde_json::json;

use super::args::{Create, Settings, Update};
use super::{has_configured_key, unknown_key, unknown_name};
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::{gateway_store, store};

pub(super) async fn create(args: &Create, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let mut key = KeyRecord::default();
    key.name.clone_from(&args.name);
    key.strict = args.strict;
    key.created_ms = store::now();
    args.limits.apply(&mut key.limits).map_err(Failure::input)?;
    args.settings.apply(&mut key);
    check(&key)?;
    if has_configured_key(&key.name, setup) {
        return Err(Failure::input_with_hint(
            format!("a configuration file has a key with the name `{}` already", key.name),
            "choose another name, because usage and budgets are counted by name",
        ));
    }
    let database = gateway_store::open(&config)?;
    check_team(&key, &database.load_keys().await?, &config)?;
    let (value, sha256) = new_key()?;
    key.sha256 = sha256;
    let name = key.name.clone();
    database.create_key(key).await?;
    let mut output = Output::new();
    if args.json {
        output.write_document(&json!({ "name": name, "key": value.expose() }))?;
    } else {
        output.write_line(value.expose())?;
    }
    output.flush()?;
    setup.notes.print_note(&format!(
        "this is the key `{name}`. It is shown only now, and only its hash is stored; clients send it as `Authorization: Bearer KEY`"
    ));
    Ok(())
}

pub(super) async fn update(args: &Update, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let database = gateway_store::open(&config)?;
    let table = database.load_keys().await?;
    let is_meant = |key: &&KeyRecord| key.name == args.name && key.revoked_ms.is_none();
    let Some(known) = table.keys.iter().find(is_meant) else {
        return Err(unknown_key(&args.name, &*database, setup).await);
    };
    let mut key = known.clone();
    args.no_limits.apply(&mut key.limits);
    args.limits.apply(&mut key.limits).map_err(Failure::input)?;
    if args.no_team {
        key.team = None;
    }
    if args.all_models {
        key.models = None;
    }
    if args.no_expires {
        key.expires = None;
    }
    if args.no_tags {
        key.tags.clear();
    }
    key.strict = args.strict.unwrap_or(key.strict);
    args.settings.apply(&mut key);
    if key == *known {
        setup.notes.print_note(&format!("nothing of the key `{}` has changed", args.name));
        return Ok(());
    }
    check(&key)?;
    check_team(&key, &table, &config)?;
    database.update_key(key).await?;
    setup.notes.print_note(&format!("the key `{}` is changed", args.name));
    Ok(())
}

impl Settings {
    /// Sets what is given.
    fn apply(&self, key: &mut KeyRecord) {
        if self.team.is_some() {
            key.team.clone_from(&self.team);
        }
        if !self.models.is_empty() {
            key.models = Some(self.models.clone());
        }
        if !self.tags.is_empty() {
            key.tags.clone_from(&self.tags);
        }
        key.expires = self.expires.or(key.expires);
    }
}

fn check(key: &KeyRecord) -> Result<(), Failure> {
    key.check()?;
    let now = store::now() / 1_000;
    if key.expires.is_some_and(|end| i64::try_from(end).is_ok_and(|end| end <= now)) {
        Err(Failure::input("the day of --expires is over, so the key would not be valid"))
    } else {
        Ok(())
    }
}

/// Checks that the team of a key exists, in the database or in the configuration.
fn check_team(key: &KeyRecord, table: &KeyTable, config: &GatewayConfig) -> Result<(), Failure> {
    let Some(team) = &key.team else { return Ok(()) };
    let known = table.teams.iter().map(|team| &team.name).chain(config.teams.keys());
    let known: Vec<&str> = known.map(String::as_str).collect();
    if known.contains(&team.as_str()) {
        return Ok(());
    }
    Err(unknown_name("team", team, known, &format!("`agentloop teams create {team}` creates it")))
}
