//! Deletes rows, and keeps what they have cost.

use agentloop::{Result, Usd};
use tokio_postgres::types::ToSql;

use super::error::Failure;
use super::pool::Session;
use crate::store::{By, DeletedSum, MAX_PAGE};

pub(super) async fn prune(session: &mut Session, before_ms: i64) -> Result<Result<u64>, Failure> {
    delete(session, "time_ms < $1", &before_ms, true).await
}

pub(super) async fn forget(session: &mut Session, key: &str) -> Result<Result<u64>, Failure> {
    if key.contains('\0') {
        return Ok(Ok(0));
    }
    let sql = "DELETE FROM agentloop.deleted WHERE NOT is_team AND name = $1";
    session.client.execute(sql, &[&key]).await?;
    delete(session, "key = $1", &key, false).await
}

/// Deletes the oldest rows that a condition names, and keeps what they have cost: for their teams, and for their keys if
/// `keep_keys`. It is one statement, so both happen or none.
async fn delete(
    session: &mut Session,
    condition: &str,
    value: &(dyn ToSql + Sync),
    keep_keys: bool,
) -> Result<Result<u64>, Failure> {
    // Rows that another gateway is deleting are skipped, so that two of them never wait for each other. Sums are changed in the
    // order of their names for the same reason.
    let sql = format!(
        "WITH gone AS (DELETE FROM agentloop.ledger WHERE id = ANY (ARRAY(SELECT id FROM agentloop.ledger \
         WHERE {condition} ORDER BY time_ms, id LIMIT {MAX_PAGE} FOR UPDATE SKIP LOCKED)) \
         RETURNING key, team, node, usd), \
         sums AS (SELECT false AS is_team, key AS name, node, usd FROM gone WHERE {keep_keys} \
         UNION ALL SELECT true, team, node, usd FROM gone WHERE team IS NOT NULL), \
         kept AS (INSERT INTO agentloop.deleted (is_team, name, node, usd) \
         SELECT is_team, name, node, sum(usd) FROM sums WHERE usd IS NOT NULL \
         GROUP BY is_team, name, node ORDER BY is_team, name, node \
         ON CONFLICT (is_team, name, node) DO UPDATE SET usd = deleted.usd + excluded.usd) \
         SELECT count(*) FROM gone"
    );
    let count: i64 = session.client.query_one(&sql, &[value]).await?.try_get(0)?;
    Ok(Ok(count.unsigned_abs()))
}

pub(super) async fn sums(
    session: &mut Session,
    by: By,
    name: Option<&str>,
) -> Result<Result<Vec<DeletedSum>>, Failure> {
    let is_team = match by {
        By::Key => false,
        By::Team => true,
        _ => return Ok(Ok(Vec::new())),
    };
    if name.is_some_and(|name| name.contains('\0')) {
        return Ok(Ok(Vec::new()));
    }
    let statement = session
        .prepare(
            "SELECT name, node, usd::text FROM agentloop.deleted \
             WHERE is_team = $1 AND ($2::text IS NULL OR name = $2) ORDER BY name, node",
        )
        .await?;
    let rows = session.client.query(&statement, &[&is_team, &name]).await?;
    let mut sums = Vec::with_capacity(rows.len());
    for row in rows {
        // Amounts of rows have 19 digits, so 2^64 of them fit.
        let picos: i128 = row.try_get::<_, &str>(2)?.parse().unwrap_or(i128::MAX);
        let usd = Usd::from_picos(picos);
        sums.push(DeletedSum { name: row.try_get(0)?, node: row.try_get(1)?, usd });
    }
    Ok(Ok(sums))
}
