//! Instructions, which both protocols take apart from the conversation.

use crate::chat::{ChatMessage, ContentPart, Role, Warning, WarningKind};

/// Returns the texts of the instructions.
pub(in crate::protocol) fn instructions(
    messages: &[ChatMessage],
    warnings: &mut Vec<Warning>,
) -> Vec<String> {
    let mut texts = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role != Role::System {
            continue;
        }
        if message.parts().iter().any(|part| !matches!(part, ContentPart::Text(_))) {
            let what = format!("messages[{at}]");
            let why = format!("{what}: instructions must be text; other parts are left out");
            warnings.push(Warning::new(WarningKind::Dropped, what, why));
        }
        texts.push(message.text());
    }
    texts.retain(|text| !text.is_empty());
    texts
}
