//! The list of models.

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use super::path;
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, ToolNames, error_body, headers};
use crate::provider::Provider;

/// Writes the call. The list has one page.
pub(super) fn encode(provider: &Provider) -> Result<Encoded> {
    let mut warnings = Vec::new();
    Ok(Encoded {
        method: Method::GET,
        path: path(provider, "/tags"),
        headers: headers::build(provider, &BTreeMap::new(), &mut warnings)?,
        body: bytes::Bytes::new(),
        warnings,
        names: ToolNames::default(),
    })
}

/// Reads the list.
pub(super) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    // A server without models sends `null`.
    let list = match value.get("models") {
        Some(Value::Array(list)) => list.as_slice(),
        Some(Value::Null) => &[],
        _ if value.get("error").is_some() || error_body::is_bare_error(body) => {
            return Err(error_body::in_body(&provider.name, body));
        }
        _ => {
            return Err(Error::new(ErrorKind::Protocol, "the response is not a list of models")
                .with_provider(provider.name.as_ref())
                .with_raw(body));
        }
    };
    let read = |model: &Value| {
        let text = |name: &str| model.get(name)?.as_str();
        let id = text("model").or_else(|| text("name"))?;
        Some(ModelInfo::new(provider.name.as_ref(), id))
    };
    Ok(ModelPage { models: list.iter().filter_map(read).collect(), next: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_names_its_models_and_an_error_is_one() {
        let provider = Provider::ollama_compatible("p", "http://h:11434");
        let body =
            br#"{"models":[{"name":"a:latest","model":"a:latest","size":7},{"name":"b"},3]}"#;
        let ids: Vec<String> =
            decode(&provider, body).unwrap().models.into_iter().map(|model| model.id).collect();
        assert_eq!(ids, ["a:latest", "b"]);
        assert!(decode(&provider, br#"{"models":null}"#).unwrap().models.is_empty());
        let error = decode(&provider, br#"{"error":"unauthorized"}"#).unwrap_err();
        assert_eq!(error.message(), "unauthorized");
        assert_eq!(decode(&provider, b"[1]").unwrap_err().kind(), ErrorKind::Protocol);
    }
}
