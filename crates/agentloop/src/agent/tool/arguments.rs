//! Whether arguments are what a tool asks for.

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::Value;

use crate::error::Result;
use crate::structured::{drop_optional_nulls, reasons};

/// Checks arguments against a tool's schema.
#[derive(Clone)]
pub(super) struct Checker {
    schema: Arc<Value>,
    validator: Arc<Validator>,
}

impl Checker {
    pub(super) fn new(tool: &str, schema: &Value) -> Result<Self> {
        let validator = reasons::validator(&format!("the schema of the tool `{tool}`"), schema)?;
        Ok(Self { schema: Arc::new(schema.clone()), validator: Arc::new(validator) })
    }

    /// The arguments of a call, if they are JSON and match; else why not, for the model.
    pub(super) fn read(&self, arguments: &str) -> Result<Value, String> {
        let text = arguments.trim();
        let mut value: Value = serde_json::from_str(if text.is_empty() { "{}" } else { text })
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        // Hosts that keep to a schema strictly fill in what is optional with nulls.
        drop_optional_nulls(&self.schema, &mut value);
        if self.validator.is_valid(&value) {
            return Ok(value);
        }
        Err(format!(
            "the arguments do not match the schema: {}",
            reasons::of(&self.validator, &value)
        ))
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}
