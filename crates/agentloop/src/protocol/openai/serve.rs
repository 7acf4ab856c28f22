//! The server's side of the calls that both protocols share.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::error::{Error, ErrorKind, Result};
use crate::models::ModelInfo;
use crate::protocol::serve::{ServedEmbed, VectorForm, refused};

/// Reads an embeddings request in the form that its path names.
///
/// # Errors
///
/// When the body is not a JSON object, when a known field cannot be read, or when a required field is missing.
pub(in crate::protocol) fn read_embed(path: &str, body: &[u8]) -> Result<ServedEmbed> {
    let mut fields: Map<String, Value> = serde_json::from_slice(body).map_err(refused)?;
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let form = if path.ends_with("/api/embed") {
        VectorForm::Bare
    } else if path.ends_with("/embed") {
        if !fields.contains_key("input_type") {
            return Err(missing("input_type"));
        }
        let texts = fields.remove("texts").ok_or_else(|| missing("texts"))?;
        fields.insert("input".to_owned(), texts);
        VectorForm::ByType
    } else {
        match fields.get("encoding_format").and_then(Value::as_str) {
            Some("base64") => VectorForm::ListedBase64,
            Some("base64_int8") => VectorForm::ListedInt8,
            _ => VectorForm::Listed,
        }
    };
    // Some clients use another name for the length of the vectors.
    if let Some(dimensions) = fields.remove("output_dimension") {
        fields.entry("dimensions").or_insert(dimensions);
    }
    fields.retain(|name, _| ["model", "input", "dimensions", "user"].contains(&name.as_str()));
    let request = serde_json::from_value(Value::Object(fields)).map_err(refused)?;
    Ok(ServedEmbed { request, form })
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("`{name}` is required")).with_status(400)
}

/// Writes an error as an object.
pub(in crate::protocol) fn error_object(error: &Error) -> Value {
    json!({ "error": {
        "message": error.message(),
        "type": error.kind().as_str(),
        "code": error.code(),
        "param": Value::Null,
    } })
}

/// Writes the body of a failed call.
pub(in crate::protocol) fn write_error(error: &Error) -> Bytes {
    to_bytes(&error_object(error))
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
