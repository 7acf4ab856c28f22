//! Rows of the ledger, and prices.

use rusqlite::types::{Null, ValueRef};
use rusqlite::{
    Connection, OptionalExtension as _, Row, Statement, ToSql, params, params_from_iter,
};

use super::filter::Conditions;
use crate::sqlite::StoreError;
use crate::store::column::{Kind, Value};
use crate::store::row::COLUMNS;
use crate::store::{LedgerRow, MAX_PAGE, PriceId, RowFilter};

pub(super) fn append(connection: &Connection, rows: &[LedgerRow]) -> Result<(), StoreError> {
    let sql = format!(
        "INSERT INTO ledger ({}) VALUES ({}?) ON CONFLICT (id) DO NOTHING",
        LedgerRow::column_names(),
        "?, ".repeat(COLUMNS.len() - 1)
    );
    let mut statement = connection.prepare(&sql)?;
    let mut last = None;
    let rows: Vec<_> = rows.iter().map(LedgerRow::storable).collect();
    for row in &rows {
        let values = row.values();
        for (at, value) in values.iter().enumerate() {
            // A statement keeps its values, so those that are the same as in the last row are not copied again.
            if last.as_ref().is_none_or(|last: &[Value<'_>; COLUMNS.len()]| last[at] != *value) {
                bind(&mut statement, at + 1, value)?;
            }
        }
        statement.raw_execute()?;
        last = Some(values);
    }
    Ok(())
}

fn bind(statement: &mut Statement<'_>, at: usize, value: &Value<'_>) -> Result<(), StoreError> {
    match value {
        Value::Null => statement.raw_bind_parameter(at, Null)?,
        Value::Texts(texts) if texts.is_empty() => statement.raw_bind_parameter(at, Null)?,
        Value::Texts(texts) => statement.raw_bind_parameter(at, serde_json::to_string(texts)?)?,
        Value::Text(text) => statement.raw_bind_parameter(at, text)?,
        Value::Flag(flag) => statement.raw_bind_parameter(at, flag)?,
        Value::Number(number) => statement.raw_bind_parameter(at, number)?,
    }
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
        "SELECT {} FROM ledger AS l{} ORDER BY l.time_ms, l.id LIMIT {MAX_PAGE}",
        LedgerRow::column_names(),
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
    LedgerRow::read(|at, kind| {
        Ok(match (row.get_ref(at)?, kind) {
            (ValueRef::Null, _) => Value::Null,
            (_, Kind::Text) => Value::Text(row.get::<_, String>(at)?.into()),
            (_, Kind::Texts) => {
                let texts: Vec<String> = serde_json::from_str(&row.get::<_, String>(at)?)?;
                Value::Texts(texts.into())
            }
            (_, Kind::Flag) => Value::Flag(row.get(at)?),
            (_, Kind::Number | Kind::Amount | Kind::Small) => Value::Number(row.get(at)?),
        })
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
