//! Lists the keys of providers and of the gateway's clients.

use agentloop::GatewayKey;
use agentloop_gateway::{KeyRecord, KeyTable, Limits};
use serde::Serialize;

use super::limits::describe_limits;
use super::provider::{self, ProviderKey};
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;
use crate::time::{format_day, format_utc};
use crate::{gateway_store, store};

/// A key of the gateway's clients.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ClientKey {
    name: String,
    /// `active`, `expired` or `revoked`.
    state: &'static str,
    /// Where it is kept: the database or the configuration.
    source: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<String>>,
    strict: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(flatten)]
    limits: Limits,
    /// The last day on which it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked: Option<String>,
}

/// What `--json` prints.
#[derive(Debug, Serialize)]
struct Document {
    providers: Vec<ProviderKey>,
    /// Absent if the database cannot be read.
    gateway: Option<Vec<ClientKey>>,
}

pub(super) async fn run(json: bool, setup: &Setup) -> Result<(), Failure> {
    let providers = provider::list(setup)?;
    // The keys of providers are listed whatever the state of the database is.
    let gateway = match clients(setup).await {
        Ok(keys) => Some(keys),
        Err(failure) => {
            let why = "the keys of the gateway cannot be listed";
            setup.notes.print_warning(&format!("{why}: {}", failure.message()));
            None
        }
    };
    let document = Document { providers, gateway };
    let mut output = Output::new();
    match json {
        true => output.write_document(&document)?,
        false => write(&document, setup, &mut output)?,
    }
    Ok(output.flush()?)
}

/// Returns the keys of the configuration and of the database: those that are valid first.
async fn clients(setup: &Setup) -> Result<Vec<ClientKey>, Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let mut keys: Vec<ClientKey> =
        config.keys.iter().map(|(name, key)| of_configuration(name, key)).collect();
    // Without a data folder there is no database, and the keys of providers are still listed.
    let has_place = config.store.url_env.is_some() || gateway_store::data_folder(&config).is_some();
    let table = match has_place.then(|| gateway_store::open_existing(&config)).transpose()? {
        Some(Some(database)) => database.load_keys().await?,
        _ => KeyTable::default(),
    };
    let now = store::now();
    keys.extend(table.keys.into_iter().map(|key| of_database(key, now)));
    keys.sort_by_key(|key| (key.state != "active", key.state == "revoked"));
    Ok(keys)
}

fn of_configuration(name: &str, key: &GatewayKey) -> ClientKey {
    let mut limits = Limits::default();
    limits.budgets.clone_from(&key.budget);
    limits.requests_per_minute = key.requests_per_minute;
    limits.tokens_per_minute = key.tokens_per_minute;
    limits.concurrency = key.concurrency;
    let today = format_day(store::now());
    ClientKey {
        name: name.to_owned(),
        // Days are written so that they sort like text.
        state: match key.expires.as_ref().is_some_and(|day| *day < today) {
            true => "expired",
            false => "active",
        },
        source: "configuration",
        team: key.team.clone(),
        models: key.models.clone(),
        strict: key.strict,
        tags: key.tags.clone(),
        limits,
        expires: key.expires.clone(),
        created: None,
        revoked: None,
    }
}

fn of_database(key: KeyRecord, now: i64) -> ClientKey {
    let end = key.expires.map(|end| i64::try_from(end).unwrap_or(i64::MAX / 1_000) * 1_000);
    ClientKey {
        state: match (key.revoked_ms, end) {
            (Some(_), _) => "revoked",
            (None, Some(end)) if end <= now => "expired",
            _ => "active",
        },
        source: "database",
        expires: end.map(|end| format_day(end - 1)),
        created: Some(format_utc(key.created_ms)),
        revoked: key.revoked_ms.map(format_utc),
        name: key.name,
        team: key.team,
        models: key.models,
        strict: key.strict,
        tags: key.tags,
        limits: key.limits,
    }
}

fn write(document: &Document, setup: &Setup, output: &mut Output) -> Result<(), Failure> {
    let is_terminal = output.is_terminal();
    // In a pipe every line begins with the kind of the key.
    let row = |kind: &str, cells: Vec<String>| match is_terminal {
        true => cells,
        false => std::iter::once(kind.to_owned()).chain(cells).collect(),
    };
    let mut providers = Table::new(["PROVIDER", "KEY FROM"]);
    for key in &document.providers {
        providers.push(row("provider", vec![key.provider.clone(), key.source.clone()]));
    }
    let mut clients = Table::new([
        "GATEWAY KEY",
        "STATE",
        "TEAM",
        "BUDGET",
        "LIMITS",
        "MODELS",
        "EXPIRES",
        "TAGS",
        "FROM",
    ]);
    for key in document.gateway.iter().flatten() {
        clients.push(row("gateway", cells(key)));
    }
    if document.providers.is_empty() {
        setup.notes.print_note("no key of a provider is set; store one with `agentloop setup`");
    } else {
        providers.write(output)?;
    }
    if document.gateway.as_ref().is_some_and(|keys| !keys.is_empty()) {
        if is_terminal && !document.providers.is_empty() {
            output.write_line("")?;
        }
        clients.write(output)?;
    }
    Ok(())
}

fn cells(key: &ClientKey) -> Vec<String> {
    let [budget, limits] = describe_limits(&key.limits);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let tags = (!key.tags.is_empty()).then(|| key.tags.join(", "));
    vec![
        key.name.clone(),
        key.state.to_owned(),
        or_dash(key.team.clone()),
        budget,
        limits,
        key.models.as_ref().map_or("all".to_owned(), |models| models.join(", ")),
        or_dash(key.expires.clone()),
        or_dash(tags),
        key.source.to_owned(),
    ]
}
