//! Writes results of calls that are not functions: of a shell, of patches, of a screen. Only this protocol has items for
//! them.

use serde_json::{Map, Value, json};

use crate::chat::{ChatMessage, ContentPart};

/// An image of one transparent pixel. The result of a screen call must be an image, even if the call was denied.
const NO_SCREEN: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/// Returns whether results of such calls have a form of their own.
pub(super) fn has_own(kind: &str) -> bool {
    matches!(kind, "shell_call" | "local_shell_call" | "apply_patch_call" | "computer_call")
}

/// Returns the result of the call `item`, and the text that must be sent beside it.
pub(super) fn own(
    item: &Map<String, Value>,
    call_id: &str,
    message: &ChatMessage,
) -> (Value, Option<String>) {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
    let text = message.text();
    let failed = message.is_error;
    let mut beside = None;
    let mut result = json!({ "type": format!("{kind}_output"), "call_id": call_id });
    result["output"] = match kind {
        "shell_call" => {
            let longest = item.get("action").and_then(|action| action.get("max_output_length"));
            if let Some(longest) = longest.filter(|longest| longest.is_u64()) {
                result["max_output_length"] = longest.clone();
            }
            shell(&text, failed)
        }
        "computer_call" => {
            if !failed && let Some(checks) = item.get("pending_safety_checks").filter(is_filled) {
                result["acknowledged_safety_checks"] = checks.clone();
            }
            let seen = screenshot(message);
            beside = (!text.is_empty()).then(|| {
                if failed {
                    format!("[the call of the computer failed: {text}]")
                } else {
                    format!("[from the result of the call of the computer: {text}]")
                }
            });
            json!({ "type": "computer_screenshot", "image_url": seen.as_deref().unwrap_or(NO_SCREEN) })
        }
        _ => json!(text),
    };
    match kind {
        "apply_patch_call" => result["status"] = json!(if failed { "failed" } else { "completed" }),
        // This kind names its call by `id`; `call_id` is what the guide shows.
        "local_shell_call" => result["id"] = json!(call_id),
        _ => {}
    }
    (result, beside)
}

fn is_filled(value: &&Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

/// Returns what commands printed: as a tool for shells reports it, one entry for each command, or any other text.
fn shell(text: &str, failed: bool) -> Value {
    let entry = |stdout: &str, stderr: &str, outcome: Value| json!({ "stdout": stdout, "stderr": stderr, "outcome": outcome });
    let exit = |code: i64| json!({ "type": "exit", "exit_code": code });
    let read = |command: &Value| {
        let fields = command.as_object()?;
        let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let code = fields.get("exit_code").and_then(Value::as_i64);
        let outcome = match fields.get("timed_out").and_then(Value::as_bool) {
            Some(true) => json!({ "type": "timeout" }),
            _ => exit(code.unwrap_or(i64::from(failed))),
        };
        fields.contains_key("stdout").then(|| entry(word("stdout"), word("stderr"), outcome))
    };
    let commands: Option<Vec<Value>> = if !text.trim_start().starts_with(['[', '{']) {
        None
    } else {
        serde_json::from_str::<Value>(text).ok().and_then(|value| match value {
            Value::Array(commands) => commands.iter().map(read).collect(),
            one => read(&one).map(|one| vec![one]),
        })
    };
    let (stdout, stderr) = if failed { ("", text) } else { (text, "") };
    let plain = || vec![entry(stdout, stderr, exit(i64::from(failed)))];
    Value::Array(commands.filter(|commands| !commands.is_empty()).unwrap_or_else(plain))
}

fn screenshot(message: &ChatMessage) -> Option<String> {
    message.parts().iter().find_map(|part| match part {
        ContentPart::ImageUrl { image_url, .. } => Some(image_url.url.clone()),
        ContentPart::Image(image) if !image.data.is_empty() => {
            Some(format!("data:{};base64,{}", image.mime_type, image.data))
        }
        _ => None,
    })
}
