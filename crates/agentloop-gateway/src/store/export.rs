//! The rows of the ledger for other programs.

use std::borrow::Cow;
use std::sync::Arc;

use agentloop::{Error, ErrorKind, Result, Usd};

use super::column::{Kind, Value};
use super::named::named;
use super::row::COLUMNS;
use super::{LedgerRow, MAX_PAGE, RowFilter, Store};

named! {
    /// The form of an export.
    ///
    /// ```
    /// use agentloop_gateway::ExportFormat;
    ///
    /// assert_eq!(ExportFormat::of_name("csv"), Some(ExportFormat::Csv));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ExportFormat {
        /// Comma-separated values (RFC 4180) with a header. Clients choose the names of models, so a cell that a spreadsheet would run as
        /// a formula begins with an apostrophe.
        Csv "csv",
        /// A JSON object per line.
        Lines "jsonl",
    }
}

impl ExportFormat {
    fn write(self, text: &mut String, row: &LedgerRow) -> Result<()> {
        if self == Self::Lines {
            let json = serde_json::to_string(row);
            text.push_str(&json.map_err(|error| Error::new(ErrorKind::Other, error.to_string()))?);
            text.push('\n');
            return Ok(());
        }
        let cells = row.values().into_iter().zip(COLUMNS).map(|(value, (_, kind))| match value {
            Value::Null => String::new(),
            Value::Text(text) => csv_cell(&text).into_owned(),
            Value::Texts(texts) => csv_cell(&texts.join(" ")).into_owned(),
            Value::Flag(flag) => flag.to_string(),
            Value::Number(picos) if *kind == Kind::Amount => {
                Usd::from_picos(picos.into()).to_string()
            }
            Value::Number(number) => number.to_string(),
        });
        text.push_str(&Vec::from_iter(cells).join(","));
        text.push_str("\r\n");
        Ok(())
    }
}

/// All rows that a filter selects, as text, page by page.
///
/// ```
/// use std::sync::Arc;
///
/// use agentloop_gateway::{ExportFormat, LedgerExport, LedgerRow, RowFilter, SqliteStore, Store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("agentloop-export-{}", std::process::id()));
/// let store = Arc::new(SqliteStore::open(folder.join("gateway.db"))?);
/// let mut row = LedgerRow::default();
/// row.model = "=1+1".to_owned();
/// store.append([row].into()).await?;
/// let mut export = LedgerExport::new(Some(store), RowFilter::default(), ExportFormat::Csv);
/// let page = export.next_page().await?.unwrap_or_default();
/// assert!(page.starts_with("id,request,node,time_ms,key,team,"));
/// assert!(page.contains(",'=1+1,"));
/// assert_eq!((export.next_page().await?, export.rows()), (None, 1));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok(())
/// # }
/// ```
pub struct LedgerExport {
    store: Option<Arc<dyn Store>>,
    filter: RowFilter,
    format: ExportFormat,
    after: Option<(i64, String)>,
    is_last: bool,
    rows: u64,
}

agentloop::shown! { LedgerExport: self { filter: self.filter } }

impl LedgerExport {
    /// Begins an export. Without a store it has no rows.
    pub fn new(store: Option<Arc<dyn Store>>, filter: RowFilter, format: ExportFormat) -> Self {
        Self { store, filter, format, after: None, is_last: false, rows: 0 }
    }

    /// Returns how many rows were written.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the next page; `None` at the end. The first page of CSV has the header.
    ///
    /// # Errors
    ///
    /// When the store fails. What was written before is only a part.
    pub async fn next_page(&mut self) -> Result<Option<String>> {
        if self.is_last {
            return Ok(None);
        }
        let after = self.after.as_ref().map(|(time, id)| (*time, id.as_str()));
        let rows = match &self.store {
            Some(store) => store.rows(&self.filter, after).await?,
            None => Vec::new(),
        };
        let mut text = String::new();
        if self.format == ExportFormat::Csv && self.after.is_none() {
            text = format!("{}\r\n", LedgerRow::column_names().replace(' ', ""));
        }
        for row in &rows {
            self.format.write(&mut text, row)?;
        }
        self.is_last = rows.len() < MAX_PAGE;
        self.rows += rows.len() as u64;
        self.after = rows.into_iter().last().map(|row| (row.time_ms, row.id));
        Ok(Some(text))
    }
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
    fn a_row_has_as_many_cells_as_the_header_and_exact_amounts() {
        let mut text = String::new();
        let row = LedgerRow {
            id: "a".to_owned(),
            usd: Some(Usd::from_picos(-1_500_000_000_000)),
            tags: vec!["b".to_owned(), "c".to_owned()],
            status: 200,
            ..LedgerRow::default()
        };
        ExportFormat::Csv.write(&mut text, &row).unwrap();
        assert_eq!(text, "a,,,0,,,,,,,,b c,unknown,false,0,0,0,0,-1.5,0,,0,,200\r\n");
        assert_eq!(text.matches(',').count() + 1, COLUMNS.len());
    }
}
