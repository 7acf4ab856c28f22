//! Reads embeddings requests.

use serde_json::Value;

use super::fields::{self, invalid, take};
use crate::chat::EmbedRequest;
use crate::error::Result;
use crate::protocol::serve::{ServedEmbed, VectorForm};

/// Reads an embeddings request in the form that its path names.
///
/// # Errors
///
/// When the body is not a JSON object, when a known field cannot be read, or when a required field is missing.
pub(in crate::protocol) fn read_embed(path: &str, body: &[u8]) -> Result<ServedEmbed> {
    let mut fields = fields::body(body)?;
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let form = if path.ends_with("/api/embed") {
        VectorForm::Bare
    } else if path.ends_with("/embed") {
        if !fields.contains_key("input_type") {
            return Err(invalid("input_type", "it is required"));
        }
        let texts = fields.remove("texts").ok_or_else(|| invalid("texts", "it is required"))?;
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
    let input = match fields.remove("input") {
        None | Some(Value::Null) => return Err(invalid("input", "it is required")),
        Some(input) => serde_json::from_value(input)
            .map_err(|_| invalid("input", "expected a text or a list of texts"))?,
    };
    let request = EmbedRequest {
        model: take(&mut fields, "model")?.unwrap_or_default(),
        input,
        dimensions: take(&mut fields, "dimensions")?,
        user_id: take(&mut fields, "user")?,
        ..EmbedRequest::default()
    };
    Ok(ServedEmbed { request, form })
}
