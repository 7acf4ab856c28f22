//! `reasoning_details`: the record of its reasoning that OpenRouter sends and takes back (recording
//! openrouter-json-parallel-tool-calls-thinking-e5f217aa, 2026). No other protocol has one.

use serde_json::Value;

use crate::nesting;
use crate::protocol::openai::citations::text;

/// Reads the entries.
pub(super) fn read(raw: &str) -> Vec<Value> {
    nesting::read_list(raw).into_iter().filter(Value::is_object).collect()
}

/// Returns the readable text of an entry.
pub(super) fn entry_text(detail: &Value) -> Option<String> {
    text(detail, "text").or_else(|| text(detail, "summary"))
}

/// Adds an entry. In a stream the text of one entry arrives in pieces.
pub(super) fn merge(details: &mut Vec<Value>, detail: Value) {
    let same = |name: &str, a: &Value, b: &Value| a.get(name) == b.get(name);
    if let Some(last) = details.last_mut()
        && same("type", last, &detail)
        && same("index", last, &detail)
        && (text(&detail, "text").is_some() || text(&detail, "signature").is_some())
        && let Some(last) = last.as_object_mut()
    {
        let Value::Object(detail) = detail else { return };
        for (name, value) in detail {
            match (last.get_mut(&name), value) {
                (Some(Value::String(sum)), Value::String(more)) if name == "text" => {
                    sum.push_str(&more);
                }
                (Some(_), Value::Null) => {}
                (Some(known), value) => *known = value,
                (None, value) => {
                    last.insert(name, value);
                }
            }
        }
        return;
    }
    details.push(detail);
}
