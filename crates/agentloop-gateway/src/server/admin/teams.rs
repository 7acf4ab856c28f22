//! Teams.

use http::{Response, StatusCode};
use serde_json::{Map, Value, json};

use super::keys::check_fields;
use super::reply::{Problem, invalid, problem, to_json};
use crate::store::{Limits, Store, TeamRecord};
use crate::stream::GatewayBody;

/// What can be set of a team.
const FIELDS: [&str; 4] = ["budgets", "requestsPerMinute", "tokensPerMinute", "concurrency"];

/// Lists the teams.
pub(super) async fn list(store: &dyn Store) -> Result<Response<GatewayBody>, Problem> {
    let table = store.load_keys().await?;
    Ok(to_json(StatusCode::OK, &json!({ "teams": table.teams })))
}

/// Shows a team with the names of its keys.
pub(super) async fn show(store: &dyn Store, name: &str) -> Result<Response<GatewayBody>, Problem> {
    let table = store.load_keys().await?;
    let Some(team) = table.teams.iter().find(|team| team.name == name) else {
        return Err(not_found(name));
    };
    let belongs = |key: &&crate::store::KeyRecord| {
        key.revoked_ms.is_none() && key.team.as_deref() == Some(name)
    };
    let keys: Vec<&str> = table.keys.iter().filter(belongs).map(|key| key.name.as_str()).collect();
    let mut shown = json!(team);
    shown["keys"] = json!(keys);
    Ok(to_json(StatusCode::OK, &shown))
}

/// Creates a team, or replaces its limits.
pub(super) async fn put(
    store: &dyn Store,
    name: &str,
    body: Map<String, Value>,
) -> Result<Response<GatewayBody>, Problem> {
    check_fields(&body, &FIELDS)?;
    let limits: Limits =
        serde_json::from_value(Value::Object(body)).map_err(|error| invalid(error.to_string()))?;
    let team = TeamRecord { name: name.to_owned(), limits };
    team.check()?;
    store.put_team(team.clone()).await?;
    Ok(to_json(StatusCode::OK, &team))
}

/// Removes a team without keys.
pub(super) async fn remove(
    store: &dyn Store,
    name: &str,
) -> Result<Response<GatewayBody>, Problem> {
    if store.remove_team(name).await? {
        Ok(to_json(StatusCode::OK, &json!({ "name": name })))
    } else {
        Err(not_found(name))
    }
}

fn not_found(name: &str) -> Problem {
    problem(StatusCode::NOT_FOUND, "not_found", format!("there is no team `{name}`"))
}
