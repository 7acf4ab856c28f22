//! Changes of the ledger.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::LazyLock;

use agentloop::Result;
use tokio_postgres::types::ToSql;

use super::error::Failure;
use super::pool::Session;
use crate::store::column::{Kind, Value};
use crate::store::row::COLUMNS;
use crate::store::{LedgerRow, PriceId};

/// All rows in one statement. Rows that are there already are left as they are.
static APPEND: LazyLock<String> = LazyLock::new(|| {
    let kinds = (1..).zip(COLUMNS).map(|(number, (_, kind))| {
        let kind = match kind {
            // `unnest` cannot take arrays of different lengths apart.
            Kind::Text | Kind::Texts => "text",
            Kind::Flag => "boolean",
            Kind::Number | Kind::Amount => "bigint",
            Kind::Small => "integer",
        };
        format!("${number}::{kind}[]")
    });
    let casts = COLUMNS.iter().map(|(name, kind)| match kind {
        Kind::Texts => format!("{name}::text[]"),
        _ => (*name).to_owned(),
    });
    let (kinds, casts): (Vec<String>, Vec<String>) = (kinds.collect(), casts.collect());
    let (kinds, casts, names) = (kinds.join(", "), casts.join(", "), LedgerRow::column_names());
    format!(
        "INSERT INTO agentloop.ledger ({names}) SELECT {casts} FROM unnest({kinds}) AS new ({names}) \
         ON CONFLICT (id) DO NOTHING"
    )
});

pub(super) async fn append(
    session: &mut Session,
    rows: &[LedgerRow],
) -> Result<Result<()>, Failure> {
    if rows.is_empty() {
        return Ok(Ok(()));
    }
    let mut rows: Vec<Cow<'_, LedgerRow>> = rows.iter().map(LedgerRow::storable).collect();
    // Two gateways that add the same rows wait for each other. In the same order they cannot wait in a circle. Rows with the same id
    // keep their order: the first one is stored.
    rows.sort_by(|one, other| one.id.cmp(&other.id));
    let statement = session.prepare(APPEND.as_str()).await?;
    let values: Vec<_> = rows.iter().map(|row| row.values()).collect();
    let columns: Vec<Box<dyn ToSql + Sync + Send + '_>> =
        COLUMNS.iter().enumerate().map(|(at, (_, kind))| column(&values, at, *kind)).collect();
    let columns: Vec<&(dyn ToSql + Sync)> = columns.iter().map(|it| &**it as _).collect();
    session.client.execute(&statement, &columns).await?;
    Ok(Ok(()))
}

/// Returns a column of all rows as an array.
fn column<'a>(
    rows: &'a [[Value<'_>; COLUMNS.len()]],
    at: usize,
    kind: Kind,
) -> Box<dyn ToSql + Sync + Send + 'a> {
    let values = rows.iter().map(move |row| &row[at]);
    let number = |value: &Value<'_>| match value {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    match kind {
        Kind::Text => Box::new(Vec::from_iter(values.map(|value| match value {
            Value::Text(text) => Some(&**text),
            _ => None,
        }))),
        Kind::Texts => Box::new(Vec::from_iter(values.map(|value| match value {
            Value::Texts(texts) => Some(array(texts)),
            _ => None,
        }))),
        Kind::Flag => Box::new(Vec::from_iter(values.map(|value| *value == Value::Flag(true)))),
        Kind::Number | Kind::Amount => Box::new(Vec::from_iter(values.map(number))),
        Kind::Small => Box::new(Vec::from_iter(
            values.map(move |value| number(value).and_then(|number| i32::try_from(number).ok())),
        )),
    }
}

pub(super) async fn put_prices(
    session: &mut Session,
    prices: &[(PriceId, String)],
) -> Result<Result<()>, Failure> {
    let statement = session
        .prepare(
            "INSERT INTO agentloop.prices (id, price) SELECT id, price \
             FROM unnest($1::text[], $2::text[]) AS new (id, price) ON CONFLICT (id) DO NOTHING",
        )
        .await?;
    let mut prices: Vec<(String, String)> =
        prices.iter().map(|(id, price)| (without_nul(id), without_nul(price))).collect();
    prices.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (ids, prices): (Vec<String>, Vec<String>) = prices.into_iter().unzip();
    session.client.execute(&statement, &[&ids, &prices]).await?;
    Ok(Ok(()))
}

pub(super) async fn price(
    session: &mut Session,
    id: &PriceId,
) -> Result<Result<Option<String>>, Failure> {
    let statement = session.prepare("SELECT price FROM agentloop.prices WHERE id = $1").await?;
    let row = session.client.query_opt(&statement, &[&without_nul(id)]).await?;
    let price = row.map(|row| row.try_get(0)).transpose()?;
    Ok(Ok(price))
}

/// Writes an array as PostgreSQL reads it from a text. `unnest` cannot take arrays of different lengths apart.
fn array(elements: &[String]) -> String {
    let mut text = String::from("{");
    for (number, element) in elements.iter().enumerate() {
        text.push_str(if number == 0 { "\"" } else { ",\"" });
        for character in element.chars() {
            if matches!(character, '"' | '\\') {
                text.push('\\');
            }
            let _ = text.write_char(character);
        }
        text.push('"');
    }
    text.push('}');
    text
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_arrays_are_quoted() {
        let elements = ["a", "", "NULL", r#"b"c\d,{e}"#].map(str::to_owned);
        assert_eq!(array(&elements), r#"{"a","","NULL","b\"c\\d,{e}"}"#);
        assert_eq!(array(&[]), "{}");
    }
}
