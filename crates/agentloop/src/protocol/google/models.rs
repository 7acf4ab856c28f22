//! The list of models.

use serde_json::Value;

use super::error;
use crate::error::Result;
use crate::models::ModelInfo;
use crate::percent;
use crate::protocol::codec::no_models;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body};
use crate::provider::Provider;

/// Writes the call for the first page or for the one whose query is `next`.
pub(crate) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    Encoded::get(provider, format!("/models{}", next.unwrap_or("?pageSize=1000")))
}

/// Reads a page of the list.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    let fields = match &value {
        Value::Object(fields) if fields.contains_key("models") => fields,
        Value::Object(fields) if fields.is_empty() => return Ok(ModelPage::default()),
        _ if error_body::is_listed_error(body) => return Err(error::in_body(&provider.name, body)),
        _ => return Err(no_models(provider, &value, body, error::in_body)),
    };
    let list = fields.get("models").and_then(Value::as_array);
    let models = list.into_iter().flatten().filter_map(|model| read(model, provider)).collect();
    let token = fields.get("nextPageToken").and_then(Value::as_str).filter(|text| !text.is_empty());
    Ok(ModelPage {
        models,
        next: token.map(|token| {
            format!("?pageSize=1000&pageToken={}", percent::encode_query_value(token))
        }),
    })
}

fn read(model: &Value, provider: &Provider) -> Option<ModelInfo> {
    let text = |name: &str| model.get(name)?.as_str().map(str::to_owned);
    let name = text("name")?;
    let id = name.strip_prefix("models/").unwrap_or(&name);
    let mut info = ModelInfo::new(provider.name.as_ref(), id);
    info.name = text("displayName");
    info.context_window = model.get("inputTokenLimit").and_then(Value::as_u64);
    info.max_output_tokens = model.get("outputTokenLimit").and_then(Value::as_u64);
    Some(info)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn pages_name_the_next_one() {
        let provider = Provider::gemini_compatible("p", "http://x.test/v1beta");
        let body = br#"{"models":[{"name":"models/a","displayName":"A","inputTokenLimit":10,
            "outputTokenLimit":5},{"name":"tunedModels/b"}],"nextPageToken":"x/y="}"#;
        let page = decode(&provider, body).unwrap();
        assert_eq!((page.models[0].id.as_str(), page.models[0].context_window), ("a", Some(10)));
        assert_eq!(page.models[1].id, "tunedModels/b");
        assert_eq!(page.next.as_deref(), Some("?pageSize=1000&pageToken=x%2Fy%3D"));
        let next = encode(&provider, page.next.as_deref()).unwrap();
        assert_eq!(next.path, "/models?pageSize=1000&pageToken=x%2Fy%3D");
        assert!(decode(&provider, b"{}").unwrap().models.is_empty());
        assert_eq!(decode(&provider, b"[1]").unwrap_err().kind(), ErrorKind::Protocol);
    }
}
