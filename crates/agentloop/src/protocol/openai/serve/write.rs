//! Writes JSON without building a tree first, for what a stream repeats.

use std::io::Write as _;

use serde_json::{Value, json};

use super::Remembered;
use crate::chat::{Citation, TokenLogprob, UrlCitation, file_citation};
use crate::protocol::serve::Reply;

/// Appends a text as a JSON string.
pub(in crate::protocol) fn string(to: &mut Vec<u8>, text: &str) {
    // Writing into memory does not fail.
    let _ = serde_json::to_writer(to, text);
}

/// Appends a number.
pub(in crate::protocol) fn number(to: &mut Vec<u8>, number: u64) {
    let _ = write!(to, "{number}");
}

/// Appends a value.
pub(in crate::protocol) fn value(to: &mut Vec<u8>, value: &Value) {
    let _ = serde_json::to_writer(to, value);
}

/// Returns the beginning of a text: at most so many bytes, and whole characters.
pub(in crate::protocol) fn beginning(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// Returns tokens with their log probabilities. A number that the provider did not report is the lowest one.
pub(in crate::protocol) fn tokens(tokens: &[TokenLogprob]) -> Value {
    tokens.iter().map(token).collect()
}

fn token(token: &TokenLogprob) -> Value {
    let others: Vec<Value> = token.top_logprobs.iter().map(plain_token).collect();
    let mut wire = plain_token(token);
    wire["top_logprobs"] = Value::Array(others);
    wire
}

fn plain_token(token: &TokenLogprob) -> Value {
    let bytes = token.bytes.as_deref().unwrap_or(token.token.as_bytes());
    json!({ "token": token.token, "logprob": token.logprob.unwrap_or(LOWEST), "bytes": bytes })
}

/// OpenAI's number for a token that is very unlikely.
const LOWEST: f64 = -9999.0;

/// Returns a source of a text as an annotation of Responses. Returns `None` if the protocol has none of its kind.
///
/// Clients require the title and the place in the text. For a client, a source without them has its URL as the title, and
/// supports no characters.
pub(in crate::protocol) fn annotation(citation: &Citation, reply: &Reply) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let mut wire = url_fields(url, reply);
            wire["type"] = json!("url_citation");
            Some(wire)
        }
        // Clients require all of its fields.
        Citation::File(file) if Remembered::of(reply).has_own_words => {
            let maker = file.provider_state.as_deref().map(|state| state.provider.as_str());
            file_citation::annotation(file, maker.unwrap_or_default())
        }
        Citation::File(file) => Some(file_citation::served(file)),
        _ => None,
    }
}

/// Returns a source of a text as an annotation of chat completions.
pub(in crate::protocol) fn chat_annotation(citation: &Citation, reply: &Reply) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let mut fields = url_fields(url, reply);
            if let Some(text) = &url.cited_text {
                fields["content"] = json!(text);
            }
            Some(json!({ "type": "url_citation", "url_citation": fields }))
        }
        // The protocol itself has only pages of the web.
        Citation::File(_) if Remembered::of(reply).has_own_words => None,
        Citation::File(file) => Some(file_citation::served_in_chat(file)),
        _ => None,
    }
}

fn url_fields(url: &UrlCitation, reply: &Reply) -> Value {
    let mut wire = json!({ "url": url.url });
    let (mut title, mut start, mut end) = (url.title.as_deref(), url.start_index, url.end_index);
    if Remembered::of(reply).has_own_words {
        title = title.or(Some(&url.url));
        start = start.or(Some(0));
        end = end.or(start);
    }
    for (name, value) in
        [("title", json!(title)), ("start_index", json!(start)), ("end_index", json!(end))]
    {
        if !value.is_null() {
            wire[name] = value;
        }
    }
    wire
}
