//! Lists the keys of providers and of the gateway's clients.

use agentloop_gateway::{KeyRecord, KeyTable};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::limits::describe_limits;
use super::provider::{self, ProviderKey};
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;
use crate::time::format_utc;
use crate::{gateway_store, store};

/// A key of the gateway's clients.
#[derive(Debug)]
struct ClientKey {
    key: KeyRecord,
    /// `active`, `expired` or `revoked`.
    state: &'static str,
    /// Where it is kept: the database or the configuration.
    source: &'static str,
}

impl ClientKey {
    fn new(key: KeyRecord, source: &'static str) -> Self {
        let now = store::now() / 1_000;
        let is_over = key.expires.is_some_and(|end| i64::try_from(end).is_ok_and(|end| end <= now));
        let state = match key.revoked_ms {
            Some(_) => "revoked",
            None if is_over => "expired",
            None => "active",
        };
        Self { key, state, source }
    }
}

impl Serialize for ClientKey {
    /// Writes the key without its hash, with days and times that a person can read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut shown = json!(self.key);
        if let Some(fields) = shown.as_object_mut() {
            for name in ["sha256", "createdMs", "revokedMs"] {
                fields.shift_remove(name);
            }
            fields.insert("state".to_owned(), self.state.into());
            fields.insert("source".to_owned(), self.source.into());
            // A key of the configuration has no time at which it was created.
            let created = Some(self.key.created_ms).filter(|time| *time != 0);
            for (name, text) in [
                ("expires", self.key.last_day()),
                ("created", created.map(format_utc)),
                ("revoked", self.key.revoked_ms.map(format_utc)),
            ] {
                fields.extend(text.map(|text| (name.to_owned(), text.into())));
            }
        }
        shown.serialize(serializer)
    }
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
    if json {
        output.write_document(&document)?;
    } else {
        write(&document, setup, &mut output)?;
    }
    Ok(output.flush()?)
}

/// Returns the keys of the configuration and of the database: those that are valid first.
async fn clients(setup: &Setup) -> Result<Vec<ClientKey>, Failure> {
    let config = setup.config.gateway.clone().unwrap_or_default();
    let mut keys = Vec::new();
    for (name, key) in &config.keys {
        keys.push(ClientKey::new(KeyRecord::from_config(name, key)?, "configuration"));
    }
    // Without a data folder there is no database, and the keys of providers are still listed.
    let has_place = config.store.url_env.is_some() || gateway_store::data_folder(&config).is_some();
    let table = match has_place.then(|| gateway_store::open_existing(&config)).transpose()? {
        Some(Some(database)) => database.load_keys().await?,
        _ => KeyTable::default(),
    };
    keys.extend(table.keys.into_iter().map(|key| ClientKey::new(key, "database")));
    keys.sort_by_key(|key| (key.state != "active", key.state == "revoked"));
    Ok(keys)
}

fn write(document: &Document, setup: &Setup, output: &mut Output) -> Result<(), Failure> {
    let is_terminal = output.is_terminal();
    // In a pipe every line begins with the kind of the key.
    let row = |kind: &str, cells: Vec<String>| {
        if is_terminal { cells } else { std::iter::once(kind.to_owned()).chain(cells).collect() }
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

fn cells(ClientKey { key, state, source }: &ClientKey) -> Vec<String> {
    let [budget, limits] = describe_limits(&key.limits);
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let tags = (!key.tags.is_empty()).then(|| key.tags.join(", "));
    vec![
        key.name.clone(),
        (*state).to_owned(),
        or_dash(key.team.clone()),
        budget,
        limits,
        key.models.as_ref().map_or("all".to_owned(), |models| models.join(", ")),
        or_dash(key.last_day()),
        or_dash(tags),
        (*source).to_owned(),
    ]
}
