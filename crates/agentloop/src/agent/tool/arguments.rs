//! Validates the arguments of a call.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::error::Result;
use crate::structured::drop_optional_nulls;
use crate::structured::reasons::Matcher;

/// Checks arguments against a tool's schema.
#[derive(Clone)]
pub(super) struct Checker(Arc<Matcher>);

impl Checker {
    pub(super) fn new(tool: &str, schema: &Value) -> Result<Self> {
        let matcher = Matcher::new(&format!("the schema of the tool `{tool}`"), schema)?;
        Ok(Self(Arc::new(matcher)))
    }

    /// Parses and validates the arguments of a call. `normalize` converts them to the form of the schema first.
    ///
    /// # Errors
    ///
    /// Returns a message for the model if they are not JSON or do not match the schema.
    pub(super) fn parse(
        &self,
        arguments: &str,
        normalize: Option<fn(Value) -> Value>,
    ) -> Result<Value, String> {
        let text = arguments.trim();
        let mut value: Value = serde_json::from_str(if text.is_empty() { "{}" } else { text })
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        if let Some(normalize) = normalize {
            value = normalize(value);
        }
        // Strict modes fill optional properties with null.
        drop_optional_nulls(self.0.schema(), &mut value);
        if self.0.matches(&value) {
            return Ok(value);
        }
        Err(format!("the arguments do not match the schema: {}", self.0.reasons(&value)))
    }
}

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}
