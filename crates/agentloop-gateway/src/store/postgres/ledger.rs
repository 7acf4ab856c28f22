//! Changes of the ledger.

use std::borrow::Cow;
use std::fmt::Write as _;

use agentloop::{Result, Usd};

use super::error::Failure;
use super::pool::Session;
use crate::store::{LedgerRow, PriceId};

/// All rows in one statement. Rows that are there already are left as they are.
const APPEND: &str = "\
    INSERT INTO agentloop.ledger (id, request, node, time_ms, key, team, api, call, model, \
    provider, served, tags, outcome, estimated, prompt_tokens, completion_tokens, cached_tokens, \
    reasoning_tokens, usd, reserved, price, duration_ms, first_byte_ms, status) \
    SELECT id, request, node, time_ms, key, team, api, call, model, \
    provider, served, tags::text[], outcome, estimated, prompt_tokens, completion_tokens, \
    cached_tokens, reasoning_tokens, usd, reserved, price, duration_ms, first_byte_ms, status \
    FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], \
    $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], \
    $14::boolean[], $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], \
    $20::bigint[], $21::text[], $22::bigint[], $23::bigint[], $24::integer[]) \
    AS new (id, request, node, time_ms, key, team, api, call, model, \
    provider, served, tags, outcome, estimated, prompt_tokens, completion_tokens, cached_tokens, \
    reasoning_tokens, usd, reserved, price, duration_ms, first_byte_ms, status) \
    ON CONFLICT (id) DO NOTHING";

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
    let statement = session.prepare(APPEND).await?;
    let texts =
        |field: fn(&LedgerRow) -> &str| rows.iter().map(|row| field(row)).collect::<Vec<&str>>();
    let numbers = |field: fn(&LedgerRow) -> u64| {
        rows.iter().map(|row| integer(field(row))).collect::<Vec<i64>>()
    };
    let times: Vec<i64> = rows.iter().map(|row| row.time_ms).collect();
    let teams: Vec<Option<&str>> = rows.iter().map(|row| row.team.as_deref()).collect();
    let prices: Vec<Option<&str>> = rows.iter().map(|row| row.price.as_deref()).collect();
    let tags: Vec<String> = rows.iter().map(|row| array(&row.tags)).collect();
    let estimated: Vec<bool> = rows.iter().map(|row| row.estimated).collect();
    let usd: Vec<Option<i64>> = rows.iter().map(|row| row.usd.map(picos)).collect();
    let reserved: Vec<i64> = rows.iter().map(|row| picos(row.reserved)).collect();
    let first: Vec<Option<i64>> = rows.iter().map(|row| row.first_byte_ms.map(integer)).collect();
    let status: Vec<i32> = rows.iter().map(|row| i32::from(row.status)).collect();
    session
        .client
        .execute(
            &statement,
            &[
                &texts(|row| &row.id),
                &texts(|row| &row.request),
                &texts(|row| &row.node),
                &times,
                &texts(|row| &row.key),
                &teams,
                &texts(|row| &row.api),
                &texts(|row| &row.call),
                &texts(|row| &row.model),
                &texts(|row| &row.provider),
                &texts(|row| &row.served),
                &tags,
                &texts(|row| row.outcome.as_str()),
                &estimated,
                &numbers(|row| row.prompt_tokens),
                &numbers(|row| row.completion_tokens),
                &numbers(|row| row.cached_tokens),
                &numbers(|row| row.reasoning_tokens),
                &usd,
                &reserved,
                &prices,
                &numbers(|row| row.duration_ms),
                &first,
                &status,
            ],
        )
        .await?;
    Ok(Ok(()))
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

fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn picos(usd: Usd) -> i64 {
    let picos = usd.picos().clamp(i64::MIN.into(), i64::MAX.into());
    i64::try_from(picos).unwrap_or_default()
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
