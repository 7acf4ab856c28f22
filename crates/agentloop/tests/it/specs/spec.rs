//! A published description, ready to judge requests.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub(crate) struct Spec(jsonschema::Validator);

impl Spec {
    /// The description of a request; `None` when the file is not there.
    pub(crate) fn load(file: &str, schema: &str) -> Option<Self> {
        // The provider may refuse fields that the description does not have.
        Self::load_with(file, schema, false)
    }

    /// The description of a response. Clients accept more fields than it has.
    pub(crate) fn load_response(file: &str, schema: &str) -> Option<Self> {
        Self::load_with(file, schema, true)
    }

    fn load_with(file: &str, schema: &str, takes_more: bool) -> Option<Self> {
        let named = std::env::var_os("AGENTLOOP_SPECS").map(PathBuf::from);
        let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/specs");
        let text = std::fs::read(named.unwrap_or(beside).join(file)).ok()?;
        let mut spec: Value = serde_json::from_slice(&text).unwrap();
        rewrite(&mut spec["components"]);
        let root = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": format!("#/components/schemas/{schema}"),
            "unevaluatedProperties": takes_more,
            "components": spec["components"],
        });
        Some(Self(jsonschema::validator_for(&root).unwrap()))
    }

    pub(crate) fn errors(&self, body: &Value) -> Vec<String> {
        self.0
            .iter_errors(body)
            .map(|error| {
                let text: String = error.to_string().chars().take(300).collect();
                format!("{}: {text}", error.instance_path())
            })
            .collect()
    }
}

/// Brings OpenAPI's words into JSON Schema: `nullable` is a union with null, and of variants that are distinguished by one
/// field several may fit, where that field may be absent.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(rewrite);
            if fields.contains_key("discriminator")
                && let Some(variants) = fields.remove("oneOf")
            {
                fields.insert("anyOf".to_owned(), variants);
            }
            if fields.remove("nullable") == Some(Value::Bool(true)) {
                let inner = Value::Object(std::mem::take(fields));
                *value = json!({ "anyOf": [inner, { "type": "null" }] });
            }
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        _ => {}
    }
}
