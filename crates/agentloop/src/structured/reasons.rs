//! Why a value does not match a schema, for a model to read.

use jsonschema::Validator;
use serde_json::Value;

use super::work::Work;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_SCHEMA_CHECKS;

/// How many reasons are told to the model.
const MAX_REASONS: usize = 8;

/// The longest reason that is told.
const MAX_REASON_CHARS: usize = 300;

/// Checks values against a schema, and says why one does not match.
pub(crate) struct Matcher {
    validator: Validator,
    work: Work,
}

impl Matcher {
    /// Compiles a schema, which the error calls `whose` if it is not one.
    pub(crate) fn new(whose: &str, schema: &Value) -> Result<Self> {
        let validator = jsonschema::validator_for(schema).map_err(|error| {
            let place = place(&error.instance_path().to_string());
            let message = format!("{whose} cannot be used, at {place}: {error}");
            Error::new(ErrorKind::InvalidRequest, message)
        })?;
        Ok(Self { validator, work: Work::new(schema) })
    }

    /// Returns the schema as it was given.
    #[cfg(feature = "agent")]
    pub(crate) fn schema(&self) -> &Value {
        self.work.schema()
    }

    /// Returns whether the value matches. One that would take more than
    /// [`MAX_SCHEMA_CHECKS`](crate::limits::MAX_SCHEMA_CHECKS) to check does not.
    pub(crate) fn matches(&self, value: &Value) -> bool {
        self.work.is_bounded(value) && self.validator.is_valid(value)
    }

    /// Returns the first reasons why a value does not match, each with its place.
    pub(crate) fn reasons(&self, value: &Value) -> String {
        if !self.work.is_bounded(value) {
            return format!("it takes more than {MAX_SCHEMA_CHECKS} steps to check");
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
