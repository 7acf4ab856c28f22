//! Responses that are a number of tokens.

use serde_json::Value;

use super::error_body;
use super::json::read_value;
use crate::error::{Error, ErrorKind, Result};
use crate::provider::Provider;

/// Returns the number of tokens of a request, in the form that two of the protocols share.
pub(crate) fn input_tokens(provider: &Provider, body: &[u8]) -> Result<u64> {
    let value = read_value(body).unwrap_or_default();
    value.get("input_tokens").and_then(Value::as_u64).ok_or_else(|| {
        let failed = value.get("error").is_some_and(|error| !error.is_null());
        if failed || error_body::is_bare_error(body) {
            return error_body::in_body(&provider.name, body);
        }
        Error::new(ErrorKind::Protocol, "the response has no `input_tokens`")
            .with_provider(provider.name.as_ref())
            .with_raw(body)
    })
}
