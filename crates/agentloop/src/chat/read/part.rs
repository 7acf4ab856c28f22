//! Reads parts: every kind has its fields, and an unknown field is an error that names it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value, json};

use crate::chat::ContentPart;

/// The kinds of parts and their fields.
const KINDS: [(&str, &[&str]); 16] = [
    ("text", &["text", "citations", "cache_control", "providerState"]),
    ("image_url", &["image_url", "cache_control"]),
    ("input_audio", &["input_audio"]),
    ("file", &["file", "cache_control"]),
    ("video_url", &["video_url"]),
    ("tool_call", &["id", "name", "arguments", "providerState"]),
    ("thinking", &["thinking", "signature", "providerState"]),
    ("redacted_thinking", &["data", "providerState"]),
    ("image", &["mimeType", "data", "url", "providerState"]),
    ("audio", &["mimeType", "data", "transcript", "expiresAt", "providerState"]),
    ("generated_file", &["mimeType", "data", "url", "name", "providerState"]),
    ("code_execution", &["id", "language", "code", "providerState"]),
    ("code_result", &["id", "outcome", "output", "stderr", "exitCode", "files", "providerState"]),
    ("server_tool_call", &["id", "name", "arguments", "providerState"]),
    ("server_tool_result", &["toolCallId", "content", "isError", "providerState"]),
    ("opaque", &["provider", "kind", "data"]),
];

const STATE: [&str; 3] = ["provider", "model", "data"];

impl Serialize for ContentPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for ContentPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        translate(&mut fields);
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            _ => return Err(de::Error::missing_field("type")),
        };
        let Some((kind, known)) = KINDS.iter().find(|(name, _)| *name == kind) else {
            let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
            return Err(de::Error::custom(format!(
                "unknown kind of part `{kind}`; known kinds: {}",
                names.join(", ")
            )));
        };
        // A null is the same as an absent field.
        fields.retain(|_, value| !value.is_null());
        check(&fields, known, &format!("a part of type `{kind}`"))?;
        if let Some(Value::Object(state)) = fields.get("providerState") {
            check(state, &STATE, "`providerState`")?;
        }
        Self::deserialize(Value::Object(fields)).map_err(de::Error::custom)
    }
}

/// Returns an error that names the first unknown field.
fn check<E: de::Error>(fields: &Map<String, Value>, known: &[&str], place: &str) -> Result<(), E> {
    let unknown = |name: &&String| *name != "type" && !known.contains(&name.as_str());
    match fields.keys().find(unknown) {
        None => Ok(()),
        Some(name) => Err(E::custom(format!(
            "unknown field `{name}` in {place}, which has {}",
            known.join(", ")
        ))),
    }
}

/// Reads forms that compatible providers return: a refusal is text, and thinking can be a list of texts.
fn translate(fields: &mut Map<String, Value>) {
    match fields.get("type").and_then(Value::as_str) {
        Some("refusal") => {
            if let Some(refusal) = fields.remove("refusal") {
                fields.insert("text".to_owned(), refusal);
            }
            fields.insert("type".to_owned(), json!("text"));
        }
        Some("thinking") => {
            if let Some(Value::Array(pieces)) = fields.get("thinking") {
                let texts = pieces.iter().filter_map(|piece| piece.get("text")?.as_str());
                let text: String = texts.collect();
                fields.insert("thinking".to_owned(), Value::String(text));
                // States that the thinking is complete, which it always is in a history.
                fields.remove("closed");
            }
        }
        _ => {}
    }
}
