//! Writes lists and moments as providers do.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Dialect;

/// Returns a moment as text (RFC 3339).
pub(super) fn time(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.unwrap_or(Timestamp::MAX).to_string()
}

/// Returns a page of a list. `query` returns a parameter of the request.
pub(super) fn page<'a>(
    dialect: Dialect,
    name: &str,
    all: Vec<Value>,
    query: impl Fn(&str) -> Option<&'a str>,
) -> Value {
    let number = |name: &str| query(name).and_then(|value| value.parse::<usize>().ok());
    let total = all.len();
    match dialect {
        Dialect::Operations => {
            let from = number("pageToken").unwrap_or(0);
            let size = number("pageSize").unwrap_or(10).clamp(1, 100);
            let page: Vec<Value> = all.into_iter().skip(from).take(size).collect();
            let next = from + page.len();
            let mut list = json!({ name: page });
            if next < total {
                list["nextPageToken"] = next.to_string().into();
            }
            list
        }
        Dialect::Jobs => {
            let size = number("page_size").unwrap_or(100).clamp(1, 100);
            let from = number("page").unwrap_or(0).saturating_mul(size);
            let page: Vec<Value> = all.into_iter().skip(from).take(size).collect();
            json!({ "object": "list", "data": page, "total": total })
        }
        Dialect::Purpose | Dialect::Messages => {
            let after = query("after").or_else(|| query("after_id"));
            let from = after.map_or(0, |after| {
                all.iter().position(|item| item["id"] == after).map_or(total, |at| at + 1)
            });
            let size = number("limit").unwrap_or(20).clamp(1, 1_000);
            let page: Vec<Value> = all.into_iter().skip(from).take(size).collect();
            let id = |item: Option<&Value>| item.map_or(Value::Null, |item| item["id"].clone());
            json!({
                "object": "list",
                "first_id": id(page.first()),
                "last_id": id(page.last()),
                "has_more": from + page.len() < total,
                "data": page,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_dates() {
        assert_eq!(time(0), "1970-01-01T00:00:00Z");
        assert_eq!(time(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(time(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(time(4_000_000_000), "2096-10-02T07:06:40Z");
    }
}
