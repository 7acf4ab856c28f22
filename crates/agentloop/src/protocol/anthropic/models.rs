//! The list of models.

use serde_json::Value;

use crate::calendar;
use crate::error::Result;
use crate::models::ModelInfo;
use crate::percent;
use crate::protocol::codec::no_models;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body};
use crate::provider::Provider;

/// The most models of a page.
const PAGE: u32 = 1000;

/// Writes the call.
pub(crate) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    let path = match next {
        Some(next) => format!("/models{next}"),
        None => format!("/models?limit={PAGE}"),
    };
    Encoded::get(provider, path)
}

/// Reads a page of the list.
pub(crate) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    let Some(list) = value.get("data").and_then(Value::as_array) else {
        return Err(no_models(provider, &value, body, error_body::in_body));
    };
    let models: Vec<ModelInfo> = list.iter().filter_map(|model| read(model, provider)).collect();
    let more = value.get("has_more").and_then(Value::as_bool) == Some(true);
    let last = value.get("last_id").and_then(Value::as_str).filter(|_| more && !models.is_empty());
    let next =
        last.map(|last| format!("?limit={PAGE}&after_id={}", percent::encode_query_value(last)));
    Ok(ModelPage { models, next })
}

fn read(model: &Value, provider: &Provider) -> Option<ModelInfo> {
    let text = |name: &str| model.get(name)?.as_str().map(str::to_owned);
    let number = |names: &[&str]| names.iter().find_map(|name| model.get(*name)?.as_u64());
    let created = model.get("created").and_then(Value::as_i64).filter(|at| *at > 0);
    Some(ModelInfo {
        id: text("id")?,
        provider: provider.name.clone().into_owned(),
        name: text("display_name"),
        created: created.or_else(|| calendar::read_rfc3339(model.get("created_at")?.as_str()?)),
        context_window: number(&["max_input_tokens", "context_window", "context_length"]),
        max_output_tokens: number(&["max_tokens", "max_output_tokens"]),
        owned_by: text("owned_by"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_the_next_one() {
        let provider = Provider::anthropic_compatible("lab", "http://lab.invalid");
        let body = br#"{"data":[{"type":"model","id":"m/1","display_name":"M","created_at":"1970-01-02T00:00:00Z",
            "max_input_tokens":200000,"max_tokens":64000}],"has_more":true,"last_id":"m/1"}"#;
        let page = decode(&provider, body).unwrap();
        let model = &page.models[0];
        assert_eq!((model.id.as_str(), model.name.as_deref()), ("m/1", Some("M")));
        assert_eq!((model.context_window, model.max_output_tokens), (Some(200_000), Some(64_000)));
        assert_eq!(model.created, Some(86_400));
        let next = encode(&provider, page.next.as_deref()).unwrap();
        assert_eq!(next.path, "/models?limit=1000&after_id=m%2F1");
        let last = decode(&provider, br#"{"data":[],"has_more":true,"last_id":"x"}"#).unwrap();
        assert!(last.next.is_none(), "an empty page is the last");
        assert!(decode(&provider, b"{}").is_err());
    }
}
