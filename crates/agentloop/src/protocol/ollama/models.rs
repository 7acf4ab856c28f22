//! The list of models.

use serde_json::Value;

use super::path;
use crate::error::Result;
use crate::models::ModelInfo;
use crate::protocol::codec::no_models;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body};
use crate::provider::Provider;

/// Writes the call. The list has one page.
pub(super) fn encode(provider: &Provider, _: Option<&str>) -> Result<Encoded> {
    Encoded::get(provider, path(provider, "/tags"))
}

/// Reads the list.
pub(super) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    // A server without models sends `null`.
    let list = match value.get("models") {
        Some(Value::Array(list)) => list.as_slice(),
        Some(Value::Null) => &[],
        _ => return Err(no_models(provider, &value, body, error_body::in_body)),
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
    use crate::error::ErrorKind;

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
