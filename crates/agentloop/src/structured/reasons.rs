//! Describes to a model why a value does not match a schema.

use jsonschema::Validator;
use serde_json::Value;

use super::work::Work;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_SCHEMA_CHECKS;

/// The most reasons that are reported to the model.
const MAX_REASONS: usize = 8;

/// The most characters of one reason.
const MAX_REASON_CHARS: usize = 300;

/// Checks values against a schema and reports why one does not match.
pub(crate) struct Matcher {
    validator: Validator,
    work: Work,
}

impl Matcher {
    /// Compiles a schema. `whose` names it in the error if it is not valid.
    pub(crate) fn new(whose: &str, schema: &Value) -> Result<Self> {
        let validator = jsonschema::validator_for(schema).map_err(|error| {
            let place = place(&error.instance_path().to_string());
            let message = format!("{whose} is not a valid JSON Schema, at {place}: {error}");
            Error::new(ErrorKind::InvalidRequest, message)
        })?;
        Ok(Self { validator, work: Work::new(schema) })
    }

    /// Returns the schema as the caller gave it.
    #[cfg(feature = "agent")]
    pub(crate) fn schema(&self) -> &Value {
        self.work.schema()
    }

    /// Returns whether the value matches. A value that takes more than
    /// [`MAX_SCHEMA_CHECKS`](crate::limits::MAX_SCHEMA_CHECKS) steps to check does not match.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        self.work.is_bounded(value) && self.validator.is_valid(value)
    }

    /// Returns the first reasons why a value does not match, each with its JSON pointer.
    pub(crate) fn reasons(&self, value: &Value) -> String {
        if !self.work.is_bounded(value) {
            return format!("checking it takes more than {MAX_SCHEMA_CHECKS} steps");
        }
        let reasons: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_REASONS)
            .map(|error| {
                let place = place(&error.instance_path().to_string());
                shorten(format!("{place}: {error}"))
            })
            .collect();
        reasons.join("; ")
    }
}

fn place(path: &str) -> String {
    if path.is_empty() { "/".to_owned() } else { path.to_owned() }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(MAX_REASON_CHARS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
