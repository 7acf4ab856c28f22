//! Results of calls that are not of functions: of a shell, of patches, of a screen.

use serde_json::{Value, json};

use crate::request::{ChatMessage, ContentPart};

/// Whether results of such calls have a form of their own.
pub(super) fn has_own(kind: &str) -> bool {
    matches!(kind, "shell_call" | "local_shell_call" | "apply_patch_call" | "computer_call")
}

/// The result of a call of that kind.
pub(super) fn own(kind: &str, call_id: &str, text: &str, message: &ChatMessage) -> Value {
    let failed = message.is_error;
    let output = match kind {
        "shell_call" => {
            let (stdout, stderr) = if failed { ("", text) } else { (text, "") };
            let outcome = json!({ "type": "exit", "exit_code": i32::from(failed) });
            json!([{ "stdout": stdout, "stderr": stderr, "outcome": outcome }])
        }
        "computer_call" => match screenshot(message) {
            Some(url) => json!({ "type": "computer_screenshot", "image_url": url }),
            None => json!({ "type": "computer_screenshot" }),
        },
        _ => json!(text),
    };
    let mut item =
        json!({ "type": format!("{kind}_output"), "call_id": call_id, "output": output });
    if kind == "apply_patch_call" {
        item["status"] = json!(if failed { "failed" } else { "completed" });
    }
    item
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
