//! The settings of a request that its response repeats.

use serde_json::Value;

use crate::protocol::openai::serve::fields::Fields;

/// The fields of a request that are in its response too.
const REPEATED: [&str; 16] = [
    "background",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "parallel_tool_calls",
    "prompt_cache_key",
    "reasoning",
    "safety_identifier",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_p",
    "truncation",
    "user",
];

/// The fields that clients require, with what they are if the request does not set them.
const REQUIRED: [(&str, &str); 7] = [
    ("instructions", "null"),
    ("parallel_tool_calls", "true"),
    ("tool_choice", "\"auto\""),
    ("tools", "[]"),
    ("metadata", "{}"),
    ("temperature", "null"),
    ("top_p", "null"),
];

/// Returns the fields of a response that repeat those of its request, as JSON without braces.
pub(super) fn of_request(fields: &Fields) -> String {
    let mut echo = String::new();
    let mut put = |name: &str, value: &str| {
        let comma = if echo.is_empty() { "" } else { "," };
        echo.push_str(&format!("{comma}\"{name}\":{value}"));
    };
    for name in REPEATED {
        if let Some(value) = fields.get(name).filter(|value| !value.is_null()) {
            put(name, &value.to_string());
        }
    }
    for (name, value) in REQUIRED {
        if fields.get(name).is_none_or(Value::is_null) {
            put(name, value);
        }
    }
    // Nothing is stored.
    put("store", "false");
    put("previous_response_id", "null");
    echo
}
