//! Lists the models: a call of Amazon's service for managing Bedrock, which has a host of its own (`bedrock.REGION.amazonaws.com`).

use std::collections::BTreeMap;

use http::Method;
use serde_json::Value;

use super::error;
use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, ToolNames, error_body, headers};
use crate::provider::Provider;

/// Encodes a call for the list, which has one page (botocore 1.44.3: `ListFoundationModels`).
pub(super) fn encode(provider: &Provider) -> Result<Encoded> {
    let mut warnings = Vec::new();
    Ok(Encoded {
        method: Method::GET,
        path: "/foundation-models".into(),
        headers: headers::build(provider, &BTreeMap::new(), &mut warnings)?,
        body: bytes::Bytes::new(),
        warnings,
        names: ToolNames::default(),
    })
}

/// Reads the list.
pub(super) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    let Some(list) = value.get("modelSummaries").and_then(Value::as_array) else {
        if error_body::is_bare_error(body) || value.get("__type").is_some() {
            return Err(error::in_body(&provider.name, body));
        }
        return Err(Error::new(ErrorKind::Protocol, "the response is not a list of models")
            .with_provider(provider.name.as_ref())
            .with_raw(body));
    };
    let read = |model: &Value| {
        let text = |name: &str| model.get(name).and_then(Value::as_str);
        let mut info = ModelInfo::new(provider.name.as_ref(), text("modelId")?);
        info.name = text("modelName").map(str::to_owned);
        Some(info)
    };
    Ok(ModelPage { models: list.iter().filter_map(read).collect(), next: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_ids_and_names() {
        let provider = Provider::bedrock_compatible("p", "https://bedrock.us-east-1.amazonaws.com");
        assert_eq!(encode(&provider).unwrap().path, "/foundation-models");
        let body = br#"{"modelSummaries":[{"modelId":"amazon.nova-lite-v1:0","modelName":"Nova Lite"},{"x":1}]}"#;
        let page = decode(&provider, body).unwrap();
        let [model] = &page.models[..] else { panic!("{page:?}") };
        assert_eq!(
            (model.id.as_str(), model.name.as_deref()),
            ("amazon.nova-lite-v1:0", Some("Nova Lite"))
        );
        assert!(page.next.is_none());
        let error = decode(&provider, br#"{"message":"no access"}"#).unwrap_err();
        assert_eq!(error.message(), "no access");
        assert_eq!(decode(&provider, b"[]").unwrap_err().kind(), ErrorKind::Protocol);
    }
}
