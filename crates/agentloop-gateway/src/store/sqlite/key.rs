//! Keys and teams.

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::sqlite::StoreError;
use crate::store::refusal::{hash_is_taken, name_is_taken, no_such_key, team_has_keys};
use crate::store::{KeyRecord, KeyTable, TeamRecord};

pub(super) fn version(connection: &Connection) -> Result<u64, StoreError> {
    let mut statement = connection.prepare("SELECT keys FROM version")?;
    let version: i64 = statement.query_row([], |row| row.get(0))?;
    Ok(version.unsigned_abs())
}

fn increase_version(connection: &Connection) -> Result<(), StoreError> {
    connection.execute("UPDATE version SET keys = keys + 1", [])?;
    Ok(())
}

pub(super) fn load(connection: &Connection) -> Result<KeyTable, StoreError> {
    // The version belongs to what is read with it.
    let transaction = connection.unchecked_transaction()?;
    let mut table = KeyTable { version: version(&transaction)?, ..KeyTable::default() };
    let mut statement = transaction.prepare(
        "SELECT name, sha256, team, created_ms, revoked_ms, settings FROM key ORDER BY name, number",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        table.keys.push(read_key(row)?);
    }
    let mut statement = transaction.prepare("SELECT name, settings FROM team ORDER BY name")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let team: TeamRecord = serde_json::from_str(row.get_ref(1)?.as_str().unwrap_or_default())?;
        table.teams.push(TeamRecord { name: row.get(0)?, ..team });
    }
    Ok(table)
}

fn read_key(row: &Row<'_>) -> Result<KeyRecord, StoreError> {
    let key: KeyRecord = serde_json::from_str(row.get_ref(5)?.as_str().unwrap_or_default())?;
    Ok(KeyRecord {
        name: row.get(0)?,
        sha256: row.get(1)?,
        team: row.get(2)?,
        created_ms: row.get(3)?,
        revoked_ms: row.get(4)?,
        ..key
    })
}

/// Returns what the other columns do not have, as JSON.
fn settings_of(key: &KeyRecord) -> Result<String, StoreError> {
    let settings = KeyRecord {
        name: String::new(),
        sha256: String::new(),
        team: None,
        revoked_ms: None,
        ..key.clone()
    };
    Ok(serde_json::to_string(&settings)?)
}

pub(super) fn create(connection: &Connection, key: &KeyRecord) -> Result<(), StoreError> {
    let exists = |condition: &str, value: &str| {
        let sql = format!("SELECT EXISTS (SELECT 1 FROM key WHERE {condition})");
        connection.query_row(&sql, [value], |row| row.get::<_, bool>(0))
    };
    if exists("name = ?1 AND revoked_ms IS NULL", &key.name)? {
        return Err(name_is_taken(&key.name).into());
    }
    if exists("sha256 = ?1", &key.sha256)? {
        return Err(hash_is_taken().into());
    }
    connection.execute(
        "INSERT INTO key (name, sha256, team, created_ms, revoked_ms, settings) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![key.name, key.sha256, key.team, key.created_ms, key.revoked_ms, settings_of(key)?],
    )?;
    increase_version(connection)
}

pub(super) fn update(connection: &Connection, key: &KeyRecord) -> Result<(), StoreError> {
    let changed = connection.execute(
        "UPDATE key SET team = ?2, settings = ?3 WHERE name = ?1 AND revoked_ms IS NULL",
        params![key.name, key.team, settings_of(key)?],
    )?;
    if changed == 0 {
        return Err(no_such_key(&key.name).into());
    }
    increase_version(connection)
}

pub(super) fn revoke(connection: &Connection, name: &str, now_ms: i64) -> Result<bool, StoreError> {
    let changed = connection.execute(
        "UPDATE key SET revoked_ms = ?2 WHERE name = ?1 AND revoked_ms IS NULL",
        params![name, now_ms],
    )?;
    if changed > 0 {
        increase_version(connection)?;
    }
    Ok(changed > 0)
}

pub(super) fn forget(connection: &Connection, name: &str) -> Result<bool, StoreError> {
    let deleted = connection
        .execute("DELETE FROM key WHERE name = ?1 AND revoked_ms IS NOT NULL", params![name])?;
    if deleted > 0 {
        increase_version(connection)?;
    }
    Ok(deleted > 0)
}

pub(super) fn put_team(connection: &Connection, team: &TeamRecord) -> Result<(), StoreError> {
    let settings = TeamRecord { name: String::new(), ..team.clone() };
    connection.execute(
        "INSERT INTO team (name, settings) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET settings = excluded.settings",
        params![team.name, serde_json::to_string(&settings)?],
    )?;
    increase_version(connection)
}

pub(super) fn remove_team(connection: &Connection, name: &str) -> Result<bool, StoreError> {
    if connection.execute("DELETE FROM team WHERE name = ?1", params![name])? == 0 {
        return Ok(false);
    }
    let key: Option<String> = connection
        .query_row(
            "SELECT name FROM key WHERE team = ?1 AND revoked_ms IS NULL LIMIT 1",
            params![name],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(key) = key {
        return Err(team_has_keys(name, &key).into());
    }
    increase_version(connection)?;
    Ok(true)
}
