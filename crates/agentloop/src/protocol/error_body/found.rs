//! The fields of an error in a body, in every known form.

use std::time::Duration;

use serde_json::{Map, Value};

use super::causes::{self, Causes};
use crate::error::Error;
use crate::protocol::classify::{self, Facts};
use crate::protocol::json::read_value;
use crate::protocol::retry_after;

/// The longest plain text that is taken as a message, in bytes.
const MAX_PLAIN_TEXT: usize = 2_000;

/// The fields of an error in a body.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) message: Option<String>,
    code: Option<String>,
    kind: Option<String>,
    param: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) request_id: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// The causes inside of the error.
    causes: Causes,
}

impl Found {
    pub(super) fn in_body(body: &[u8]) -> Self {
        let parsed = read_value(body);
        let is_json = parsed.is_ok();
        let mut value = parsed.unwrap_or_default();
        // Some providers wrap the error in a list of one.
        if let Value::Array(list) = &mut value
            && list.len() == 1
        {
            value = list.remove(0);
        }
        let Value::Object(outer) = &value else {
            // Plain text is the message; HTML is for browsers.
            let text = String::from_utf8_lossy(body);
            let text = text.trim();
            let plain = !is_json
                && !text.is_empty()
                && !text.starts_with('<')
                && text.len() <= MAX_PLAIN_TEXT;
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
        Self::in_fields(inner, outer)
    }

    /// Reads an error that has no wrapper: the value of a field `error`.
    pub(super) fn in_value(error: &Value) -> Self {
        let outer = Map::from_iter([("error".to_owned(), error.clone())]);
        let empty = Map::new();
        Self::in_fields(error.as_object().unwrap_or(&empty), &outer)
    }

    fn in_fields(inner: &Map<String, Value>, outer: &Map<String, Value>) -> Self {
        let values = |name: &str| [inner.get(name), outer.get(name)].into_iter().flatten();
        let word = |name: &str| {
            let mut words = values(name).filter_map(Value::as_str);
            words.find(|word| !word.is_empty()).map(str::to_owned)
        };
        let number = |name: &str| values(name).find_map(Value::as_u64);
        let status = ["status", "status_code", "code", "raw_status_code"]
            .into_iter()
            .filter_map(|name| number(name).or_else(|| word(name)?.parse().ok()))
            .find_map(|number| u16::try_from(number).ok().filter(|s| (400..600).contains(s)));
        let metadata = inner.get("metadata").and_then(Value::as_object);
        let mut causes = Causes::inside(inner);
        if inner.is_empty() {
            causes = Causes::inside(outer);
        }
        let mut found = Self {
            message: message(inner, outer),
            code: word("code").or_else(|| number("code").map(|code| code.to_string())),
            kind: word("type")
                .filter(|kind| kind != "error")
                .or_else(|| word("status"))
                .or_else(|| word("error_type"))
                .or_else(|| Some(metadata?.get("error_type")?.as_str()?.to_owned())),
            param: word("param").or_else(|| violated_field(inner.get("details"))),
            status,
            request_id: word("request_id"),
            retry_after: retry_after::from_details(inner.get("details"))
                .or_else(|| retry_after::from_listed_resets(metadata?.get("headers"))),
            causes,
        };
        // A message that is JSON is the error of another server, passed on.
        if let Some(value) = found.message.as_deref().and_then(causes::in_text) {
            let passed_on = Causes::of(&value);
            found.message = passed_on.texts.first().cloned().or(found.message);
            found.causes.words.extend(passed_on.words);
            found.causes.texts.extend(passed_on.texts);
        }
        if let Some(cause) = upstream(inner) {
            let name = metadata.and_then(|fields| fields.get("provider_name")?.as_str());
            found.message = Some(with_cause(found.message.as_deref(), name, &cause));
        }
        found
    }

    /// Returns the words that name the error: its own first, then those of its causes.
    pub(super) fn words(&self) -> Vec<String> {
        let own = [&self.code, &self.kind].into_iter().flatten();
        let mut words: Vec<String> = own.chain(&self.causes.words).cloned().collect();
        // OpenRouter's `error_type` of this name is a message of a wrong form, OpenAI's code a prompt that was refused.
        if self.code.as_deref() != Some("invalid_prompt") {
            words.retain(|word| word != "invalid_prompt");
        }
        words
    }

    pub(super) fn error(
        &self,
        provider: &str,
        status: Option<u16>,
        message: String,
        body: &[u8],
    ) -> Error {
        let words = self.words();
        let texts: Vec<String> =
            std::iter::once(&message).chain(&self.causes.texts).cloned().collect();
        let (kind, decisive) = classify::classify(&Facts { status, words: &words, texts: &texts });
        let mut error = Error::new(kind, message).with_provider(provider).with_raw(body);
        if let Some(status) = status {
            error = error.with_status(status);
        }
        if let Some(param) = &self.param {
            error = error.with_param(param);
        }
        // A code that only repeats the status has no meaning of its own.
        let repeats = |code: &&str| code.parse::<u16>().is_ok_and(|code| status == Some(code));
        let cause = self.causes.words.first().map(String::as_str);
        let codes = [self.code.as_deref(), decisive, self.kind.as_deref(), cause];
        if let Some(code) = codes.into_iter().flatten().find(|code| !repeats(code)) {
            error = error.with_code(code);
        }
        match classify::hint(kind, status) {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// Returns the message of the provider behind this one.
fn upstream(inner: &Map<String, Value>) -> Option<String> {
    let raw = inner.get("metadata").and_then(|metadata| metadata.get("raw"));
    let places = [raw, inner.get("innererror"), inner.get("cause"), inner.get("upstream_error")];
    places.into_iter().flatten().find_map(|value| Causes::of(value).texts.into_iter().next())
}

/// Joins a router's message with that of the provider behind it.
fn with_cause(message: Option<&str>, name: Option<&str>, cause: &str) -> String {
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    match message {
        Some(message) if message.contains(cause) => message.to_owned(),
        Some(message) => format!("{message}{name}: {cause}"),
        None => cause.to_owned(),
    }
}

/// Returns the first field that Google's `BadRequest` detail names.
fn violated_field(details: Option<&Value>) -> Option<String> {
    let mut violations = details?
        .as_array()?
        .iter()
        .filter_map(|detail| detail.get("fieldViolations")?.as_array())
        .flatten();
    let field = violations.find_map(|violation| violation.get("field")?.as_str())?;
    Some(field.to_owned()).filter(|field| !field.is_empty())
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
    places.into_iter().flatten().find_map(text_of).or_else(|| {
        // An error object that has no known field is still better than nothing.
        (!inner.is_empty()).then(|| Value::Object(inner.clone()).to_string())
    })
}

/// Returns the text of a message in any form: a text, a list of messages, an object with a message.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        Value::Array(list) => {
            let all: Vec<String> = list.iter().filter_map(text_of).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        Value::Object(fields) => {
            let text = ["msg", "message", "detail", "error"]
                .into_iter()
                .filter_map(|name| fields.get(name))
                .find_map(text_of)?;
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
