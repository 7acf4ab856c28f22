//! Finds what an error says, in every known body.

use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

use super::classify::{self, Facts};
use super::{request_id, retry_after};
use crate::error::{Error, ErrorKind};

/// The error of an answer whose status says that the call failed.
pub(crate) fn of_status(provider: &str, status: u16, headers: &HeaderMap, body: &[u8]) -> Error {
    let found = Found::in_body(body);
    let message = found.message.clone().unwrap_or_else(|| status_text(status));
    let mut error = found.error(provider, Some(status), message, body);
    if let Some(told) = headers.get("x-should-retry").and_then(|told| told.to_str().ok()) {
        match told {
            "true" => error = error.with_retryable(true),
            "false" => error = error.with_retryable(false),
            _ => {}
        }
    }
    let reset = || retry_after::from_resets(headers).filter(|_| status == 429);
    let wait = retry_after::from_headers(headers).or(found.retry_after).or_else(reset);
    error.with_retry_after(wait).with_request_id(request_id(headers).or(found.request_id))
}

/// The error that stands inside an answer of status 200.
pub(crate) fn in_answer(provider: &str, body: &[u8]) -> Error {
    let found = Found::in_body(body);
    let status = found.status.or_else(|| classify::status_of_words(&found.words()));
    let message =
        found.message.clone().unwrap_or_else(|| "the answer is an error without words".to_owned());
    let error = found.error(provider, status, message, body);
    error.with_retry_after(found.retry_after).with_request_id(found.request_id)
}

/// Whether the body is an error that lacks the usual wrapper.
pub(crate) fn is_bare_error(body: &[u8]) -> bool {
    let Ok(Value::Object(fields)) = serde_json::from_slice(body) else {
        return false;
    };
    let says_so = |name: &str| fields.get(name).and_then(Value::as_str) == Some("error");
    says_so("object")
        || says_so("type")
        || fields.contains_key("detail")
        || fields.contains_key("errors")
        || (fields.contains_key("message") && !fields.contains_key("choices"))
}

/// Whether the body is a list of one error.
pub(crate) fn is_listed_error(body: &[u8]) -> bool {
    let list: Vec<Map<String, Value>> = serde_json::from_slice(body).unwrap_or_default();
    matches!(&list[..], [only] if only.contains_key("error") || only.contains_key("message"))
}

/// What is wrong with an answer that is a list: none is. An error may be, of one element.
pub(crate) fn of_list(provider: &str, data: &[u8]) -> Error {
    if is_listed_error(data) {
        return in_answer(provider, data);
    }
    Error::new(ErrorKind::Protocol, "the answer is a list, which no answer is").with_raw(data)
}

/// The stream ended before it said that it was done.
pub(crate) fn cut_off(began: bool) -> Error {
    let message = match began {
        true => "the stream ended before the answer did",
        false => "the stream is empty",
    };
    Error::new(ErrorKind::IncompleteStream, message)
}

/// What a body says of an error.
#[derive(Debug, Default)]
struct Found {
    message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    status: Option<u16>,
    request_id: Option<String>,
    retry_after: Option<std::time::Duration>,
}

impl Found {
    fn in_body(body: &[u8]) -> Self {
        let parsed = serde_json::from_slice::<Value>(body);
        let is_json = parsed.is_ok();
        let mut value = parsed.unwrap_or_default();
        // Some hosts wrap the error in a list of one.
        if let Value::Array(list) = &mut value
            && list.len() == 1
        {
            value = list.remove(0);
        }
        let Value::Object(outer) = &value else {
            // Plain text is the message; HTML is for browsers.
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            let plain =
                !is_json && !text.is_empty() && !text.starts_with('<') && text.len() <= 2_000;
            return Self {
                message: match value {
                    Value::String(text) => Some(text).filter(|text| !text.trim().is_empty()),
                    _ if plain => Some(text.to_owned()),
                    _ => None,
                },
                ..Self::default()
            };
        };
        let empty = Map::new();
        let inner = outer.get("error").and_then(Value::as_object).unwrap_or(&empty);
        let word = |name: &str| {
            [inner.get(name), outer.get(name)].into_iter().flatten().find_map(|value| match value {
                Value::String(word) if !word.is_empty() => Some(word.clone()),
                _ => None,
            })
        };
        let number = |name: &str| {
            [inner.get(name), outer.get(name)].into_iter().flatten().find_map(Value::as_u64)
        };
        let status = ["status", "status_code", "code", "raw_status_code"]
            .into_iter()
            .filter_map(|name| number(name).or_else(|| word(name)?.parse().ok()))
            .find_map(|number| u16::try_from(number).ok().filter(|s| (400..600).contains(s)));
        Self {
            message: message(inner, outer),
            code: word("code").or_else(|| number("code").map(|code| code.to_string())),
            kind: word("type")
                .filter(|kind| kind != "error")
                .or_else(|| word("status"))
                .or_else(|| nested_word(inner, &["metadata", "error_type"])),
            status,
            request_id: word("request_id"),
            retry_after: retry_after::from_details(inner.get("details"))
                .or_else(|| retry_after::from_listed_resets(inner.get("metadata")?.get("headers"))),
        }
    }

    fn words(&self) -> Vec<&str> {
        [&self.code, &self.kind].into_iter().flatten().map(String::as_str).collect()
    }

    fn error(&self, provider: &str, status: Option<u16>, message: String, body: &[u8]) -> Error {
        let words = self.words();
        let (kind, retryable) =
            classify::classify(&Facts { status, words: &words, message: &message });
        let mut error = Error::new(kind, message)
            .with_provider(provider)
            .with_retryable(retryable)
            .with_raw(body);
        if let Some(status) = status {
            error = error.with_status(status);
        }
        // A code that only repeats the status says nothing.
        let repeats = |code: &&String| status.is_some_and(|status| **code == status.to_string());
        let code = self.code.as_ref().filter(|code| !repeats(code)).or(self.kind.as_ref());
        if let Some(code) = code {
            error = error.with_code(code);
        }
        match classify::hint(kind) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

fn nested_word(fields: &Map<String, Value>, path: &[&str]) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let mut value = fields.get(*first)?;
    for name in rest {
        value = value.get(name)?;
    }
    value.as_str().map(str::to_owned)
}

fn message(inner: &Map<String, Value>, outer: &Map<String, Value>) -> Option<String> {
    let places = [
        inner.get("message"),
        outer.get("error"),
        outer.get("message"),
        outer.get("detail"),
        outer.get("errors"),
        inner.get("detail"),
        outer.get("title"),
    ];
    places.into_iter().flatten().find_map(words_of).or_else(|| {
        // An error object that has no known field is still better than nothing.
        (!inner.is_empty()).then(|| Value::Object(inner.clone()).to_string())
    })
}

/// The words of a message in whatever form: text, a list of complaints, an object around one.
fn words_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().filter_map(words_of).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        Value::Object(fields) => {
            let text = ["msg", "message", "detail", "error"]
                .into_iter()
                .filter_map(|name| fields.get(name))
                .find_map(words_of)?;
            match fields.get("loc").and_then(Value::as_array) {
                Some(path) => {
                    let path: Vec<String> = path
                        .iter()
                        .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned))
                        .collect();
                    Some(format!("{}: {text}", path.join(".")))
                }
                None => Some(text),
            }
        }
        _ => None,
    }
}

fn status_text(status: u16) -> String {
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason());
    reason.map_or_else(|| format!("status {status}"), str::to_owned)
}

#[cfg(test)]
#[path = "error_body_tests.rs"]
mod tests;
