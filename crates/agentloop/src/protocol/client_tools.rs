//! Tools that a provider defines and the caller runs, as providers declare them.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::chat::{
    ChatRequest, ClientTool, ClientToolKind, Display, FunctionDefinition, ToolDefinition,
};
use crate::provider::Provider;
use crate::provider::quirks::ClientTools;

/// The size of the screen if the caller does not set it.
const DISPLAY: Display = Display { width: 1024, height: 768 };

/// Returns the declaration of a function in the provider's own form; `None` where the function is sent as it is.
///
/// Versions are those of the provider's documentation in late 2026. A caller who needs another one gives it in
/// [`ClientTool::forms`].
pub(crate) fn declaration<'a>(
    provider: &Provider,
    function: &'a FunctionDefinition,
) -> Option<Cow<'a, Map<String, Value>>> {
    let tool: &ClientTool = function.client_tool.as_deref()?;
    if let Some(form) = tool.forms.get(provider.name.as_ref()) {
        return Some(Cow::Borrowed(form));
    }
    let display = tool.display.unwrap_or(DISPLAY);
    let form = match (provider.quirks.client_tools, tool.kind?) {
        (ClientTools::Versioned, ClientToolKind::Shell) => {
            json!({ "type": "bash_20250124", "name": "bash" })
        }
        (ClientTools::Versioned, ClientToolKind::TextEditor) => {
            json!({ "type": "text_editor_20250728", "name": "str_replace_based_edit_tool" })
        }
        (ClientTools::Versioned, ClientToolKind::Memory) => {
            json!({ "type": "memory_20250818", "name": "memory" })
        }
        (ClientTools::Versioned, ClientToolKind::Computer) => json!({
            "type": "computer_20251124", "name": "computer",
            "display_width_px": display.width, "display_height_px": display.height,
        }),
        (ClientTools::Items, ClientToolKind::Shell) => {
            json!({ "type": "shell", "environment": { "type": "local" } })
        }
        (ClientTools::Items, ClientToolKind::ApplyPatch) => json!({ "type": "apply_patch" }),
        (ClientTools::Items, ClientToolKind::Computer) => json!({ "type": "computer" }),
        _ => return None,
    };
    match form {
        Value::Object(form) => Some(Cow::Owned(form)),
        _ => None,
    }
}

/// Returns the declaration of the function of this name, if it has one of the provider's own.
pub(crate) fn chosen<'a>(
    provider: &Provider,
    request: &'a ChatRequest,
    name: &str,
) -> Option<Cow<'a, Map<String, Value>>> {
    request.tools.iter().find_map(|tool| match tool {
        ToolDefinition::Function { function, .. } if function.name == name => {
            declaration(provider, function)
        }
        _ => None,
    })
}

/// Returns the beta that a declaration needs: `computer_20251124` needs `computer-use-2025-11-24`.
pub(crate) fn beta(form: &Map<String, Value>) -> Option<String> {
    let date = form.get("type")?.as_str()?.strip_prefix("computer_")?;
    if date.len() != 8 || !date.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(format!("computer-use-{}-{}-{}", &date[..4], &date[4..6], &date[6..]))
}
