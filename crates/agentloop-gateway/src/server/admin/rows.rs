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
use crate::store::{ExportFormat, LedgerExport, Store};
use crate::stream::GatewayBody;

/// Responds with all rows that a query asks for, page by page as the client reads them.
pub(super) async fn respond(
    store: Arc<dyn Store>,
    exports: Arc<Semaphore>,
    query: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let known: Vec<&str> = FILTER.into_iter().chain(["format"]).collect();
    let (filter, others) = query::filter(query::pairs(query, &known)?)?;
    let name = others.first().map_or("jsonl", |(_, name)| name);
    let Some(format) = ExportFormat::of_name(name) else {
        return Err(invalid("`format` must be `jsonl` or `csv`"));
    };
    let Ok(permit) = exports.try_acquire_owned() else {
        let message = "other exports are running; try again when one of them has ended";
        return Err(problem(StatusCode::TOO_MANY_REQUESTS, "too_many_exports", message));
    };
    let mut export = LedgerExport::new(Some(store), filter, format);
    // The first page is awaited, so that a store that cannot be reached is an error and not an empty file.
    let first = export.next_page().await?.map(Bytes::from);
    let pages = Pages { first, next: Some(next(export)), _permit: permit };
    let (kind, name) = match format {
        ExportFormat::Csv => ("text/csv; charset=utf-8", "attachment; filename=\"ledger.csv\""),
        ExportFormat::Lines => ("application/x-ndjson", "attachment; filename=\"ledger.jsonl\""),
    };
    let mut response = Response::new(GatewayBody::pages(Box::pin(pages)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CONTENT_DISPOSITION, HeaderValue::from_static(name));
    Ok(response)
}

/// An export, and its next page.
type Next = BoxFuture<'static, (LedgerExport, Result<Option<String>>)>;

fn next(mut export: LedgerExport) -> Next {
    Box::pin(async move {
        let page = export.next_page().await;
        (export, page)
    })
}

/// Rows that are fetched page by page. A failure ends the response without its end, so a part is never taken for all of it.
struct Pages {
    first: Option<Bytes>,
    /// `None` at the end.
    next: Option<Next>,
    _permit: OwnedSemaphorePermit,
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
        let Some(fetching) = &mut this.next else { return Poll::Ready(None) };
        let (export, page) = std::task::ready!(fetching.as_mut().poll(context));
        this.next = matches!(page, Ok(Some(_))).then(|| next(export));
        let page = page.map_err(|error| io::Error::other(error.message().to_owned()));
        Poll::Ready(page.map(|page| page.map(Bytes::from)).transpose())
    }
}
