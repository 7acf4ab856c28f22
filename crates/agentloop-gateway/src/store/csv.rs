//! Rows as CSV, for spreadsheets.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::LedgerRow;

/// The columns, in their order.
const COLUMNS: [&str; 23] = [
    "id",
    "request",
    "node",
    "time_ms",
    "key",
    "team",
    "api",
    "call",
    "model",
    "provider",
    "served",
    "tags",
    "outcome",
    "estimated",
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "usd",
    "reserved",
    "price",
    "duration_ms",
    "first_byte_ms",
];

/// Returns the line with the names of the columns of [`write_csv`].
///
/// ```
/// assert!(agentloop_gateway::csv_header().starts_with("id,request,node,time_ms,key,team,"));
/// ```
pub fn csv_header() -> String {
    format!("{},status\r\n", COLUMNS.join(","))
}

/// Writes a row of the ledger as one line of CSV (RFC 4180).
///
/// Clients choose the names of models, so a cell that a spreadsheet would run as a formula begins with an apostrophe.
///
/// ```
/// use agentloop_gateway::{LedgerRow, write_csv};
///
/// let mut row = LedgerRow::default();
/// row.model = "=1+1".to_owned();
/// let mut text = String::new();
/// write_csv(&mut text, &row);
/// assert!(text.contains(",'=1+1,"));
/// ```
pub fn write_csv(text: &mut String, row: &LedgerRow) {
    let number = |value: u64| Cow::Owned(value.to_string());
    let cells: [Cow<'_, str>; COLUMNS.len()] = [
        csv_cell(&row.id),
        csv_cell(&row.request),
        csv_cell(&row.node),
        row.time_ms.to_string().into(),
        csv_cell(&row.key),
        csv_cell(row.team.as_deref().unwrap_or_default()),
        csv_cell(&row.api),
        csv_cell(&row.call),
        csv_cell(&row.model),
        csv_cell(&row.provider),
        csv_cell(&row.served),
        Cow::Owned(csv_cell(&row.tags.join(" ")).into_owned()),
        row.outcome.as_str().into(),
        if row.estimated { "true" } else { "false" }.into(),
        number(row.prompt_tokens),
        number(row.completion_tokens),
        number(row.cached_tokens),
        number(row.reasoning_tokens),
        row.usd.map(|usd| usd.to_string()).unwrap_or_default().into(),
        row.reserved.to_string().into(),
        csv_cell(row.price.as_deref().unwrap_or_default()),
        number(row.duration_ms),
        row.first_byte_ms.map(|time| time.to_string()).unwrap_or_default().into(),
    ];
    text.push_str(&cells.join(","));
    let _ = write!(text, ",{}\r\n", row.status);
}

/// Returns a text as a cell of CSV: quoted if it must be, and never a formula that a spreadsheet would run.
///
/// ```
/// assert_eq!(agentloop_gateway::csv_cell("=1+1"), "'=1+1");
/// assert_eq!(agentloop_gateway::csv_cell("a,b"), "\"a,b\"");
/// ```
pub fn csv_cell(text: &str) -> Cow<'_, str> {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !is_formula && !text.contains([',', '"', '\n', '\r']) {
        return Cow::Borrowed(text);
    }
    let apostrophe = if is_formula { "'" } else { "" };
    if !text.contains([',', '"', '\n', '\r']) {
        return Cow::Owned(format!("{apostrophe}{text}"));
    }
    Cow::Owned(format!("\"{apostrophe}{}\"", text.replace('"', "\"\"")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_harmless() {
        for (text, shown) in [
            ("plain", "plain"),
            ("", ""),
            ("a,b", "\"a,b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=cmd()", "'=cmd()"),
            ("@x", "'@x"),
            ("-1,2", "\"'-1,2\""),
            ("\tx", "'\tx"),
            ("\rx", "\"'\rx\""),
        ] {
            assert_eq!(csv_cell(text), shown);
        }
    }

    #[test]
    fn a_row_has_as_many_cells_as_the_header() {
        let mut text = csv_header();
        write_csv(
            &mut text,
            &LedgerRow { id: "a".to_owned(), status: 200, ..LedgerRow::default() },
        );
        let commas: Vec<usize> = text.lines().map(|line| line.matches(',').count()).collect();
        assert_eq!(commas, [COLUMNS.len(), COLUMNS.len()]);
        assert!(text.ends_with(",200\r\n"));
    }
}
