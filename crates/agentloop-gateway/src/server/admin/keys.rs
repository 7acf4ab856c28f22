//! Keys of clients.

use agentloop::GatewayBudget;
use http::{Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::query::{self, now_ms};
use super::reply::{Problem, invalid, problem, to_json};
use crate::Gateway;
use crate::key::{end_of_day, new_key};
use crate::state::State;
use crate::store::{KeyRecord, KeyTable, Limits, MAX_PAGE, Store, format_day};
use crate::stream::GatewayBody;

/// What can be set of a key.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Settings {
    team: Option<String>,
    models: Option<Vec<String>>,
    strict: bool,
    /// The last day on which it is valid, as `YYYY-MM-DD`.
    expires: Option<String>,
    tags: Vec<String>,
    budgets: Vec<GatewayBudget>,
    requests_per_minute: Option<u64>,
    tokens_per_minute: Option<u64>,
    concurrency: Option<usize>,
}

/// Some of the keys.
#[derive(Debug, Serialize)]
struct Page<'a> {
    keys: Vec<KeyView<'a>>,
    /// The name to begin after, if there are more.
    next: Option<&'a String>,
}

/// A key as it is shown: without its hash.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KeyView<'a> {
    name: &'a str,
    #[serde(flatten)]
    settings: Settings,
    created_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_ms: Option<i64>,
}

impl<'a> From<&'a KeyRecord> for KeyView<'a> {
    fn from(key: &'a KeyRecord) -> Self {
        let (created_ms, revoked_ms) = (key.created_ms, key.revoked_ms);
        Self { name: &key.name, settings: key.into(), created_ms, revoked_ms }
    }
}

impl From<&KeyRecord> for Settings {
    fn from(key: &KeyRecord) -> Self {
        Self {
            team: key.team.clone(),
            models: key.models.clone(),
            strict: key.strict,
            expires: key.expires.map(last_day),
            tags: key.tags.clone(),
            budgets: key.limits.budgets.clone(),
            requests_per_minute: key.limits.requests_per_minute,
            tokens_per_minute: key.limits.tokens_per_minute,
            concurrency: key.limits.concurrency,
        }
    }
}

/// Returns the last day before a second of Unix time ends.
fn last_day(expires: u64) -> String {
    format_day(i64::try_from(expires.saturating_sub(1) / 86_400).unwrap_or(i64::MAX))
}

impl Settings {
    fn into_key(self, name: &str, known: &KeyTable, state: &State) -> Result<KeyRecord, Problem> {
        let expires =
            match &self.expires {
                None => None,
                Some(day) => Some(end_of_day(day).ok_or_else(|| {
                    invalid("`expires` is not a day such as 2027-12-31".to_owned())
                })?),
            };
        let key = KeyRecord {
            name: name.to_owned(),
            team: self.team,
            models: self.models,
            strict: self.strict,
            expires,
            tags: self.tags,
            limits: Limits {
                budgets: self.budgets,
                requests_per_minute: self.requests_per_minute,
                tokens_per_minute: self.tokens_per_minute,
                concurrency: self.concurrency,
            },
            ..KeyRecord::default()
        };
        key.check()?;
        if let Some(team) = &key.team
            && !known.teams.iter().any(|other| other.name == *team)
            && !state.teams.contains_key(team)
        {
            let message =
                format!("there is no team `{team}`; create it with PUT /api/teams/{team}");
            return Err(problem(StatusCode::BAD_REQUEST, "unknown_team", message));
        }
        Ok(key)
    }
}

fn read(object: Map<String, Value>) -> Result<Settings, Problem> {
    serde_json::from_value(Value::Object(object)).map_err(|error| invalid(error.to_string()))
}

/// Lists the keys of the store by their names, at most [`MAX_PAGE`] at once.
pub(super) async fn list(store: &dyn Store, query: &str) -> Result<Response<GatewayBody>, Problem> {
    let pairs = query::pairs(query, &["after", "revoked"])?;
    let value = |name: &str| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.as_str());
    let with_revoked = match value("revoked") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(invalid("`revoked` must be `true` or `false`")),
    };
    let table = store.load_keys().await?;
    let is_shown = |key: &&KeyRecord| {
        (with_revoked || key.revoked_ms.is_none())
            && value("after").is_none_or(|after| key.name.as_str() > after)
    };
    let mut shown: Vec<&KeyRecord> = table.keys.iter().filter(is_shown).collect();
    shown.sort_by(|one, other| {
        one.name.cmp(&other.name).then(one.created_ms.cmp(&other.created_ms))
    });
    let next = shown.get(MAX_PAGE).and_then(|_| shown.get(MAX_PAGE - 1)).map(|key| &key.name);
    let keys = shown.iter().take(MAX_PAGE).map(|key| (*key).into()).collect();
    Ok(to_json(StatusCode::OK, &Page { keys, next }))
}

/// Creates a key, and returns it once.
pub(super) async fn create(
    gateway: &Gateway,
    store: &dyn Store,
    mut body: Map<String, Value>,
) -> Result<Response<GatewayBody>, Problem> {
    let Some(Value::String(name)) = body.remove("name") else {
        return Err(invalid("`name` is missing: the name of the key, as text"));
    };
    let settings = read(body)?;
    let mut record = settings.into_key(&name, &store.load_keys().await?, &gateway.state())?;
    if gateway.state().keys.has_name(&name) {
        let message = format!("there is a key with the name `{name}` in the configuration");
        return Err(problem(StatusCode::CONFLICT, "conflict", message));
    }
    let (key, hash) = new_key()?;
    record.sha256 = hash;
    record.created_ms = now_ms();
    store.create_key(record.clone()).await?;
    let mut shown = json!(KeyView::from(&record));
    shown["key"] = key.expose().into();
    Ok(to_json(StatusCode::CREATED, &shown))
}

/// Changes what is named in the body. `null` removes a setting.
pub(super) async fn update(
    gateway: &Gateway,
    store: &dyn Store,
    name: &str,
    body: Map<String, Value>,
) -> Result<Response<GatewayBody>, Problem> {
    let table = store.load_keys().await?;
    let Some(known) = table.keys.iter().find(|key| key.name == name && key.revoked_ms.is_none())
    else {
        return Err(not_found(name));
    };
    let mut settings = match json!(Settings::from(known)) {
        Value::Object(settings) => settings,
        _ => Map::new(),
    };
    for (name, value) in body {
        match value {
            Value::Null if settings.contains_key(&name) => drop(settings.remove(&name)),
            value => drop(settings.insert(name, value)),
        }
    }
    let mut record = read(settings)?.into_key(name, &table, &gateway.state())?;
    record.created_ms = known.created_ms;
    store.update_key(record.clone()).await?;
    Ok(to_json(StatusCode::OK, &KeyView::from(&record)))
}

/// Revokes a key.
pub(super) async fn revoke(
    store: &dyn Store,
    name: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let now = now_ms();
    match store.revoke_key(name, now).await? {
        true => Ok(to_json(StatusCode::OK, &json!({ "name": name, "revokedMs": now }))),
        false => Err(not_found(name)),
    }
}

fn not_found(name: &str) -> Problem {
    let message = format!(
        "there is no key `{name}` in the database; keys of the configuration are changed in its file"
    );
    problem(StatusCode::NOT_FOUND, "not_found", message)
}
