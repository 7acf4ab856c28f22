//! Writes complete responses.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use crate::chat::{
    ChatResponse, Choice, Citation, CodeOutcome, FileCitation, FinishReason, Logprobs,
    ResponsePart, Usage,
};
use crate::error::{Error, ErrorKind};
use crate::models::ModelInfo;

fn bytes(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

/// Writes the body of a complete response.
pub(super) fn write_body(response: &ChatResponse) -> Bytes {
    let candidates: Vec<Value> = response.choices.iter().map(candidate).collect();
    let mut body = json!({
        "candidates": candidates,
        "modelVersion": response.model,
        "responseId": response.id,
    });
    if !response.usage.is_empty() {
        body["usageMetadata"] = usage(&response.usage);
    }
    bytes(&body)
}

fn candidate(choice: &Choice) -> Value {
    let mut sources = Sources::default();
    let mut parts = Vec::new();
    for (at, content) in choice.content.iter().enumerate() {
        if let ResponsePart::Text(text) = content {
            sources.add(at, &text.text, &text.citations);
        }
        parts.push(part(content));
    }
    let mut fields = json!({
        "content": { "parts": parts, "role": "model" },
        "finishReason": finish_word(choice.raw_finish_reason.as_deref(), &choice.finish_reason),
        "index": choice.index,
    });
    if let Some(logprobs) = &choice.logprobs {
        fields["logprobsResult"] = write_logprobs(logprobs);
    }
    if let Some(metadata) = sources.metadata() {
        fields["groundingMetadata"] = metadata;
    }
    fields
}

pub(super) fn part(part: &ResponsePart) -> Value {
    let mut fields = match part {
        ResponsePart::Text(text) => json!({ "text": text.text }),
        ResponsePart::Thinking(thoughts) => json!({ "text": thoughts.thinking, "thought": true }),
        ResponsePart::ToolCall(call) => {
            let args: Value = call.parse().unwrap_or_else(|_| json!({}));
            let id = part.provider_state().and_then(|state| state.data.get("id"));
            let mut fields = json!({ "name": call.name, "args": args });
            fields["id"] = id.cloned().unwrap_or_else(|| call.id.as_str().into());
            json!({ "functionCall": fields })
        }
        ResponsePart::Image(image) => blob(&image.mime_type, &image.data, image.url.as_deref()),
        ResponsePart::Audio(audio) => blob(&audio.mime_type, &audio.data, None),
        ResponsePart::File(file) => blob(&file.mime_type, &file.data, file.url.as_deref()),
        ResponsePart::CodeExecution(code) => json!({ "executableCode": {
            "id": code.id, "language": code.language.to_ascii_uppercase(), "code": code.code,
        } }),
        ResponsePart::CodeResult(result) => {
            let outcome = match result.outcome {
                CodeOutcome::Ok => "OUTCOME_OK",
                CodeOutcome::Error => "OUTCOME_FAILED",
                CodeOutcome::Timeout => "OUTCOME_DEADLINE_EXCEEDED",
                CodeOutcome::Unknown => "OUTCOME_UNSPECIFIED",
            };
            json!({ "codeExecutionResult": {
                "id": result.id, "outcome": outcome, "output": result.output,
            } })
        }
        ResponsePart::ServerToolCall(call) => json!({ "toolCall": {
            "id": call.id, "toolType": call.name, "args": call.arguments,
        } }),
        ResponsePart::ServerToolResult(result) => json!({ "toolResponse": {
            "id": result.tool_call_id, "response": result.content,
        } }),
        ResponsePart::Opaque(opaque) => opaque.data.clone(),
        ResponsePart::RedactedThinking(_) => json!({ "text": "", "thought": true }),
    };
    let signature = part.provider_state().and_then(|state| state.data.get("thoughtSignature"));
    if let Some(signature) = signature {
        fields["thoughtSignature"] = signature.clone();
    }
    fields
}

fn blob(mime_type: &str, data: &str, url: Option<&str>) -> Value {
    match url {
        Some(url) if data.is_empty() => {
            json!({ "fileData": { "mimeType": mime_type, "fileUri": url } })
        }
        _ => json!({ "inlineData": { "mimeType": mime_type, "data": data } }),
    }
}

/// The sources of a response's texts.
#[derive(Debug, Default)]
pub(super) struct Sources {
    chunks: Vec<Value>,
    supports: Vec<Value>,
    /// The finished texts of a stream by part: sources that come later count their bytes.
    pub(super) texts: BTreeMap<u32, String>,
}

impl Sources {
    pub(super) fn add<'a>(
        &mut self,
        part: usize,
        text: &str,
        citations: impl IntoIterator<Item = &'a Citation>,
    ) {
        let byte = |at: u64| -> u64 {
            let letters = usize::try_from(at).unwrap_or(usize::MAX);
            text.chars().take(letters).map(|letter| letter.len_utf8() as u64).sum()
        };
        for citation in citations {
            let (cited, start, end, chunk) = match citation {
                Citation::Url(url) => {
                    let chunk = json!({ "web": { "uri": url.url, "title": url.title } });
                    (url.cited_text.as_deref(), url.start_index, url.end_index, chunk)
                }
                Citation::File(file) => (None, file.start_index, file.end_index, document(file)),
                _ => continue,
            };
            let mut segment = json!({ "partIndex": part });
            if let Some(text) = cited {
                segment["text"] = text.into();
            }
            if let Some(start) = start {
                segment["startIndex"] = byte(start).into();
            }
            if let Some(end) = end {
                segment["endIndex"] = byte(end).into();
            }
            self.supports
                .push(json!({ "segment": segment, "groundingChunkIndices": [self.chunks.len()] }));
            self.chunks.push(chunk);
        }
    }

    pub(super) fn metadata(&self) -> Option<Value> {
        (!self.chunks.is_empty())
            .then(|| json!({ "groundingChunks": self.chunks, "groundingSupports": self.supports }))
    }
}

/// Writes a document of a file search.
fn document(file: &FileCitation) -> Value {
    let state = file.provider_state.as_deref().and_then(|state| state.data.get("retrievedContext"));
    let mut source = state.and_then(Value::as_object).cloned().unwrap_or_default();
    for (name, word) in [
        ("documentName", &file.file_id),
        ("title", &file.filename),
        ("fileSearchStore", &file.container_id),
        ("text", &file.cited_text),
    ] {
        if let Some(word) = word {
            source.insert(name.to_owned(), word.as_str().into());
        }
    }
    json!({ "retrievedContext": source })
}

/// Returns the provider's own word if it is one of this wire's, which are all in capitals.
pub(super) fn finish_word(raw: Option<&str>, reason: &FinishReason) -> String {
    let is_ours = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    if let Some(raw) = raw.filter(is_ours) {
        return raw.to_owned();
    }
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls => "STOP".to_owned(),
        FinishReason::Length => "MAX_TOKENS".to_owned(),
        FinishReason::ContentFilter => "SAFETY".to_owned(),
        FinishReason::Error => "MALFORMED_RESPONSE".to_owned(),
        FinishReason::Other(word) => word.clone(),
    }
}

pub(super) fn write_logprobs(logprobs: &Logprobs) -> Value {
    let chosen: Vec<Value> = logprobs
        .content
        .iter()
        .map(|token| json!({ "token": token.token, "logProbability": token.logprob }))
        .collect();
    json!({ "chosenCandidates": chosen })
}

pub(super) fn usage(usage: &Usage) -> Value {
    let thoughts = usage.details.reasoning_tokens;
    let mut fields = Map::new();
    let numbers = [
        ("promptTokenCount", usage.prompt_tokens),
        (
            "candidatesTokenCount",
            usage.completion_tokens.map(|all| all.saturating_sub(thoughts.unwrap_or(0))),
        ),
        ("thoughtsTokenCount", thoughts),
        ("cachedContentTokenCount", usage.details.cached_tokens),
        ("totalTokenCount", usage.total_tokens),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            fields.insert(name.to_owned(), number.into());
        }
    }
    Value::Object(fields)
}

pub(super) fn error_object(error: &Error) -> Value {
    let status = error.status().unwrap_or(500);
    let word = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "FAILED_PRECONDITION",
    };
    let mut details = Vec::new();
    if error.kind() == ErrorKind::Auth && status == 400 {
        details.push(json!({ "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                             "reason": "API_KEY_INVALID" }));
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
pub(super) fn write_error(error: &Error) -> Bytes {
    bytes(&error_object(error))
}

/// Writes the body of a list of models.
pub(super) fn write_models(models: &[ModelInfo]) -> Bytes {
    let list: Vec<Value> = models.iter().map(model_object).collect();
    bytes(&json!({ "models": list }))
}

/// Writes the description of one model.
pub(super) fn write_model(model: &ModelInfo) -> Bytes {
    bytes(&model_object(model))
}

fn model_object(model: &ModelInfo) -> Value {
    let mut fields = json!({ "name": format!("models/{}", model.id) });
    fields["displayName"] = model.name.as_deref().unwrap_or(&model.id).into();
    if let Some(tokens) = model.context_window {
        fields["inputTokenLimit"] = tokens.into();
    }
    if let Some(tokens) = model.max_output_tokens {
        fields["outputTokenLimit"] = tokens.into();
    }
    fields
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    bytes(&json!({ "totalTokens": tokens }))
}
