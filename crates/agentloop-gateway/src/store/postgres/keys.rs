//! Keys and teams.

use agentloop::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_postgres::{IsolationLevel, Transaction};

use super::error::Failure;
use super::pool::Session;
use crate::store::refusal::{hash_is_taken, name_is_taken, no_such_key, team_has_keys};
use crate::store::{KeyRecord, KeyTable, TeamRecord};

/// The outer error is one of the connection, the inner one is the result.
type Outcome<T> = Result<Result<T>, Failure>;

pub(super) async fn version(session: &mut Session) -> Outcome<u64> {
    let statement = session.prepare("SELECT keys_version FROM agentloop.state").await?;
    let version: i64 = session.client.query_one(&statement, &[]).await?.try_get(0)?;
    Ok(Ok(version.unsigned_abs()))
}

pub(super) async fn load(session: &mut Session) -> Outcome<KeyTable> {
    // All tables as of the same moment.
    let transaction = session
        .client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await?;
    let version = "SELECT keys_version FROM agentloop.state";
    let version: i64 = transaction.query_one(version, &[]).await?.try_get(0)?;
    let keys = "SELECT record, sha256, created_ms, revoked_ms, name FROM agentloop.keys \
                ORDER BY number";
    let keys = transaction.query(keys, &[]).await?;
    let teams = "SELECT record, name FROM agentloop.teams ORDER BY name";
    let teams = transaction.query(teams, &[]).await?;
    transaction.commit().await?;

    let mut table = KeyTable { version: version.unsigned_abs(), ..KeyTable::default() };
    for row in keys {
        let mut key: KeyRecord = match parse("key", row.try_get(4)?, row.try_get(0)?) {
            Ok(key) => key,
            Err(error) => return Ok(Err(error)),
        };
        key.sha256 = row.try_get(1)?;
        (key.created_ms, key.revoked_ms) = (row.try_get(2)?, row.try_get(3)?);
        table.keys.push(key);
    }
    for row in teams {
        match parse("team", row.try_get(1)?, row.try_get(0)?) {
            Ok(team) => table.teams.push(team),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(table))
}

pub(super) async fn create(session: &mut Session, key: &KeyRecord) -> Outcome<()> {
    let record = match write("key", &[&key.name, &key.sha256], key.team.as_ref(), key) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error)),
    };
    let transaction = begin_change(session).await?;
    let taken = "SELECT EXISTS (SELECT FROM agentloop.keys WHERE name = $1 AND revoked_ms IS NULL), \
                 EXISTS (SELECT FROM agentloop.keys WHERE sha256 = $2)";
    let taken = transaction.query_one(taken, &[&key.name, &key.sha256]).await?;
    let refusal = if taken.try_get(0)? {
        Some(name_is_taken(&key.name))
    } else if taken.try_get(1)? {
        Some(hash_is_taken())
    } else {
        None
    };
    if let Some(refusal) = refusal {
        transaction.rollback().await?;
        return Ok(Err(refusal));
    }
    let insert = "INSERT INTO agentloop.keys (name, sha256, team, created_ms, revoked_ms, record) \
                  VALUES ($1, $2, $3, $4, $5, $6)";
    let (created, revoked) = (&key.created_ms, &key.revoked_ms);
    transaction
        .execute(insert, &[&key.name, &key.sha256, &key.team, created, revoked, &record])
        .await?;
    transaction.commit().await?;
    Ok(Ok(()))
}

pub(super) async fn update(session: &mut Session, key: &KeyRecord) -> Outcome<()> {
    let record = match write("key", &[&key.name], key.team.as_ref(), key) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error)),
    };
    let sql = "UPDATE agentloop.keys SET team = $2, record = $3 \
               WHERE name = $1 AND revoked_ms IS NULL";
    let transaction = begin_change(session).await?;
    let changed = transaction.execute(sql, &[&key.name, &key.team, &record]).await?;
    let was_there = end_change(transaction, changed).await?;
    Ok(if was_there { Ok(()) } else { Err(no_such_key(&key.name)) })
}

pub(super) async fn revoke(session: &mut Session, name: &str, now_ms: i64) -> Outcome<bool> {
    if is_unstorable(name) {
        return Ok(Ok(false));
    }
    let sql = "UPDATE agentloop.keys SET revoked_ms = $2 WHERE name = $1 AND revoked_ms IS NULL";
    let transaction = begin_change(session).await?;
    let changed = transaction.execute(sql, &[&name, &now_ms]).await?;
    Ok(Ok(end_change(transaction, changed).await?))
}

pub(super) async fn forget(session: &mut Session, name: &str) -> Outcome<bool> {
    if is_unstorable(name) {
        return Ok(Ok(false));
    }
    let sql = "DELETE FROM agentloop.keys WHERE name = $1 AND revoked_ms IS NOT NULL";
    let transaction = begin_change(session).await?;
    let changed = transaction.execute(sql, &[&name]).await?;
    Ok(Ok(end_change(transaction, changed).await?))
}

pub(super) async fn put_team(session: &mut Session, team: &TeamRecord) -> Outcome<()> {
    let record = match write("team", &[&team.name], None, team) {
        Ok(record) => record,
        Err(error) => return Ok(Err(error)),
    };
    let sql = "INSERT INTO agentloop.teams (name, record) VALUES ($1, $2) \
               ON CONFLICT (name) DO UPDATE SET record = excluded.record";
    let transaction = begin_change(session).await?;
    transaction.execute(sql, &[&team.name, &record]).await?;
    transaction.commit().await?;
    Ok(Ok(()))
}

pub(super) async fn remove_team(session: &mut Session, name: &str) -> Outcome<bool> {
    if is_unstorable(name) {
        return Ok(Ok(false));
    }
    let transaction = begin_change(session).await?;
    let member = "SELECT name FROM agentloop.keys WHERE team = $1 AND revoked_ms IS NULL \
                  AND EXISTS (SELECT FROM agentloop.teams WHERE name = $1) \
                  ORDER BY number LIMIT 1";
    if let Some(member) = transaction.query_opt(member, &[&name]).await? {
        transaction.rollback().await?;
        return Ok(Err(team_has_keys(name, member.try_get(0)?)));
    }
    let sql = "DELETE FROM agentloop.teams WHERE name = $1";
    let changed = transaction.execute(sql, &[&name]).await?;
    Ok(Ok(end_change(transaction, changed).await?))
}

/// Begins a change of keys or teams. Changes of all gateways wait for each other here.
async fn begin_change(session: &mut Session) -> Result<Transaction<'_>, Failure> {
    let transaction = session.client.transaction().await?;
    let sql = "UPDATE agentloop.state SET keys_version = keys_version + 1";
    transaction.execute(sql, &[]).await?;
    Ok(transaction)
}

/// Ends a change. If it changed nothing, the version stays as it was.
async fn end_change(transaction: Transaction<'_>, changed: u64) -> Result<bool, Failure> {
    if changed == 0 {
        transaction.rollback().await?;
    } else {
        transaction.commit().await?;
    }
    Ok(changed > 0)
}

fn is_unstorable(text: &str) -> bool {
    text.contains('\0')
}

/// Returns the JSON of a record.
fn write(
    what: &str,
    names: &[&String],
    team: Option<&String>,
    record: &impl Serialize,
) -> Result<String> {
    if names.iter().copied().chain(team).any(|name| is_unstorable(name)) {
        let message = format!("the name of the {what} contains the character NUL");
        return Err(Error::new(ErrorKind::InvalidRequest, message));
    }
    serde_json::to_string(record).map_err(|error| {
        Error::new(ErrorKind::Other, format!("the {what} cannot be written as JSON: {error}"))
    })
}

fn parse<T: DeserializeOwned>(what: &str, name: &str, record: &str) -> Result<T> {
    serde_json::from_str(record).map_err(|error| {
        let message =
            format!("the {what} `{name}` in the PostgreSQL database cannot be read: {error}");
        Error::new(ErrorKind::Protocol, message)
            .with_hint("update this program: a newer one may have written it")
    })
}
