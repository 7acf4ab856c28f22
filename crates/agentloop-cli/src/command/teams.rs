//! `agentloop teams`: groups of keys that share budgets and limits.

use agentloop::GatewayConfig;
use agentloop_gateway::{KeyTable, Limits, TeamRecord};
use serde::Serialize;

use crate::command::keys::{LimitArgs, NoLimitArgs, describe_limits, unknown_name};
use crate::failure::Failure;
use crate::gateway_store;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// Options of `agentloop teams`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the teams of the database and of the configuration.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Create a team.
    ///
    /// Example: agentloop teams create web --budget 100/month --concurrency 20
    Create {
        /// The name: letters, digits, `-`, `_` and `.`.
        name: String,
        #[command(flatten)]
        limits: LimitArgs,
    },
    /// Change the budgets and limits of a team. What is not named stays as it is.
    Update {
        /// The name of the team.
        name: String,
        #[command(flatten)]
        limits: LimitArgs,
        #[command(flatten)]
        no_limits: NoLimitArgs,
    },
    /// Remove a team that has no keys. Its usage is kept.
    Remove {
        /// The name of the team.
        name: String,
    },
}

/// A team as it is listed.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    /// Where it is kept: the database or the configuration.
    source: &'static str,
    #[serde(flatten)]
    limits: Limits,
    /// Its keys that are not revoked.
    keys: Vec<String>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    match &args.action {
        None => list(args.json, &config, setup).await,
        Some(Action::List { json }) => list(args.json || *json, &config, setup).await,
        Some(Action::Create { name, limits }) => create(name, limits, &config, setup).await,
        Some(Action::Update { name, limits, no_limits }) => {
            update(name, limits, no_limits, &config, setup).await
        }
        Some(Action::Remove { name }) => remove(name, &config, setup).await,
    }
}

async fn create(
    name: &str,
    limits: &LimitArgs,
    config: &GatewayConfig,
    setup: &Setup,
) -> Result<(), Failure> {
    let mut team = TeamRecord::default();
    name.clone_into(&mut team.name);
    limits.apply(&mut team.limits).map_err(Failure::input)?;
    team.check()?;
    refuse_configured(name, config)?;
    let database = gateway_store::open(config)?;
    if database.load_keys().await?.teams.iter().any(|known| known.name == name) {
        return Err(Failure::input_with_hint(
            format!("there is a team with the name `{name}` already"),
            format!("change it with `agentloop teams update {name}`"),
        ));
    }
    database.put_team(team).await?;
    setup.notes.print_note(&format!(
        "the team `{name}` is created; put keys in it with `agentloop keys create NAME --team {name}`"
    ));
    Ok(())
}

async fn update(
    name: &str,
    limits: &LimitArgs,
    no_limits: &NoLimitArgs,
    config: &GatewayConfig,
    setup: &Setup,
) -> Result<(), Failure> {
    refuse_configured(name, config)?;
    let database = gateway_store::open(config)?;
    let teams = database.load_keys().await?.teams;
    let Some(known) = teams.iter().find(|team| team.name == name) else {
        return Err(unknown_team(name, &teams));
    };
    let mut team = known.clone();
    no_limits.apply(&mut team.limits);
    limits.apply(&mut team.limits).map_err(Failure::input)?;
    if team == *known {
        setup.notes.print_note(&format!("nothing of the team `{name}` has changed"));
        return Ok(());
    }
    team.check()?;
    database.put_team(team).await?;
    setup.notes.print_note(&format!("the team `{name}` is changed"));
    Ok(())
}

async fn remove(name: &str, config: &GatewayConfig, setup: &Setup) -> Result<(), Failure> {
    refuse_configured(name, config)?;
    let database = gateway_store::open(config)?;
    if !database.remove_team(name).await? {
        return Err(unknown_team(name, &database.load_keys().await?.teams));
    }
    setup.notes.print_note(&format!("the team `{name}` is removed; its usage is kept"));
    Ok(())
}

async fn list(json: bool, config: &GatewayConfig, setup: &Setup) -> Result<(), Failure> {
    let table = match gateway_store::open_existing(config)? {
        Some(database) => database.load_keys().await?,
        None => KeyTable::default(),
    };
    let keys_of = |name: &str| -> Vec<String> {
        let stored = table.keys.iter().filter(|key| key.revoked_ms.is_none());
        let stored = stored.map(|key| (&key.name, &key.team));
        let configured = config.keys.iter().map(|(key, settings)| (key, &settings.team));
        let all = configured.chain(stored);
        all.filter(|(_, team)| team.as_deref() == Some(name)).map(|(key, _)| key.clone()).collect()
    };
    let mut rows = Vec::new();
    for (name, team) in &config.teams {
        let limits = Limits::from(team);
        rows.push(Row { name: name.clone(), source: "configuration", limits, keys: keys_of(name) });
    }
    // A team of the configuration takes the place of one of the database.
    for team in table.teams.iter().filter(|team| !config.teams.contains_key(&team.name)) {
        let (name, limits) = (team.name.clone(), team.limits.clone());
        rows.push(Row { keys: keys_of(&name), name, source: "database", limits });
    }
    let mut output = Output::new();
    if json {
        output.write_document(&rows)?;
    } else if rows.is_empty() {
        setup.notes.print_note("there is no team; create one with `agentloop teams create NAME`");
    } else {
        let mut table = Table::new(["TEAM", "BUDGET", "LIMITS", "KEYS", "FROM"]);
        for row in rows {
            let [budget, limits] = describe_limits(&row.limits);
            let keys = if row.keys.is_empty() { "-".to_owned() } else { row.keys.join(", ") };
            table.push(vec![row.name, budget, limits, keys, row.source.to_owned()]);
        }
        table.write(&mut output)?;
    }
    Ok(output.flush()?)
}

fn unknown_team(name: &str, teams: &[TeamRecord]) -> Failure {
    let names = teams.iter().map(|team| team.name.as_str());
    unknown_name("team", name, names, "`agentloop teams list` lists the teams")
}

/// Refuses to change a team that a file has.
fn refuse_configured(name: &str, config: &GatewayConfig) -> Result<(), Failure> {
    if config.teams.contains_key(name) {
        Err(Failure::input_with_hint(
            format!("the team `{name}` is in a configuration file"),
            format!("change [gateway.teams.{name}] in agentloop.toml"),
        ))
    } else {
        Ok(())
    }
}
