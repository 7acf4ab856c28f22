//! Reads the results of a batch.

use std::borrow::Cow;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::codec;
use crate::protocol::lenient::Text;
use crate::provider::Provider;

/// The result of one request: the body of its response, or its error.
#[derive(Debug)]
pub(crate) struct RowResult<'a> {
    /// The id of the request; absent if the provider did not send it.
    pub(crate) custom_id: Option<String>,
    pub(crate) body: Result<&'a str>,
}

/// A line of results, in every known form.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    custom_id: Text<'a>,
    response: Option<&'a RawValue>,
    error: Option<&'a RawValue>,
    result: Option<&'a RawValue>,
    metadata: Option<&'a RawValue>,
    key: Text<'a>,
}

/// The response of a line: an HTTP response, or the body alone.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    status_code: Option<&'a RawValue>,
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// What became of a request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Outcome<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// Returns JSON that is not `null`.
fn present(value: Option<&RawValue>) -> Option<&RawValue> {
    value.filter(|value| value.get() != "null")
}

/// Reads a line of results.
///
/// # Errors
///
/// Fails if the line is not a result. The error of the request is in the [`RowResult`].
pub(crate) fn read_line<'a>(provider: &Provider, line: &'a [u8]) -> Result<RowResult<'a>> {
    let not_a_result = |why: &str| Error::new(ErrorKind::Protocol, why.to_owned());
    let text = std::str::from_utf8(line).map_err(|_| not_a_result("it is not UTF-8"))?;
    let line: Line<'a> =
        serde_json::from_str(text).map_err(|error| not_a_result(&error.to_string()))?;
    let key = present(line.metadata).and_then(|metadata| {
        let metadata: Value = serde_json::from_str(metadata.get()).ok()?;
        Some(metadata.get("key")?.as_str()?.to_owned())
    });
    let own = [line.custom_id, line.key].into_iter().find_map(Text::into_non_empty);
    let custom_id = own.map(Cow::into_owned).or(key);
    if let Some(outcome) = present(line.result) {
        let outcome: Outcome<'a> = serde_json::from_str(outcome.get())
            .map_err(|error| not_a_result(&error.to_string()))?;
        return Ok(RowResult { custom_id, body: of_outcome(provider, &outcome) });
    }
    let body = match (present(line.response), present(line.error)) {
        (Some(response), error) => of_response(provider, response, error),
        (None, Some(error)) => Err(of_error(provider, error)),
        (None, None) => return Err(not_a_result("it has neither a response nor an error")),
    };
    Ok(RowResult { custom_id, body })
}

fn of_outcome<'a>(provider: &Provider, outcome: &Outcome<'a>) -> Result<&'a str> {
    match (outcome.kind.as_str(), present(outcome.message), present(outcome.error)) {
        ("succeeded", Some(message), _) => Ok(message.get()),
        ("canceled" | "cancelled", ..) => Err(cancelled()),
        ("expired", ..) => Err(expired()),
        (_, _, Some(error)) => Err(of_error(provider, error)),
        (kind, ..) => Err(Error::new(
            ErrorKind::Protocol,
            format!("the result {kind:?} has neither a message nor an error"),
        )),
    }
}

fn of_response<'a>(
    provider: &Provider,
    response: &'a RawValue,
    error: Option<&'a RawValue>,
) -> Result<&'a str> {
    let parts: Response<'a> = serde_json::from_str(response.get()).unwrap_or_default();
    // A number, or a number as text.
    let status = present(parts.status_code);
    let status: Option<u16> = status.and_then(|status| status.get().trim_matches('"').parse().ok());
    let Some(body) = present(parts.body) else {
        // The response itself, or one whose body is missing.
        return match (status, error) {
            (_, Some(error)) => Err(of_error(provider, error)),
            (Some(status), None) => Err(Error::new(
                ErrorKind::Protocol,
                format!("the response with status {status} has no body"),
            )),
            (None, None) => Ok(response.get()),
        };
    };
    match status {
        Some(status) if !(200..300).contains(&status) => Err(codec(provider.protocol)
            .decode_error(&provider.name, status, &HeaderMap::new(), body.get().as_bytes())),
        _ => Ok(body.get()),
    }
}

fn cancelled() -> Error {
    Error::new(ErrorKind::Cancelled, "the batch was cancelled before this request was processed")
}

fn expired() -> Error {
    Error::new(ErrorKind::Timeout, "the batch expired before this request was processed")
        .with_code("batch_expired")
        .with_retryable(true)
}

/// Reads the error of a request.
fn of_error(provider: &Provider, error: &RawValue) -> Error {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let word = value.get("code").and_then(Value::as_str).unwrap_or_default();
    match word {
        "batch_expired" => return expired(),
        "batch_cancelled" | "batch_canceled" => return cancelled(),
        _ => {}
    }
    // An error that is wrapped already, or one that stands alone.
    let wrapped = match value.get("error") {
        Some(_) => value,
        None => json!({ "error": with_status(value) }),
    };
    let body = wrapped.to_string();
    codec(provider.protocol).decode_error_in_response(&provider.name, body.as_bytes())
}

/// Adds the name of a status to an error that has only its number (`google.rpc.Code`), which is not an HTTP status.
fn with_status(mut error: Value) -> Value {
    let (name, status) = match error.get("code").and_then(Value::as_u64) {
        Some(1) => ("CANCELLED", 499),
        Some(3) => ("INVALID_ARGUMENT", 400),
        Some(4) => ("DEADLINE_EXCEEDED", 504),
        Some(5) => ("NOT_FOUND", 404),
        Some(7) => ("PERMISSION_DENIED", 403),
        Some(8) => ("RESOURCE_EXHAUSTED", 429),
        Some(9) => ("FAILED_PRECONDITION", 400),
        Some(11) => ("OUT_OF_RANGE", 400),
        Some(13) => ("INTERNAL", 500),
        Some(14) => ("UNAVAILABLE", 503),
        Some(16) => ("UNAUTHENTICATED", 401),
        Some(2 | 6 | 10 | 12 | 15) => ("UNKNOWN", 500),
        _ => return error,
    };
    if let Some(fields) = error.as_object_mut() {
        fields.insert("code".to_owned(), status.into());
        fields.entry("status").or_insert_with(|| name.into());
    }
    error
}

/// The results that are part of a status.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Operation<'a> {
    #[serde(borrow)]
    metadata: Option<Holder<'a>>,
    #[serde(borrow)]
    response: Option<Holder<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Holder<'a> {
    #[serde(borrow)]
    output: Option<Output<'a>>,
    #[serde(borrow, rename = "inlinedResponses")]
    inlined: Option<List<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Output<'a> {
    #[serde(borrow, rename = "inlinedResponses")]
    inlined: Option<List<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct List<'a> {
    #[serde(borrow, rename = "inlinedResponses")]
    all: Option<Vec<&'a RawValue>>,
}

/// Returns the results that are part of a status, in the order of the requests.
pub(crate) fn inline_results(body: &[u8]) -> Result<Vec<&str>> {
    let unreadable = |error: serde_json::Error| {
        Error::new(ErrorKind::Protocol, "the results of the batch cannot be read")
            .with_source(error)
            .with_raw(body)
    };
    let operation: Operation<'_> = serde_json::from_slice(body).map_err(unreadable)?;
    let holders = [operation.response, operation.metadata].into_iter().flatten();
    let lists = holders.flat_map(|holder| {
        let of_output = holder.output.and_then(|output| output.inlined);
        [of_output, holder.inlined].into_iter().flatten()
    });
    // A provider repeats the results in the metadata and in the response.
    let list = lists.filter_map(|list| list.all).find(|list| !list.is_empty());
    Ok(list.unwrap_or_default().into_iter().map(RawValue::get).collect())
}
