//! Checks values against a JSON Schema.

use jsonschema::Validator;
use serde_json::Value;

use super::judge::describe;
use super::work::Work;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_SCHEMA_CHECKS;

/// The most reasons that are reported to the model.
const MAX_REASONS: usize = 8;

/// Checks values against a schema and reports why one does not match.
pub(crate) struct Matcher {
    validator: Validator,
    work: Work,
}

impl Matcher {
    /// Compiles a schema. `whose` names it in the error if it is not valid.
    pub(super) fn new(whose: &str, schema: &Value) -> Result<Self> {
        let validator = jsonschema::validator_for(schema).map_err(|error| {
            let place = error.instance_path().to_string();
            let message =
                format!("{whose} is not a valid JSON Schema, at {}", describe(&place, &error));
            Error::new(ErrorKind::InvalidRequest, message)
        })?;
        Ok(Self { validator, work: Work::new(schema) })
    }

    /// Returns whether the value matches. A value that takes more than
    /// [`MAX_SCHEMA_CHECKS`](crate::limits::MAX_SCHEMA_CHECKS) steps to check does not match.
    pub(super) fn matches(&self, value: &Value) -> bool {
        self.work.is_bounded(value) && self.validator.is_valid(value)
    }

    /// Returns the first reasons why a value does not match, each with its JSON pointer.
    pub(super) fn reasons(&self, value: &Value) -> String {
        if !self.work.is_bounded(value) {
            return format!("checking it takes more than {MAX_SCHEMA_CHECKS} steps");
        }
        let reasons: Vec<String> = self
            .validator
            .iter_errors(value)
            .take(MAX_REASONS)
            .map(|error| describe(&error.instance_path().to_string(), &error))
            .collect();
        reasons.join("; ")
    }
}
