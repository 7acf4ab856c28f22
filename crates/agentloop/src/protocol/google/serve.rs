//! What servers of both protocols read and write: errors and models.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::error::{Error, ErrorKind};
use crate::models::ModelInfo;
use crate::protocol::serve::Operation;

/// Returns what a call without a body asks for. The list of models shares its path with other APIs: it is Google's under the API's
/// version, or with a key in its header or query.
pub(in crate::protocol) fn models_route(path: &str, headers: &HeaderMap) -> Option<Operation> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = path.trim_end_matches('/');
    let has_key = query.split('&').any(|pair| pair.starts_with("key="));
    if !path.contains("/v1beta") && !headers.contains_key("x-goog-api-key") && !has_key {
        return None;
    }
    if path.ends_with("/models") {
        return Some(Operation::Models);
    }
    path.contains("/models/").then_some(Operation::Model)
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Returns the object of an error.
pub(in crate::protocol) fn error_object(error: &Error) -> Value {
    let status = error.status().filter(|status| *status >= 400).unwrap_or(match error.kind() {
        ErrorKind::InvalidRequest | ErrorKind::ContextLength => 400,
        ErrorKind::Auth => 401,
        ErrorKind::NotFound => 404,
        ErrorKind::RateLimit | ErrorKind::Quota => 429,
        ErrorKind::Overloaded => 503,
        ErrorKind::Timeout => 504,
        _ => 500,
    });
    let word = match status {
        400 | 405 | 413 | 422 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        503 | 529 => "UNAVAILABLE",
        408 | 504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "FAILED_PRECONDITION",
    };
    let mut details = Vec::new();
    if error.kind() == ErrorKind::Auth && status == 400 {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                             "reason": "API_KEY_INVALID" }));
    }
    if let Some(code) = error.code().filter(|code| *code != word) {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                             "reason": code }));
    }
    if let Some(wait) = error.retry_after() {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo",
                             "retryDelay": format!("{}s", wait.as_secs_f64()) }));
    }
    let mut fields = json!({ "code": status, "message": error.message(), "status": word });
    if !details.is_empty() {
        fields["details"] = Value::Array(details);
    }
    json!({ "error": fields })
}

/// Writes the body of a failed call.
pub(in crate::protocol) fn write_error(error: &Error) -> Bytes {
    bytes(&error_object(error))
}

/// Writes the body of a list of models.
pub(in crate::protocol) fn write_models(models: &[ModelInfo]) -> Bytes {
    let list: Vec<Value> = models.iter().map(model_object).collect();
    bytes(&json!({ "models": list }))
}

/// Writes the description of one model.
pub(in crate::protocol) fn write_model(model: &ModelInfo) -> Bytes {
    bytes(&model_object(model))
}

fn model_object(model: &ModelInfo) -> Value {
    let mut fields = json!({
        "name": format!("models/{}", model.id),
        "displayName": model.name.as_deref().unwrap_or(&model.id),
        "version": "",
        "description": "",
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    });
    if let Some(tokens) = model.context_window {
        fields["inputTokenLimit"] = tokens.into();
    }
    if let Some(tokens) = model.max_output_tokens {
        fields["outputTokenLimit"] = tokens.into();
    }
    fields
}
