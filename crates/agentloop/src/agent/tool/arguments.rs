//! Whether arguments are what a tool asks for.

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

    /// The arguments of a call, if they are JSON and match; else why not, for the model.
    ///
    /// `normalize` brings them to the form of the schema first.
    pub(super) fn read(
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
        // Hosts that keep to a schema strictly fill in what is optional with nulls.
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
