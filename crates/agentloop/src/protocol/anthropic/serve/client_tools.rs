//! The tools that Anthropic defines and the caller runs, as functions.
//!
//! The caller expects the arguments that Anthropic documents, so the schemas are Anthropic's.

use serde_json::{Map, Value, json};

use crate::chat::FunctionDefinition;

/// Returns the function that a tool of Anthropic's is for other models, or `None` for a tool of another kind.
pub(super) fn function(kind: &str, fields: &Map<String, Value>) -> Option<FunctionDefinition> {
    let family = kind.rsplit_once('_').filter(|(_, date)| is_date(date))?.0;
    let (name, description, parameters) = match family {
        "bash" => (
            "bash",
            "Runs a command in a shell that keeps its state between calls, and returns its output.".to_owned(),
            json!({
                "type": "object",
                "properties": {
                    "command": { "type": "string", "description": "The command to run." },
                    "restart": { "type": "boolean", "description": "Whether to restart the shell instead." },
                },
            }),
        ),
        "text_editor" => (
            "str_replace_based_edit_tool",
            "Views, creates and edits text files.".to_owned(),
            files(&["view", "create", "str_replace", "insert", "undo_edit"], false),
        ),
        "memory" => (
            "memory",
            "Keeps notes between conversations, as files below /memories. View the directory first.".to_owned(),
            files(&["view", "create", "str_replace", "insert", "delete", "rename"], true),
        ),
        "computer" => ("computer", screen(fields), computer()),
        _ => return None,
    };
    let name = fields.get("name").and_then(Value::as_str).unwrap_or(name);
    Some(FunctionDefinition {
        name: name.to_owned(),
        description: Some(description),
        parameters: Some(parameters),
        ..FunctionDefinition::default()
    })
}

fn is_date(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the arguments of the tools that work on files.
fn files(commands: &[&str], renames: bool) -> Value {
    let mut properties = json!({
        "command": { "type": "string", "enum": commands },
        "path": { "type": "string", "description": "The absolute path of the file or directory." },
        "view_range": {
            "type": "array", "items": { "type": "integer" },
            "description": "For `view`: the first and the last line. -1 is the end of the file.",
        },
        "file_text": { "type": "string", "description": "For `create`: the content of the file." },
        "old_str": { "type": "string", "description": "For `str_replace`: the text to replace. It must occur once." },
        "new_str": { "type": "string", "description": "For `str_replace`: the text in its place." },
        "insert_line": { "type": "integer", "description": "For `insert`: the line after which to insert." },
        "insert_text": { "type": "string", "description": "For `insert`: the text to insert." },
    });
    if renames {
        for name in ["old_path", "new_path"] {
            properties[name] = json!({ "type": "string", "description": "For `rename`." });
        }
    }
    let required: &[&str] = if renames { &["command"] } else { &["command", "path"] };
    json!({ "type": "object", "properties": properties, "required": required })
}

fn screen(fields: &Map<String, Value>) -> String {
    let number = |name: &str| fields.get(name).and_then(Value::as_u64);
    match (number("display_width_px"), number("display_height_px")) {
        (Some(width), Some(height)) => format!(
            "Uses a screen of {width} × {height} pixels, a mouse and a keyboard, and returns a screenshot."
        ),
        _ => "Uses a screen, a mouse and a keyboard, and returns a screenshot.".to_owned(),
    }
}

fn computer() -> Value {
    const ACTIONS: [&str; 17] = [
        "screenshot",
        "key",
        "type",
        "mouse_move",
        "left_click",
        "right_click",
        "middle_click",
        "double_click",
        "triple_click",
        "left_click_drag",
        "left_mouse_down",
        "left_mouse_up",
        "scroll",
        "hold_key",
        "wait",
        "cursor_position",
        "zoom",
    ];
    let point = json!({ "type": "array", "items": { "type": "integer" } });
    json!({
        "type": "object",
        "properties": {
            "action": { "type": "string", "enum": ACTIONS },
            "coordinate": point,
            "start_coordinate": point,
            "text": { "type": "string", "description": "The text to type, or the keys to press, such as `ctrl+s`." },
            "scroll_direction": { "type": "string", "enum": ["up", "down", "left", "right"] },
            "scroll_amount": { "type": "integer" },
            "duration": { "type": "number", "description": "Seconds, for `wait` and `hold_key`." },
            "region": {
                "type": "array", "items": { "type": "integer" },
                "description": "For `zoom`: left, top, right, bottom.",
            },
        },
        "required": ["action"],
    })
}
