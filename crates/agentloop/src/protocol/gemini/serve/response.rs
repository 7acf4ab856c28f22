//! Writes complete responses.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::written::part;
use crate::chat::{
    ChatResponse, Choice, Citation, FileCitation, FinishReason, Logprobs, ResponsePart,
    TokenLogprob, Usage,
};
pub(super) use crate::protocol::google::serve::{
    error_object, write_error, write_model, write_models,
};

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
    for content in &choice.content {
        let Some(part) = part(content) else { continue };
        if let ResponsePart::Text(text) = content {
            sources.add(parts.len(), &text.text, &text.citations);
        }
        parts.push(part);
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
                    let mut web = json!({ "uri": url.url });
                    if let Some(title) = &url.title {
                        web["title"] = title.as_str().into();
                    }
                    let chunk = json!({ "web": web });
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

/// Returns the response's own word if it is one of the wire's, else the one of the same meaning. The word of another API
/// never reaches the client.
pub(super) fn finish_word(raw: Option<&str>, reason: &FinishReason) -> &'static str {
    const WORDS: [&str; 19] = [
        "STOP",
        "MAX_TOKENS",
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "OTHER",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MALFORMED_FUNCTION_CALL",
        "IMAGE_SAFETY",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "IMAGE_PROHIBITED_CONTENT",
        "NO_IMAGE",
        "IMAGE_RECITATION",
        "IMAGE_OTHER",
        "CONTINUATION",
        "MALFORMED_RESPONSE",
    ];
    let raw = raw.unwrap_or(reason.as_str());
    if let Some(word) = WORDS.iter().find(|word| **word == raw) {
        return word;
    }
    match reason {
        FinishReason::Stop | FinishReason::ToolCalls => "STOP",
        FinishReason::Length => "MAX_TOKENS",
        FinishReason::ContentFilter => "SAFETY",
        FinishReason::Error => "MALFORMED_RESPONSE",
        FinishReason::Other(_) => "OTHER",
    }
}

pub(super) fn write_logprobs(logprobs: &Logprobs) -> Value {
    let token =
        |token: &TokenLogprob| json!({ "token": token.token, "logProbability": token.logprob });
    let chosen: Vec<Value> = logprobs.content.iter().map(token).collect();
    let mut fields = json!({ "chosenCandidates": chosen });
    if logprobs.content.iter().any(|token| !token.top_logprobs.is_empty()) {
        let tops = logprobs.content.iter().map(|chosen| {
            let candidates: Vec<Value> = chosen.top_logprobs.iter().map(token).collect();
            json!({ "candidates": candidates })
        });
        fields["topCandidates"] = tops.collect();
    }
    fields
}

/// Returns the tokens. Thoughts are beside the other output.
pub(super) fn usage(usage: &Usage) -> Value {
    let details = &usage.details;
    let thoughts = details.reasoning_tokens;
    let mut fields = Map::new();
    let sum = || Some(usage.prompt_tokens?.saturating_add(usage.completion_tokens?));
    let numbers = [
        ("promptTokenCount", usage.prompt_tokens),
        (
            "candidatesTokenCount",
            usage.completion_tokens.map(|all| all.saturating_sub(thoughts.unwrap_or(0))),
        ),
        ("totalTokenCount", usage.total_tokens.or_else(sum)),
        ("cachedContentTokenCount", details.cached_tokens),
        ("thoughtsTokenCount", thoughts),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            fields.insert(name.to_owned(), number.into());
        }
    }
    for (name, shares) in [
        ("promptTokensDetails", &details.prompt_tokens_by_modality),
        ("candidatesTokensDetails", &details.completion_tokens_by_modality),
    ] {
        let shares: Vec<Value> = shares
            .iter()
            .map(|(modality, tokens)| json!({ "modality": modality, "tokenCount": tokens }))
            .collect();
        if !shares.is_empty() {
            fields.insert(name.to_owned(), Value::Array(shares));
        }
    }
    Value::Object(fields)
}

/// Writes the body of a token count.
pub(super) fn write_count(tokens: u64) -> Bytes {
    bytes(&json!({ "totalTokens": tokens }))
}
