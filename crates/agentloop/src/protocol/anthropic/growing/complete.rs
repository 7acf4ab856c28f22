//! Blocks that come whole: images, encrypted thoughts, and what the provider's own tools gave back.

use serde_json::{Map, Value};

use crate::chat::{
    CodeOutcome, CodeResultPart, ImagePart, OpaquePart, ProviderState, RedactedThinkingPart,
    ResponsePart, ServerToolResultPart,
};

/// Returns the language of the provider's own tools that run code.
pub(in crate::protocol::anthropic) fn language(tool: &str) -> Option<&'static str> {
    match tool {
        "code_execution" => Some("python"),
        "bash_code_execution" => Some("bash"),
        "text_editor_code_execution" => Some("text_editor"),
        _ => None,
    }
}

/// Returns an image, in the form that requests have for it: no model of today draws, gateways do.
pub(in crate::protocol::anthropic) fn image(fields: &Map<String, Value>) -> Option<ImagePart> {
    let source = fields.get("source")?;
    let text = |name: &str| source.get(name).and_then(Value::as_str).map(str::to_owned);
    match (text("media_type"), text("data"), text("url")) {
        (Some(mime_type), Some(data), _) => {
            Some(ImagePart { mime_type, data, ..ImagePart::default() })
        }
        // The kind is not known before the image is fetched, and is not guessed.
        (_, _, Some(url)) => Some(ImagePart {
            mime_type: "image/*".to_owned(),
            url: Some(url),
            ..ImagePart::default()
        }),
        _ => None,
    }
}

/// Returns a block that has no deltas.
pub(in crate::protocol::anthropic) fn whole(
    mut fields: Map<String, Value>,
    provider: &str,
) -> ResponsePart {
    let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let kind = word("type").to_owned();
    if kind == "redacted_thinking" {
        let data = word("data").to_owned();
        return ResponsePart::RedactedThinking(RedactedThinkingPart { data, provider_state: None });
    }
    let id = word("tool_use_id").to_owned();
    if id.is_empty() {
        // A result of nothing that is known.
        let provider = provider.to_owned();
        return ResponsePart::Opaque(OpaquePart { provider, kind, data: Value::Object(fields) });
    }
    let is_code = kind.strip_suffix("_tool_result").and_then(language).is_some();
    if is_code {
        let mut result = code_result(fields.get("content").unwrap_or(&Value::Null));
        result.id = Some(id);
        let state = ProviderState::new(provider, Value::Object(fields));
        result.provider_state = Some(Box::new(state));
        return ResponsePart::CodeResult(result);
    }
    let content = fields.remove("content").unwrap_or_default();
    let failed = fields.get("is_error").and_then(Value::as_bool) == Some(true);
    let is_error = failed || is_error(&content);
    fields.remove("tool_use_id");
    let state = ProviderState::new(provider, Value::Object(fields));
    ResponsePart::ServerToolResult(ServerToolResultPart {
        tool_call_id: id,
        content,
        is_error,
        provider_state: Some(Box::new(state)),
    })
}

fn is_error(content: &Value) -> bool {
    let kind = content.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.ends_with("_error"))
}

/// Returns what a run of code left, in all the forms that there are.
fn code_result(content: &Value) -> CodeResultPart {
    let text = |name: &str| content.get(name).and_then(Value::as_str).unwrap_or_default();
    if is_error(content) {
        let timed_out = text("error_code") == "execution_time_exceeded";
        let words = Some(text("error_message")).filter(|words| !words.is_empty());
        return CodeResultPart {
            outcome: if timed_out { CodeOutcome::Timeout } else { CodeOutcome::Error },
            output: words.unwrap_or(text("error_code")).to_owned(),
            ..CodeResultPart::default()
        };
    }
    let exit_code = content.get("return_code").and_then(Value::as_i64);
    let failed = exit_code.is_some_and(|code| code != 0);
    let stderr = Some(text("stderr")).filter(|text| !text.is_empty());
    let output = match (content.get("content"), content.get("lines")) {
        // A file that was looked at, or the lines that were changed.
        (Some(Value::String(shown)), _) => shown.clone(),
        (_, Some(Value::Array(lines))) => {
            lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
        }
        _ => stderr.filter(|_| failed).unwrap_or(text("stdout")).to_owned(),
    };
    let files = match content.get("content") {
        Some(Value::Array(files)) => files
            .iter()
            .filter_map(|file| file.get("file_id")?.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    };
    CodeResultPart {
        outcome: if failed { CodeOutcome::Error } else { CodeOutcome::Ok },
        output,
        stderr: stderr.map(str::to_owned),
        exit_code,
        files,
        ..CodeResultPart::default()
    }
}
