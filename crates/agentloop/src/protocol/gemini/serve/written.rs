//! Writes the parts of responses.

use serde_json::{Value, json};

use crate::chat::{CodeOutcome, ProviderState, ResponsePart};
use crate::protocol::is_step;

/// Returns a part, with its signature; none for what the wire has no part for.
pub(super) fn part(part: &ResponsePart) -> Option<Value> {
    let signature = signature(part);
    let mut fields = match part {
        ResponsePart::Text(text) => json!({ "text": text.text }),
        ResponsePart::Thinking(thoughts) => json!({ "text": thoughts.thinking, "thought": true }),
        // It is there only for its signature.
        ResponsePart::RedactedThinking(_) => {
            signature?;
            json!({ "text": "", "thought": true })
        }
        ResponsePart::ToolCall(call) => {
            let args = match call.parse::<Value>() {
                Ok(Value::Object(args)) => Value::Object(args),
                Ok(Value::Null) => json!({}),
                // The wire has only objects. This is the form in which such arguments are sent back.
                Ok(other) => json!({ "arguments": other }),
                Err(_) => json!({ "arguments": call.arguments }),
            };
            json!({ "functionCall": { "id": call.id, "name": call.name, "args": args } })
        }
        ResponsePart::Image(image) => blob(&image.mime_type, &image.data, image.url.as_deref()),
        ResponsePart::Audio(audio) => blob(&audio.mime_type, &audio.data, None),
        ResponsePart::File(file) => blob(&file.mime_type, &file.data, file.url.as_deref()),
        ResponsePart::CodeExecution(code) => {
            let language = match code.language.to_ascii_lowercase().as_str() {
                "python" => "PYTHON",
                _ => "LANGUAGE_UNSPECIFIED",
            };
            let fields = json!({ "language": language, "code": code.code });
            json!({ "executableCode": with_id(fields, code.id.as_deref()) })
        }
        ResponsePart::CodeResult(result) => {
            let outcome = match result.outcome {
                CodeOutcome::Ok => "OUTCOME_OK",
                CodeOutcome::Error => "OUTCOME_FAILED",
                CodeOutcome::Timeout => "OUTCOME_DEADLINE_EXCEEDED",
                CodeOutcome::Unknown => "OUTCOME_UNSPECIFIED",
            };
            let fields = json!({ "outcome": outcome, "output": result.output });
            json!({ "codeExecutionResult": with_id(fields, result.id.as_deref()) })
        }
        ResponsePart::ServerToolCall(call) => {
            let kind = tool_type(part.provider_state(), &call.name)?;
            let fields = json!({ "toolType": kind, "args": call.arguments });
            json!({ "toolCall": with_id(fields, Some(&call.id)) })
        }
        ResponsePart::ServerToolResult(result) => {
            let kind = tool_type(part.provider_state(), "")?;
            let fields = json!({ "toolType": kind, "response": result.content });
            json!({ "toolResponse": with_id(fields, Some(&result.tool_call_id)) })
        }
        // Other APIs name the kind of an item in its `type`.
        ResponsePart::Opaque(opaque) => match &opaque.data {
            Value::Object(fields) if !fields.contains_key("type") && !is_step(&opaque.data) => {
                opaque.data.clone()
            }
            _ => return None,
        },
    };
    if let Some(signature) = signature {
        fields["thoughtSignature"] = signature.clone();
    }
    Some(fields)
}

/// Returns the signature of a part, exactly as its provider sent it.
pub(super) fn signature(part: &ResponsePart) -> Option<&Value> {
    let signature = part.provider_state()?.data.get("thoughtSignature")?;
    signature.is_string().then_some(signature)
}

fn with_id(mut fields: Value, id: Option<&str>) -> Value {
    if let Some(id) = id.filter(|id| !id.is_empty()) {
        fields["id"] = id.into();
    }
    fields
}

/// Returns the wire's word for a tool that a provider ran, or `None` if it has none.
fn tool_type(state: Option<&ProviderState>, name: &str) -> Option<String> {
    if let Some(own) = state.and_then(|state| state.data.get("toolType")?.as_str()) {
        return Some(own.to_owned());
    }
    let is_own =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_own.then(|| name.to_owned())
}

fn blob(mime_type: &str, data: &str, url: Option<&str>) -> Value {
    match url {
        Some(url) if data.is_empty() => {
            json!({ "fileData": { "mimeType": mime_type, "fileUri": url } })
        }
        _ => json!({ "inlineData": { "mimeType": mime_type, "data": data } }),
    }
}
