//! Questions to the ledger.

use std::fmt::Write as _;

use agentloop::{Result, Usd};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error as PostgresError, Row};

use super::error::Failure;
use super::pool::Session;
use crate::store::column::{Kind, Value};
use crate::store::time::{DAY_MS, HOUR_MS, format_day, format_hour};
use crate::store::{By, LedgerRow, MAX_PAGE, RowFilter, UsageQuery, UsageSum};

/// Conditions and the values that they are bound to.
struct Where<'a> {
    sql: String,
    values: Vec<(&'a (dyn ToSql + Sync), Type)>,
}

impl<'a> Where<'a> {
    fn of(filter: &'a RowFilter) -> Self {
        let mut conditions = Self { sql: String::from(" WHERE true"), values: Vec::new() };
        for (condition, value) in
            [("time_ms >=", &filter.since_ms), ("time_ms <", &filter.until_ms)]
        {
            if let Some(value) = value {
                conditions.bind(condition, value, Type::INT8);
            }
        }
        for (condition, value) in [
            ("key =", &filter.key),
            ("team =", &filter.team),
            ("provider || '/' || served =", &filter.model),
            ("provider =", &filter.provider),
        ] {
            conditions.bind_text(condition, value.as_ref(), "");
        }
        conditions.bind_text("tags @> ARRAY[", filter.tag.as_ref(), "]");
        conditions
    }

    /// Adds a condition that ends with a value.
    fn bind(&mut self, condition: &str, value: &'a (dyn ToSql + Sync), kind: Type) {
        self.values.push((value, kind));
        let _ = write!(self.sql, " AND {condition} ${}", self.values.len());
    }

    fn bind_text(&mut self, condition: &str, value: Option<&'a String>, end: &str) {
        match value {
            // No row contains it, and PostgreSQL does not accept it.
            Some(value) if value.contains('\0') => self.sql.push_str(" AND false"),
            Some(value) => {
                self.bind(condition, value, Type::TEXT);
                self.sql.push_str(end);
            }
            None => {}
        }
    }
}

pub(super) async fn usage(
    session: &mut Session,
    query: &UsageQuery,
) -> Result<Result<Vec<UsageSum>>, Failure> {
    let conditions = Where::of(&query.filter);
    let day = format!("floor(time_ms / {DAY_MS}::numeric)::bigint");
    let hour = format!("floor(time_ms / {HOUR_MS}::numeric)::bigint");
    let group = match query.by {
        None => "''",
        Some(By::Key) => "key",
        Some(By::Team) => "coalesce(team, '')",
        Some(By::Model) => "provider || '/' || served",
        Some(By::Provider) => "provider",
        Some(By::Day) => &day,
        Some(By::Hour) => &hour,
        Some(By::Tag) => "coalesce(tag, '')",
        Some(By::Outcome) => "outcome",
        Some(By::Node) => "node",
    };
    let tags = match query.by {
        Some(By::Tag) => {
            " LEFT JOIN LATERAL (SELECT DISTINCT tag FROM unnest(tags) AS each (tag)) AS tags ON true"
        }
        _ => "",
    };
    let order = match query.by {
        None => "",
        Some(By::Day | By::Hour) => " GROUP BY 1 ORDER BY 1 DESC",
        Some(_) => " GROUP BY 1 ORDER BY coalesce(sum(usd), 0) DESC, 1",
    };
    let sql = format!(
        "SELECT {group}, count(*), \
         count(*) FILTER (WHERE outcome NOT IN ('complete', 'cached')), \
         count(*) FILTER (WHERE outcome = 'cached'), count(*) FILTER (WHERE estimated), \
         count(*) FILTER (WHERE usd IS NULL), \
         coalesce(sum(prompt_tokens), 0)::text, coalesce(sum(completion_tokens), 0)::text, \
         coalesce(sum(cached_tokens), 0)::text, coalesce(sum(usd), 0)::text, \
         coalesce(sum(usd) FILTER (WHERE estimated), 0)::text \
         FROM agentloop.ledger{tags}{}{order} LIMIT {MAX_PAGE}",
        conditions.sql
    );
    let rows = session.client.query_typed(&sql, &conditions.values).await?;
    let sums: Result<Vec<UsageSum>, _> = rows.iter().map(|row| sum(row, query.by)).collect();
    Ok(Ok(sums?))
}

fn sum(row: &Row, by: Option<By>) -> Result<UsageSum, PostgresError> {
    let group = match by {
        Some(By::Day) => format_day(row.try_get(0)?),
        Some(By::Hour) => format_hour(row.try_get(0)?),
        _ => row.try_get(0)?,
    };
    Ok(UsageSum {
        group,
        calls: count(row, 1)?,
        incomplete: count(row, 2)?,
        cached: count(row, 3)?,
        estimated: count(row, 4)?,
        unpriced: count(row, 5)?,
        prompt_tokens: tokens(row, 6)?,
        completion_tokens: tokens(row, 7)?,
        cached_tokens: tokens(row, 8)?,
        usd: Usd::from_picos(whole(row, 9)?),
        estimated_usd: Usd::from_picos(whole(row, 10)?),
    })
}

pub(super) async fn rows(
    session: &mut Session,
    filter: &RowFilter,
    after: Option<(i64, &str)>,
) -> Result<Result<Vec<LedgerRow>>, Failure> {
    let mut conditions = Where::of(filter);
    // Ids without NUL come after a text exactly if they come after its part before the first NUL.
    let after = after.map(|(time, id)| (time, id.split('\0').next().unwrap_or_default()));
    if let Some((time, id)) = &after {
        conditions.bind("(time_ms, id) > (", time, Type::INT8);
        conditions.values.push((id, Type::TEXT));
        let _ = write!(conditions.sql, ", ${})", conditions.values.len());
    }
    let sql = format!(
        "SELECT {} \
         FROM agentloop.ledger{} ORDER BY time_ms, id LIMIT {MAX_PAGE}",
        LedgerRow::column_names(),
        conditions.sql
    );
    let rows = session.client.query_typed(&sql, &conditions.values).await?;
    let rows: Result<Vec<LedgerRow>, _> = rows.iter().map(ledger_row).collect();
    Ok(Ok(rows?))
}

fn ledger_row(row: &Row) -> Result<LedgerRow, PostgresError> {
    LedgerRow::read(|at, kind| {
        let value = match kind {
            Kind::Text => {
                row.try_get::<_, Option<String>>(at)?.map(|text| Value::Text(text.into()))
            }
            Kind::Texts => Some(Value::Texts(row.try_get::<_, Vec<String>>(at)?.into())),
            Kind::Flag => Some(Value::Flag(row.try_get(at)?)),
            Kind::Number | Kind::Amount => row.try_get::<_, Option<i64>>(at)?.map(Value::Number),
            Kind::Small => Some(Value::Number(row.try_get::<_, i32>(at)?.into())),
        };
        Ok(value.unwrap_or(Value::Null))
    })
}

/// Reads a number that is never negative.
fn count(row: &Row, column: usize) -> Result<u64, PostgresError> {
    row.try_get::<_, i64>(column).map(i64::unsigned_abs)
}

fn tokens(row: &Row, column: usize) -> Result<u64, PostgresError> {
    Ok(u64::try_from(whole(row, column)?).unwrap_or(u64::MAX))
}

/// Reads a sum, which PostgreSQL computes with any number of digits. Rows have 19 digits, so 2^64 of them fit.
fn whole(row: &Row, column: usize) -> Result<i128, PostgresError> {
    let text: &str = row.try_get(column)?;
    Ok(text.parse().unwrap_or(i128::MAX))
}
