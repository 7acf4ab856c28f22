//! The list of models.

use serde_json::Value;

use crate::error::Result;
use crate::models::ModelInfo;
use crate::protocol::codec::no_models;
use crate::protocol::json::read_value;
use crate::protocol::{Encoded, ModelPage, error_body};
use crate::provider::Provider;

/// Writes the call.
pub(in crate::protocol) fn encode(provider: &Provider, next: Option<&str>) -> Result<Encoded> {
    Encoded::get(provider, format!("/models{}", next.unwrap_or_default()))
}

/// Returns the list: under `data`, under `models`, or the body itself.
pub(in crate::protocol) fn decode(provider: &Provider, body: &[u8]) -> Result<ModelPage> {
    let value = read_value(body).unwrap_or_default();
    let list = match &value {
        Value::Array(list) => Some(list),
        Value::Object(fields) => ["data", "models"]
            .into_iter()
            .find_map(|name| fields.get(name).and_then(Value::as_array)),
        _ => None,
    };
    let Some(list) = list else {
        return Err(no_models(provider, &value, body, error_body::in_body));
    };
    let models = list.iter().filter_map(|model| read(model, provider)).collect();
    Ok(ModelPage { models, next: None })
}

fn read(model: &Value, provider: &Provider) -> Option<ModelInfo> {
    let text = |name: &str| model.get(name)?.as_str().map(str::to_owned);
    let number = |names: &[&str]| names.iter().find_map(|name| model.get(*name)?.as_u64());
    Some(ModelInfo {
        id: text("id").or_else(|| text("name"))?,
        provider: provider.name.clone().into_owned(),
        name: text("display_name").or_else(|| text("name")),
        created: model.get("created").and_then(Value::as_i64).filter(|at| *at > 0),
        context_window: number(&[
            "context_window",
            "context_length",
            "max_context_length",
            "max_model_len",
            "contextLength",
        ]),
        max_output_tokens: number(&["max_completion_tokens", "max_output_tokens"]),
        owned_by: text("owned_by"),
    })
}
