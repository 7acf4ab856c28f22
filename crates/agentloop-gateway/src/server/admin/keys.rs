//! Keys of clients.

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::query::{self, now_ms};
use super::reply::{Problem, invalid, problem, to_json};
use crate::Gateway;
use crate::key::{end_of_day, new_key};
use crate::state::State;
use crate::store::{KeyRecord, KeyTable, MAX_PAGE, Store};
use crate::stream::GatewayBody;

/// What can be set of a key.
const SETTINGS: [&str; 9] = [
    "team",
    "models",
    "strict",
    "expires",
    "tags",
    "budgets",
    "requestsPerMinute",
    "tokensPerMinute",
    "concurrency",
];

/// Shows a key: without its hash, with what is not set, and with the last day on which it is valid.
fn show(key: &KeyRecord) -> Value {
    let mut shown = json!(key);
    if let Some(fields) = shown.as_object_mut() {
        fields.shift_remove("sha256");
        fields.insert("expires".to_owned(), json!(key.last_day()));
        for name in SETTINGS {
            let is_list = matches!(name, "tags" | "budgets");
            let unset = if is_list { json!([]) } else { Value::Null };
            fields.entry(name).or_insert(unset);
        }
    }
    shown
}

/// Reads the settings of a key.
fn read(
    mut body: Map<String, Value>,
    name: &str,
    known: &KeyTable,
    state: &State,
) -> Result<KeyRecord, Problem> {
    check_fields(&body, &SETTINGS)?;
    let expires = match body.remove("expires") {
        None | Some(Value::Null) => None,
        Some(day) => Some(
            day.as_str()
                .and_then(end_of_day)
                .ok_or_else(|| invalid("`expires` is not a day such as 2027-12-31".to_owned()))?,
        ),
    };
    let read = serde_json::from_value(Value::Object(body));
    let read: KeyRecord = read.map_err(|error| invalid(error.to_string()))?;
    let key = KeyRecord { name: name.to_owned(), expires, ..read };
    key.check()?;
    if let Some(team) = &key.team
        && !known.teams.iter().any(|other| other.name == *team)
        && !state.teams.contains_key(team)
    {
        let message = format!("there is no team `{team}`; create it with PUT /api/teams/{team}");
        return Err(problem(StatusCode::BAD_REQUEST, "unknown_team", message));
    }
    Ok(key)
}

/// Refuses fields that are not known.
pub(super) fn check_fields(body: &Map<String, Value>, known: &[&str]) -> Result<(), Problem> {
    match body.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(other) => {
            let shown: String = other.chars().take(64).collect();
            let known = known.join("`, `");
            Err(invalid(format!("unknown field `{shown}`; the known ones: `{known}`")))
        }
    }
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
    let keys: Vec<Value> = shown.iter().take(MAX_PAGE).map(|key| show(key)).collect();
    // `next` is the name to begin after, if there are more.
    Ok(to_json(StatusCode::OK, &json!({ "keys": keys, "next": next })))
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
    let mut record = read(body, &name, &store.load_keys().await?, &gateway.state())?;
    if gateway.state().keys.has_name(&name) {
        let message = format!("there is a key with the name `{name}` in the configuration");
        return Err(problem(StatusCode::CONFLICT, "conflict", message));
    }
    let (key, hash) = new_key()?;
    record.sha256 = hash;
    record.created_ms = now_ms();
    store.create_key(record.clone()).await?;
    let mut shown = show(&record);
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
    let mut settings = Map::new();
    if let Value::Object(fields) = show(known) {
        let is_setting = |name: &String| SETTINGS.contains(&name.as_str());
        settings.extend(
            fields.into_iter().filter(|(name, value)| is_setting(name) && !value.is_null()),
        );
    }
    check_fields(&body, &SETTINGS)?;
    for (name, value) in body {
        match value {
            Value::Null => drop(settings.remove(&name)),
            value => drop(settings.insert(name, value)),
        }
    }
    let mut record = read(settings, name, &table, &gateway.state())?;
    record.created_ms = known.created_ms;
    store.update_key(record.clone()).await?;
    Ok(to_json(StatusCode::OK, &show(&record)))
}

/// Revokes a key.
pub(super) async fn revoke(
    store: &dyn Store,
    name: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let now = now_ms();
    if store.revoke_key(name, now).await? {
        Ok(to_json(StatusCode::OK, &json!({ "name": name, "revokedMs": now })))
    } else {
        Err(not_found(name))
    }
}

fn not_found(name: &str) -> Problem {
    let message = format!(
        "there is no key `{name}` in the database; keys of the configuration are changed in its file"
    );
    problem(StatusCode::NOT_FOUND, "not_found", message)
}
