//! Anthropic's subset: closed objects, no limits, few formats, no recursion.

use serde_json::Value;

const FORMATS: &[&str] =
    &["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Whether the host keeps to a word.
pub(super) fn keeps(word: &str, value: &Value) -> bool {
    word == "format" && value.as_str().is_some_and(|format| FORMATS.contains(&format))
}
