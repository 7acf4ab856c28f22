//! The rows of the ledger, for other programs.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentloop::{BoxFuture, Result};
use bytes::Bytes;
use futures_core::Stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::query::{self, FILTER};
use super::reply::{Problem, invalid, problem};
use crate::store::{LedgerRow, MAX_PAGE, RowFilter, Store, csv_header, write_csv};
use crate::stream::GatewayBody;

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Csv,
    Lines,
}

/// Responds with all rows that a query asks for, page by page as the client reads them.
pub(super) async fn respond(
    store: Arc<dyn Store>,
    exports: Arc<Semaphore>,
    query: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let known: Vec<&str> = FILTER.into_iter().chain(["format"]).collect();
    let (filter, others) = query::filter(query::pairs(query, &known)?)?;
    let form = match others.first().map(|(_, form)| form.as_str()) {
        None | Some("jsonl") => Form::Lines,
        Some("csv") => Form::Csv,
        Some(_) => return Err(invalid("`format` must be `jsonl` or `csv`")),
    };
    let Ok(permit) = exports.try_acquire_owned() else {
        let message = "other exports are running; try again when one of them has ended";
        return Err(problem(StatusCode::TOO_MANY_REQUESTS, "too_many_exports", message));
    };
    let mut pages = Pages::new(store, filter, form, permit);
    // The first page is awaited, so that a store that cannot be reached is an error and not an empty file.
    let first = pages.fetch().await?;
    let first = pages.write(first);
    pages.first = Some(first);
    let (kind, name) = match form {
        Form::Csv => ("text/csv; charset=utf-8", "attachment; filename=\"ledger.csv\""),
        Form::Lines => ("application/x-ndjson", "attachment; filename=\"ledger.jsonl\""),
    };
    let mut response = Response::new(GatewayBody::pages(Box::pin(pages)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(response)
}

/// Rows that are fetched page by page. A failure ends the response without its end, so a part is never taken for all of it.
struct Pages {
    store: Arc<dyn Store>,
    filter: Arc<RowFilter>,
    form: Form,
    after: Option<(i64, String)>,
    first: Option<Bytes>,
    fetching: Option<BoxFuture<'static, Result<Vec<LedgerRow>>>>,
    is_last: bool,
    _permit: OwnedSemaphorePermit,
}

impl Pages {
    fn new(
        store: Arc<dyn Store>,
        filter: RowFilter,
        form: Form,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            store,
            filter: Arc::new(filter),
            form,
            after: None,
            first: None,
            fetching: None,
            is_last: false,
            _permit: permit,
        }
    }

    fn fetch(&self) -> BoxFuture<'static, Result<Vec<LedgerRow>>> {
        let (store, filter) = (Arc::clone(&self.store), Arc::clone(&self.filter));
        let after = self.after.clone();
        Box::pin(async move {
            let after = after.as_ref().map(|(time, id)| (*time, id.as_str()));
            store.rows(&filter, after).await
        })
    }

    /// Writes a page, and notes where the next one begins.
    fn write(&mut self, rows: Vec<LedgerRow>) -> Bytes {
        let mut text = String::new();
        if self.form == Form::Csv && self.after.is_none() {
            text.push_str(&csv_header());
        }
        for row in &rows {
            match self.form {
                Form::Csv => write_csv(&mut text, row),
                Form::Lines => {
                    text.push_str(&serde_json::to_string(row).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        self.is_last = rows.len() < MAX_PAGE;
        self.after = rows.into_iter().last().map(|row| (row.time_ms, row.id));
        text.into()
    }
}

impl Stream for Pages {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Bytes>>> {
        let this = &mut *self;
        if let Some(first) = this.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if this.is_last {
            return Poll::Ready(None);
        }
        let mut fetching = match this.fetching.take() {
            Some(fetching) => fetching,
            None => this.fetch(),
        };
        let Poll::Ready(rows) = fetching.as_mut().poll(context) else {
            this.fetching = Some(fetching);
            return Poll::Pending;
        };
        Poll::Ready(match rows {
            Ok(rows) if rows.is_empty() => {
                this.is_last = true;
                None
            }
            Ok(rows) => Some(Ok(this.write(rows))),
            Err(error) => {
                this.is_last = true;
                Some(Err(io::Error::other(error.message().to_owned())))
            }
        })
    }
}
