//! Sums of the ledger.

use agentloop::Usd;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params_from_iter};

use super::filter::Conditions;
use crate::sqlite::StoreError;
use crate::store::time::{DAY_MS, HOUR_MS, format_day, format_hour};
use crate::store::{By, MAX_PAGE, UsageQuery, UsageSum};

/// The sums. SQLite's integers have 64 bits and its `sum` fails beyond them, so the halves of each number are added up apart:
/// two thousand million rows fit.
const SUMS: &str = "count(*), \
    ifnull(sum(l.outcome IN ('cancelled', 'failed', 'unknown')), 0), \
    ifnull(sum(l.outcome = 'cached'), 0), \
    ifnull(sum(l.estimated), 0), \
    ifnull(sum(l.usd IS NULL), 0), \
    ifnull(sum(l.prompt_tokens >> 32), 0), ifnull(sum(l.prompt_tokens & 0xffffffff), 0), \
    ifnull(sum(l.completion_tokens >> 32), 0), ifnull(sum(l.completion_tokens & 0xffffffff), 0), \
    ifnull(sum(l.cached_tokens >> 32), 0), ifnull(sum(l.cached_tokens & 0xffffffff), 0), \
    ifnull(sum(l.usd >> 32), 0) AS high, ifnull(sum(l.usd & 0xffffffff), 0) AS low, \
    ifnull(sum((l.usd >> 32) * l.estimated), 0), ifnull(sum((l.usd & 0xffffffff) * l.estimated), 0)";

pub(super) fn usage(
    connection: &Connection,
    query: UsageQuery,
) -> Result<Vec<UsageSum>, StoreError> {
    let UsageQuery { filter, by } = query;
    let conditions = Conditions::new(filter);
    let tags = match by {
        Some(By::Tag) => " LEFT JOIN json_each(l.tags) AS tag",
        _ => "",
    };
    let rest = match by {
        None => String::new(),
        Some(By::Day | By::Hour) => {
            format!(" GROUP BY name ORDER BY name DESC LIMIT {MAX_PAGE}")
        }
        // The most expensive first, as exactly as the sums are: the carry of the lower half belongs to the upper one.
        Some(_) => format!(
            " GROUP BY name ORDER BY high + (low >> 32) DESC, low & 0xffffffff DESC, name LIMIT {MAX_PAGE}"
        ),
    };
    let sql = format!(
        "SELECT {} AS name, {SUMS} FROM ledger AS l{tags}{}{rest}",
        group(by),
        conditions.sql()
    );
    let mut statement = connection.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(conditions.values()))?;
    let mut sums = Vec::new();
    while let Some(row) = found.next()? {
        sums.push(read(row, by)?);
    }
    Ok(sums)
}

/// Returns the expression of a group's name. Those of days and hours are their numbers since 1970, also before it.
fn group(by: Option<By>) -> String {
    let number = |length: i64| format!("l.time_ms / {length} - (l.time_ms % {length} < 0)");
    match by {
        None => "''".to_owned(),
        Some(By::Key) => "l.key".to_owned(),
        Some(By::Team) => "ifnull(l.team, '')".to_owned(),
        Some(By::Model) => "l.provider || '/' || l.served".to_owned(),
        Some(By::Provider) => "l.provider".to_owned(),
        Some(By::Day) => number(DAY_MS),
        Some(By::Hour) => number(HOUR_MS),
        Some(By::Tag) => "ifnull(tag.value, '')".to_owned(),
        Some(By::Outcome) => "l.outcome".to_owned(),
        Some(By::Node) => "l.node".to_owned(),
    }
}

fn read(row: &Row<'_>, by: Option<By>) -> Result<UsageSum, StoreError> {
    let group = match (row.get_ref(0)?, by) {
        (ValueRef::Integer(hour), Some(By::Hour)) => format_hour(hour),
        (ValueRef::Integer(day), _) => format_day(day),
        _ => row.get(0)?,
    };
    let count = |at: usize| -> rusqlite::Result<u64> {
        Ok(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0))
    };
    // The sum of two columns with the upper and lower halves of numbers.
    let whole = |at: usize| -> rusqlite::Result<i128> {
        let (high, low): (i64, i64) = (row.get(at)?, row.get(at + 1)?);
        Ok((i128::from(high) << 32) + i128::from(low))
    };
    let tokens = |at: usize| -> rusqlite::Result<u64> {
        let whole = whole(at)?;
        Ok(u64::try_from(whole).unwrap_or(if whole < 0 { 0 } else { u64::MAX }))
    };
    Ok(UsageSum {
        group,
        calls: count(1)?,
        incomplete: count(2)?,
        cached: count(3)?,
        estimated: count(4)?,
        unpriced: count(5)?,
        prompt_tokens: tokens(6)?,
        completion_tokens: tokens(8)?,
        cached_tokens: tokens(10)?,
        usd: Usd::from_picos(whole(12)?),
        estimated_usd: Usd::from_picos(whole(14)?),
    })
}
