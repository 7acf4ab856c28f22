//! How many tokens a request has.

use http::Method;
use serde_json::Value;

use super::{encode, error, model_name, model_path};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::json::ObjectWriter;
use crate::protocol::output::Shaped;
use crate::protocol::{Encoded, error_body, headers};
use crate::provider::Provider;

/// The call: the chat's own request, wrapped.
pub(crate) fn encode(provider: &Provider, model: &str, shaped: &Shaped<'_>) -> Result<Encoded> {
    let (body, mut warnings, prepared) = encode::body(provider, model, shaped)?;
    // Where models stand below a publisher, the call takes the request as it is.
    let body = if provider.base_url.contains("/publishers/") {
        body.finish()
    } else {
        let mut out = ObjectWriter::new();
        let wrapped = Wrapped { model: model_name(model), body: body.finish() };
        out.field("generateContentRequest", &wrapped)?;
        out.finish()
    };
    let headers = headers::build(provider, &shaped.request.extra_headers, false, &mut warnings)?;
    Ok(Encoded {
        method: Method::POST,
        path: model_path(model, "countTokens"),
        headers,
        body,
        warnings,
        names: prepared.names,
    })
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
        let mut fields: serde_json::Map<String, Value> =
            serde_json::from_slice(&self.body).map_err(serde::ser::Error::custom)?;
        fields.insert("model".to_owned(), self.model.as_str().into());
        fields.serialize(serializer)
    }
}

/// The number.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<u64> {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(tokens) = value.get("totalTokens").and_then(Value::as_u64) {
        return Ok(tokens);
    }
    if value.get("error").is_some() || error_body::is_listed_error(body) {
        return Err(error::in_answer(&provider.name, body));
    }
    Err(Error::new(ErrorKind::Protocol, "the answer has no count")
        .with_provider(provider.name.as_ref())
        .with_raw(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::ChatRequest;
    use crate::protocol::{output, restrict};

    #[test]
    fn the_request_is_wrapped_with_its_model_or_sent_as_it_is() {
        let request = ChatRequest::new("p/m").system("s").user("u");
        let path = "/models/m:countTokens";
        let provider = Provider::gemini_compatible("p", "http://x.test/v1beta");
        let restricted = restrict::apply(&provider, "m", &request).unwrap();
        let shaped = output::shape(&provider, "m", &restricted).unwrap();
        let wrapped = encode(&provider, "m", &shaped).unwrap();
        let body: Value = serde_json::from_slice(&wrapped.body).unwrap();
        assert_eq!(body["generateContentRequest"]["model"], "models/m");
        assert_eq!(body["generateContentRequest"]["contents"][0]["parts"][0]["text"], "u");
        let provider = Provider::gemini_compatible("p", "http://x.test/publishers/p");
        let bare = encode(&provider, "m", &shaped).unwrap();
        let body: Value = serde_json::from_slice(&bare.body).unwrap();
        assert_eq!(body["contents"][0]["parts"][0]["text"], "u");
        assert_eq!((wrapped.path.as_str(), bare.path.as_str()), (path, path));
        assert_eq!(decode(&provider, br#"{"totalTokens":31}"#).unwrap(), 31);
    }
}
