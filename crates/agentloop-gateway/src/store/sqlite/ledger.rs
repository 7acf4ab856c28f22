//! Rows of the ledger, and prices.

use agentloop::Usd;
use rusqlite::{
    Connection, OptionalExtension as _, Row, Statement, ToSql, params, params_from_iter,
};

use super::filter::Conditions;
use crate::sqlite::StoreError;
use crate::store::{LedgerRow, MAX_PAGE, Outcome, PriceId, RowFilter};

/// The columns, in the order in which they are written and read.
const COLUMNS: &str = "id, request, node, time_ms, key, team, api, call, model, provider, served, tags, outcome, estimated, \
    prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usd, reserved, price, duration_ms, first_byte_ms, status";

pub(super) fn append(connection: &Connection, rows: &[LedgerRow]) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO ledger ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, \
         ?19, ?20, ?21, ?22, ?23, ?24) ON CONFLICT (id) DO NOTHING"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut last = None;
    for row in rows.iter().map(LedgerRow::storable) {
        bind(&mut statement, &row, last.as_deref())?;
        statement.raw_execute()?;
        last = Some(row);
    }
    Ok(())
}

/// Returns a text of a row, if it has it.
type Text = fn(&LedgerRow) -> Option<&str>;

/// The texts that most rows have in common with the row before, with the numbers of their columns.
const REPEATED: [(usize, Text); 10] = [
    (3, |row| Some(&row.node)),
    (5, |row| Some(&row.key)),
    (6, |row| row.team.as_deref()),
    (7, |row| Some(&row.api)),
    (8, |row| Some(&row.call)),
    (9, |row| Some(&row.model)),
    (10, |row| Some(&row.provider)),
    (11, |row| Some(&row.served)),
    (13, |row| Some(row.outcome.as_str())),
    (21, |row| row.price.as_deref()),
];

/// Sets the values of a row. A statement keeps its values, so those that are the same as in the last row are not copied again.
fn bind(
    statement: &mut Statement<'_>,
    row: &LedgerRow,
    last: Option<&LedgerRow>,
) -> Result<(), StoreError> {
    for (column, text) in REPEATED {
        if last.is_none_or(|last| text(last) != text(row)) {
            statement.raw_bind_parameter(column, text(row))?;
        }
    }
    let tags = match row.tags.is_empty() {
        true => None,
        false => Some(serde_json::to_string(&row.tags)?),
    };
    statement.raw_bind_parameter(1, &row.id)?;
    statement.raw_bind_parameter(2, &row.request)?;
    statement.raw_bind_parameter(4, row.time_ms)?;
    statement.raw_bind_parameter(12, tags)?;
    statement.raw_bind_parameter(14, row.estimated)?;
    statement.raw_bind_parameter(15, signed(row.prompt_tokens))?;
    statement.raw_bind_parameter(16, signed(row.completion_tokens))?;
    statement.raw_bind_parameter(17, signed(row.cached_tokens))?;
    statement.raw_bind_parameter(18, signed(row.reasoning_tokens))?;
    statement.raw_bind_parameter(19, row.usd.map(picos))?;
    statement.raw_bind_parameter(20, picos(row.reserved))?;
    statement.raw_bind_parameter(22, signed(row.duration_ms))?;
    statement.raw_bind_parameter(23, row.first_byte_ms.map(signed))?;
    statement.raw_bind_parameter(24, row.status)?;
    Ok(())
}

pub(super) fn rows(
    connection: &Connection,
    filter: RowFilter,
    after: Option<(i64, String)>,
) -> Result<Vec<LedgerRow>, StoreError> {
    let mut conditions = Conditions::new(filter);
    if let Some((time, id)) = after {
        conditions
            .add("(l.time_ms, l.id) > (?, ?)", [Box::new(time) as Box<dyn ToSql>, Box::new(id)]);
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM ledger AS l{} ORDER BY l.time_ms, l.id LIMIT {MAX_PAGE}",
        conditions.sql()
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(conditions.values()))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.push(read(row)?);
    }
    Ok(rows)
}

fn read(row: &Row<'_>) -> Result<LedgerRow, StoreError> {
    let tags: Option<String> = row.get(11)?;
    let outcome: String = row.get(12)?;
    let usd: Option<i64> = row.get(18)?;
    let first_byte_ms: Option<i64> = row.get(22)?;
    let number = |at: usize| -> rusqlite::Result<u64> { Ok(unsigned(row.get(at)?)) };
    Ok(LedgerRow {
        id: row.get(0)?,
        request: row.get(1)?,
        node: row.get(2)?,
        time_ms: row.get(3)?,
        key: row.get(4)?,
        team: row.get(5)?,
        api: row.get(6)?,
        call: row.get(7)?,
        model: row.get(8)?,
        provider: row.get(9)?,
        served: row.get(10)?,
        tags: match tags {
            Some(tags) => serde_json::from_str(&tags)?,
            None => Vec::new(),
        },
        outcome: Outcome::of_name(&outcome).unwrap_or_default(),
        estimated: row.get(13)?,
        prompt_tokens: number(14)?,
        completion_tokens: number(15)?,
        cached_tokens: number(16)?,
        reasoning_tokens: number(17)?,
        usd: usd.map(|picos| Usd::from_picos(picos.into())),
        reserved: Usd::from_picos(row.get::<_, i64>(19)?.into()),
        price: row.get(20)?,
        duration_ms: number(21)?,
        first_byte_ms: first_byte_ms.map(unsigned),
        status: row.get(23)?,
    })
}

pub(super) fn put_prices(
    connection: &Connection,
    prices: &[(PriceId, String)],
) -> Result<(), StoreError> {
    for (id, json) in prices {
        connection.execute(
            "INSERT INTO price (id, json) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
            params![id, json],
        )?;
    }
    Ok(())
}

pub(super) fn price(connection: &Connection, id: &str) -> Result<Option<String>, StoreError> {
    let sql = "SELECT json FROM price WHERE id = ?1";
    Ok(connection.query_row(sql, [id], |row| row.get(0)).optional()?)
}

/// Returns a number as the database has it. Rows are bounded before they are stored.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Returns an amount as the database has it. Rows are bounded before they are stored.
fn picos(usd: Usd) -> i64 {
    let most = if usd.picos() < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(usd.picos()).unwrap_or(most)
}
