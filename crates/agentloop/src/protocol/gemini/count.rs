//! Counts the tokens of a request. Only this protocol has its own form for it: the chat request, wrapped.

use serde_json::Value;

use super::{encode, model_name, model_path};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::google::error;
use crate::protocol::json::{ObjectWriter, read_value};
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, Prepared, error_body, headers};
use crate::provider::Provider;

/// Writes the call: the request of a chat call, wrapped.
pub(super) fn encode(
    provider: &Provider,
    model: &str,
    shaped: &Shaped<'_>,
    prepared: Prepared<'_>,
) -> Result<Encoded> {
    let (body, mut warnings, names) = encode::body(provider, model, shaped, prepared)?;
    // For models below a publisher, the call takes the request unwrapped.
    let body = if provider.base_url.contains("/publishers/") {
        body.finish()
    } else {
        let mut out = ObjectWriter::new();
        let wrapped = Wrapped { model: model_name(model), body: body.finish() };
        out.field("generateContentRequest", &wrapped)?;
        out.finish()
    };
    let headers = headers::of_chat(provider, shaped, false, &mut warnings)?;
    Ok(Encoded::post(model_path(model, "countTokens"), headers, body, warnings, names))
}

/// A request with its model.
struct Wrapped {
    model: String,
    body: bytes::Bytes,
}

impl serde::Serialize for Wrapped {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        let mut fields = read_value(&self.body).map_err(serde::ser::Error::custom)?;
        if let Some(fields) = fields.as_object_mut() {
            fields.insert("model".to_owned(), self.model.as_str().into());
        }
        fields.serialize(serializer)
    }
}

/// Reads the number.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<u64> {
    let value = read_value(body).unwrap_or_default();
    if let Some(tokens) = value.get("totalTokens").and_then(Value::as_u64) {
        return Ok(tokens);
    }
    if value.get("error").is_some() || error_body::is_listed_error(body) {
        return Err(error::in_body(&provider.name, body));
    }
    Err(Error::new(ErrorKind::Protocol, "the response has no count")
        .with_provider(provider.name.as_ref())
        .with_raw(body))
}
