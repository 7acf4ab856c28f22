//! Conversations that are replaced by a summary.
//!
//! A client asks for it with an item `compaction_trigger`, and gets one item `compaction` whose content is meant to be
//! opaque. Here the model writes the summary, and the item holds it as text in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// What the content of an item begins with if a server of this library wrote it.
const MARK: &str = "agentloop-summary-1:";

/// The instruction that the model gets in place of the trigger.
pub(super) const INSTRUCTION: &str = "Summarise this conversation so that another model can continue the work without it. \
    State the task and all instructions and preferences of the user, what has been done and found out so far (with the names of \
    files, commands, values and errors that still matter), and what remains to be done. Reply with the summary only, and do not call tools.";

/// What the summary is introduced with when it is sent to a model.
const INTRODUCTION: &str = "The earlier part of this conversation was replaced by this summary:";

/// Returns the item that holds a summary.
pub(super) fn item(id: &str, summary: &str) -> Value {
    let content = format!("{MARK}{}", STANDARD.encode(summary));
    json!({ "id": id, "type": "compaction", "encrypted_content": content })
}

/// Returns the text that stands for an item in a conversation. Returns `None` if another server wrote the item.
pub(super) fn text(content: &str) -> Option<String> {
    let summary = STANDARD.decode(content.strip_prefix(MARK)?).ok()?;
    let summary = String::from_utf8(summary).ok()?;
    Some(format!("{INTRODUCTION}\n\n{summary}"))
}
