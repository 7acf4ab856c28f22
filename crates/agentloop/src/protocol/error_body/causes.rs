//! The causes inside of an error: the error of an upstream provider, however it is nested.

use serde_json::{Map, Value};

/// How many levels of causes are followed. A cause that is JSON in a string counts as one level.
const MAX_DEPTH: usize = 8;

/// How many words, and how many texts, are kept.
const MAX_KEPT: usize = 32;

/// The longest text of a cause that is kept, in characters.
const MAX_TEXT: usize = 2_000;

/// Fields whose value names a failure.
const WORDS: [&str; 6] = ["code", "type", "status", "reason", "error_type", "error_code"];

/// Fields that hold a message, or a cause with one.
const TEXTS: [&str; 3] = ["message", "msg", "detail"];

/// Fields that hold a cause. OpenRouter: `metadata.raw`, mostly JSON in a string (recording 0e6667c0); Azure:
/// `innererror` (recording 8573df3c); Anthropic and Google: `details`.
const CAUSES: [&str; 9] = [
    "error",
    "errors",
    "metadata",
    "raw",
    "innererror",
    "inner_error",
    "details",
    "cause",
    "upstream_error",
];

/// The text of the causes of an error.
#[derive(Debug, Default)]
pub(super) struct Causes {
    /// Codes, types, status names and reasons.
    pub(super) words: Vec<String>,
    /// Messages.
    pub(super) texts: Vec<String>,
}

impl Causes {
    /// Collects the causes inside of the fields of an error, without the fields' own text.
    pub(super) fn inside(fields: &Map<String, Value>) -> Self {
        let mut causes = Self::default();
        for name in CAUSES {
            if let Some(value) = fields.get(name) {
                causes.add(value, 1);
            }
        }
        causes
    }

    /// Collects the causes in one value.
    pub(super) fn of(value: &Value) -> Self {
        let mut causes = Self::default();
        causes.add(value, 1);
        causes
    }

    fn add(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH || self.words.len() + self.texts.len() >= 2 * MAX_KEPT {
            return;
        }
        match value {
            Value::String(text) => match in_text(text) {
                Some(value) => self.add(&value, depth + 1),
                None => self.text(text),
            },
            Value::Array(list) => {
                list.iter().take(MAX_KEPT).for_each(|value| self.add(value, depth + 1));
            }
            Value::Object(fields) => {
                for name in TEXTS.into_iter().chain(CAUSES) {
                    if let Some(value) = fields.get(name) {
                        self.add(value, depth + 1);
                    }
                }
                for name in WORDS {
                    if let Some(Value::String(word)) = fields.get(name) {
                        self.word(word);
                    }
                }
                // A moderated request of OpenRouter's is known by this field alone.
                if fields.contains_key("flagged_input") {
                    self.word("flagged_input");
                }
            }
            _ => {}
        }
    }

    fn word(&mut self, word: &str) {
        // A sentence in place of a code is a text.
        if word.len() > 100 || word.contains(' ') {
            return self.text(word);
        }
        if !word.is_empty() && self.words.len() < MAX_KEPT {
            self.words.push(word.to_owned());
        }
    }

    fn text(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && self.texts.len() < MAX_KEPT {
            self.texts.push(text.chars().take(MAX_TEXT).collect());
        }
    }
}

/// Returns the object or list that a text holds as JSON.
pub(super) fn in_text(text: &str) -> Option<Value> {
    let text = text.trim();
    let holds_json = text.starts_with(['{', '[']) && text.ends_with(['}', ']']);
    let value: Value = holds_json.then(|| serde_json::from_str(text).ok()).flatten()?;
    (value.is_object() || value.is_array()).then_some(value)
}
