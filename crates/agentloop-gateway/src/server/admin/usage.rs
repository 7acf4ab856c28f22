//! Sums of the ledger.

use http::{Response, StatusCode};
use serde_json::json;

use super::query::{self, FILTER};
use super::reply::{Problem, to_json};
use crate::store::{MAX_PAGE, Store, UsageQuery};
use crate::stream::GatewayBody;

/// Responds with the sums that a query asks for.
pub(super) async fn respond(
    store: &dyn Store,
    query: &str,
) -> Result<Response<GatewayBody>, Problem> {
    let known: Vec<&str> = FILTER.into_iter().chain(["by"]).collect();
    let (filter, others) = query::filter(query::pairs(query, &known)?)?;
    let by = match others.first() {
        Some((_, name)) => Some(query::by(name)?),
        None => None,
    };
    let question = UsageQuery::new(by, filter);
    let sums = store.usage(&question).await?;
    let is_truncated = sums.len() >= MAX_PAGE;
    let body = json!({
        "sinceMs": question.filter.since_ms,
        "untilMs": question.filter.until_ms,
        "sums": sums,
        "truncated": is_truncated,
    });
    Ok(to_json(StatusCode::OK, &body))
}
