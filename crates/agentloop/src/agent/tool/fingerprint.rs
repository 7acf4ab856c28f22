//! Fingerprints of tool definitions.

use std::fmt::Write as _;

use serde_json::Value;

use super::Tool;
use crate::canonical::Canonical;

/// Changes whenever the same definition would get another fingerprint.
const VERSION: &str = "agentloop tool 1";

impl Tool {
    /// Returns a fingerprint of the definition: 64 hexadecimal digits that change when the name, the description, the
    /// schema or the server behind the tool changes. The order of fields in the schema does not matter.
    ///
    /// Approval applies to a fingerprint. If a server changes the definition behind an approved name, the fingerprint is
    /// different and the call needs approval again.
    pub fn fingerprint(&self) -> String {
        let definition = self.definition();
        let mut canonical = Canonical::new();
        canonical.text(VERSION);
        canonical.text(self.origin.as_deref().unwrap_or_default());
        canonical.text(&definition.name);
        canonical.value(&definition.description.as_deref().map_or(Value::Null, Value::from));
        canonical.value(definition.parameters.as_ref().unwrap_or(&Value::Null));
        canonical.value(&definition.strict.map_or(Value::Null, Value::from));
        if let Some(client) = &definition.client_tool {
            canonical.value(&serde_json::to_value(client).unwrap_or_default());
        }
        canonical.finish().iter().fold(String::with_capacity(64), |mut digits, byte| {
            // Writing to a string does not fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::chat::FunctionDefinition;

    fn tool(name: &str, description: &str, parameters: Value) -> Tool {
        Tool::external(FunctionDefinition {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            parameters: Some(parameters),
            strict: None,
            client_tool: None,
        })
    }

    #[test]
    fn a_fingerprint_changes_with_everything_that_defines_the_tool() {
        let schema = || json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let usual = tool("read", "Reads", schema());
        let others = [
            tool("write", "Reads", schema()),
            tool("read", "Reads and sends", schema()),
            tool("read", "Reads", json!({ "type": "object" })),
            tool("read", "Reads", schema()).strict(),
            tool("read", "Reads", schema()).origin("https://one.example/mcp"),
            tool("read", "Reads", schema()).origin("https://two.example/mcp"),
        ];
        let all: std::collections::BTreeSet<String> =
            others.iter().chain([&usual]).map(Tool::fingerprint).collect();
        assert_eq!(all.len(), others.len() + 1);
        assert_eq!(usual.fingerprint().len(), 64);
    }

    #[test]
    fn a_fingerprint_ignores_the_order_of_fields_and_the_run_settings() {
        let one = tool("read", "Reads", json!({ "type": "object", "properties": {} }));
        let two = tool("read", "Reads", json!({ "properties": {}, "type": "object" }));
        assert_eq!(one.fingerprint(), two.sequential().retries(2).fingerprint());
    }
}
