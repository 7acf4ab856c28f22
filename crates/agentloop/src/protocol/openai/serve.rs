//! The server's side of what both protocols share.

mod embed;
mod errors;
pub(in crate::protocol) mod fields;
mod own_tools;
mod remembered;
pub(in crate::protocol) mod tools;
pub(in crate::protocol) mod write;

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::chat::{CacheControl, ChatRequest, ResponseFormat, ToolChoice};
use crate::error::Result;
use crate::models::ModelInfo;
use crate::protocol::serve::Operation;
use fields::Fields;

pub(in crate::protocol) use embed::read_embed;
pub(in crate::protocol) use errors::{error_object, write_error};
pub(in crate::protocol) use remembered::{CallForm, DeclaredTool, Remembered};

/// Returns the calls that both protocols have, by the method and the end of the path.
pub(in crate::protocol) fn route(method: &Method, path: &str) -> Option<Operation> {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let ends = |end: &str| path.ends_with(end);
    if method == Method::POST && (ends("/embeddings") || ends("/embed")) {
        Some(Operation::Embed)
    } else if method == Method::GET && ends("/models") {
        Some(Operation::Models)
    } else if method == Method::GET && path.contains("/models/") {
        // The name of a model may contain slashes.
        Some(Operation::Model)
    } else {
        None
    }
}

/// Returns the form of the text as chat completions have it: with a schema in an object of its own. Some clients write the
/// schema beside the type, or without a name.
pub(in crate::protocol) fn text_format(mut format: Fields) -> Value {
    let inner = match format.remove("json_schema") {
        Some(Value::Object(inner)) => inner,
        Some(other) => return json!({ "type": "json_schema", "json_schema": other }),
        None if format.contains_key("schema") => format,
        None => return Value::Object(format),
    };
    let mut schema = inner;
    schema.retain(|name, value| {
        matches!(name.as_str(), "name" | "description" | "strict" | "schema") && !value.is_null()
    });
    schema.entry("name").or_insert_with(|| json!("response"));
    schema.entry("schema").or_insert_with(|| json!({ "type": "object" }));
    json!({ "type": "json_schema", "json_schema": schema })
}

/// Removes settings that are the protocol's defaults and mean the same for every provider. A provider that does not have
/// them would otherwise be a reason for a warning.
pub(in crate::protocol) fn drop_default_settings(request: &mut ChatRequest) {
    request.n = request.n.filter(|count| *count != 1);
    request.top_p = request.top_p.filter(|share| *share != 1.0);
    request.frequency_penalty = request.frequency_penalty.filter(|penalty| *penalty != 0.0);
    request.presence_penalty = request.presence_penalty.filter(|penalty| *penalty != 0.0);
    request.logprobs = request.logprobs.filter(|wanted| *wanted);
    request.parallel_tool_calls = request.parallel_tool_calls.filter(|parallel| !parallel);
    request.logit_bias.take_if(|bias| bias.is_empty());
    request.metadata.take_if(|metadata| metadata.is_empty());
    request.stop.take_if(|stop| stop.as_slice().is_empty());
    request.service_tier.take_if(|tier| matches!(tier.as_str(), "auto" | "default"));
    request.response_format.take_if(|format| *format == ResponseFormat::Text {});
    if request.modalities == ["text"] {
        request.modalities.clear();
    }
    if request.tools.is_empty() {
        request.tool_choice.take_if(|choice| matches!(choice, ToolChoice::Auto | ToolChoice::None));
        request.parallel_tool_calls = None;
    }
}

/// Reads a mark of where the prompt is cached. OpenAI keeps it for half an hour or for twelve hours.
///
/// # Errors
///
/// When it is not an object.
pub(in crate::protocol) fn breakpoint(
    part: &mut Fields,
    path: &str,
) -> Result<Option<CacheControl>> {
    let mark: Option<Fields> = fields::take_in(part, path, "prompt_cache_breakpoint")?;
    Ok(mark.map(|mark| match mark.get("ttl").and_then(Value::as_str) {
        Some("12h") => CacheControl::EphemeralHour,
        _ => CacheControl::Ephemeral,
    }))
}

/// Writes a list of models.
pub(in crate::protocol) fn write_models(models: &[ModelInfo]) -> Bytes {
    let data: Vec<Value> = models.iter().map(model_object).collect();
    to_bytes(&json!({ "object": "list", "data": data }))
}

/// Writes the description of one model.
pub(in crate::protocol) fn write_model(model: &ModelInfo) -> Bytes {
    to_bytes(&model_object(model))
}

fn model_object(model: &ModelInfo) -> Value {
    json!({ "id": model.id, "object": "model", "created": model.created.unwrap_or(0),
            "owned_by": model.owned_by.as_deref().unwrap_or("agentloop") })
}

fn to_bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}
