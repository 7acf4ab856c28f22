//! Deletes rows, and keeps what they have cost.

use agentloop::Usd;
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::sqlite::StoreError;
use crate::store::{By, DeletedSum, MAX_PAGE};

/// How many free pages are returned to the file system after a deletion.
const MAX_FREED_PAGES: u32 = 4_096;

pub(super) fn prune(connection: &Connection, before_ms: i64) -> Result<u64, StoreError> {
    delete(connection, "time_ms < ?1", &before_ms, &["key", "team"])
}

pub(super) fn forget(connection: &Connection, key: &str) -> Result<u64, StoreError> {
    connection.execute("DELETE FROM deleted WHERE is_team = 0 AND name = ?1", [key])?;
    delete(connection, "key = ?1", &key, &["team"])
}

/// Deletes the oldest rows that a condition names. What they have cost is kept for the names in these columns.
fn delete(
    connection: &Connection,
    condition: &str,
    value: &dyn ToSql,
    columns: &[&str],
) -> Result<u64, StoreError> {
    let oldest = format!(
        "number IN (SELECT number FROM ledger WHERE {condition} ORDER BY time_ms, id LIMIT {MAX_PAGE})"
    );
    for column in columns {
        // The halves are added up apart, as in the sums of the ledger.
        let sql = format!(
            "SELECT {column}, node, sum(usd >> 32), sum(usd & 0xffffffff) FROM ledger \
             WHERE {oldest} AND usd IS NOT NULL AND {column} IS NOT NULL GROUP BY 1, 2"
        );
        let mut statement = connection.prepare(&sql)?;
        let mut found = statement.query([value])?;
        while let Some(row) = found.next()? {
            let (name, node): (String, String) = (row.get(0)?, row.get(1)?);
            let (high, low): (i64, i64) = (row.get(2)?, row.get(3)?);
            let picos = (i128::from(high) << 32) + i128::from(low);
            add(connection, *column == "team", &name, &node, picos)?;
        }
    }
    let deleted = connection.execute(&format!("DELETE FROM ledger WHERE {oldest}"), [value])?;
    if deleted > 0 {
        connection.execute_batch(&format!("PRAGMA incremental_vacuum({MAX_FREED_PAGES})"))?;
    }
    Ok(deleted as u64)
}

fn add(
    connection: &Connection,
    is_team: bool,
    name: &str,
    node: &str,
    picos: i128,
) -> Result<(), StoreError> {
    let sql = "SELECT usd FROM deleted WHERE is_team = ?1 AND name = ?2 AND node = ?3";
    let known: Option<String> =
        connection.query_row(sql, params![is_team, name, node], |row| row.get(0)).optional()?;
    let sum = known.map_or(0, |text| read(&text)).saturating_add(picos);
    connection.execute(
        "INSERT OR REPLACE INTO deleted (is_team, name, node, usd) VALUES (?1, ?2, ?3, ?4)",
        params![is_team, name, node, sum.to_string()],
    )?;
    Ok(())
}

pub(super) fn sums(
    connection: &Connection,
    by: By,
    name: Option<&str>,
) -> Result<Vec<DeletedSum>, StoreError> {
    let is_team = match by {
        By::Key => false,
        By::Team => true,
        _ => return Ok(Vec::new()),
    };
    let sql = "SELECT name, node, usd FROM deleted \
               WHERE is_team = ?1 AND (?2 IS NULL OR name = ?2) ORDER BY name, node";
    let mut statement = connection.prepare(sql)?;
    let mut found = statement.query(params![is_team, name])?;
    let mut sums = Vec::new();
    while let Some(row) = found.next()? {
        let usd = Usd::from_picos(read(&row.get::<_, String>(2)?));
        sums.push(DeletedSum { name: row.get(0)?, node: row.get(1)?, usd });
    }
    Ok(sums)
}

/// Reads an amount. Only this module writes them.
fn read(text: &str) -> i128 {
    text.parse().unwrap_or_default()
}
