//! Messages that are refused as they are.

use std::borrow::Cow;

use super::Restricted;
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, Role, Warning, WarningKind,
};
use crate::error::Result;
use crate::media::{MediaKind, Medium, Refusal};
use crate::provider::{Provider, Restriction};

/// The message that is sent to a model that does not accept an unfinished message.
const CONTINUE: &str =
    "Continue your last message exactly where it ends, without repeating any of it.";

/// Returns whether a message contains the word JSON, in any case.
pub(super) fn name_json(request: &ChatRequest) -> bool {
    let names =
        |text: &str| text.as_bytes().windows(4).any(|window| window.eq_ignore_ascii_case(b"json"));
    request.messages.iter().any(|message| match &message.content {
        Some(MessageContent::Text(text)) => names(text),
        Some(MessageContent::Parts(parts)) => {
            parts.iter().any(|part| matches!(part, ContentPart::Text(text) if names(&text.text)))
        }
        None => false,
    })
}

/// Returns whether the conversation ends with text of the assistant that the model should continue. A message with
/// calls of the provider's own tools is different: the provider had paused, and continues by itself.
pub(super) fn is_prefilled(request: &ChatRequest) -> bool {
    let Some(last) = request.messages.last().filter(|last| last.role == Role::Assistant) else {
        return false;
    };
    let paused = |part: &ContentPart| {
        matches!(
            part,
            ContentPart::ServerToolCall(_)
                | ContentPart::ServerToolResult(_)
                | ContentPart::CodeExecution(_)
                | ContentPart::CodeResult(_)
                | ContentPart::Opaque(_)
        )
    };
    let calls = |part: &ContentPart| matches!(part, ContentPart::ToolCall(_));
    last.tool_calls.is_empty() && !last.parts().iter().any(|part| paused(part) || calls(part))
}

pub(super) fn ask_to_continue(request: &mut ChatRequest) {
    request.messages.push(ChatMessage::user(CONTINUE));
}

/// Returns whether a part is a medium of `kind` that is not of one of the `types`. One of an unknown type is left to
/// the provider.
fn is_refused(part: &ContentPart, kind: MediaKind, types: &[Cow<'static, str>]) -> bool {
    let Ok(Some(medium)) = Medium::of(part) else { return false };
    if medium.kind != kind {
        return false;
    }
    match medium.essence() {
        Some(essence) => !types.contains(&essence),
        None => types.is_empty(),
    }
}

pub(super) fn any_refused(
    request: &ChatRequest,
    kind: MediaKind,
    types: &[Cow<'static, str>],
) -> bool {
    let refused = |message: &ChatMessage| {
        let mut parts = message.parts().iter().filter(|part| part.is_medium());
        parts.any(|part| is_refused(part, kind, types))
    };
    request.messages.iter().any(refused)
}

impl Restricted<'_> {
    /// Refuses media with an error, or leaves them out with a warning if the caller is lenient. The results of tools, and what another model
    /// generated, are nothing that the caller chose: they are left out, and in the result of a tool a remark takes their place.
    pub(super) fn refuse_media(
        &mut self,
        row: &Restriction,
        provider: &Provider,
        kind: MediaKind,
        types: &[Cow<'static, str>],
    ) -> Result<()> {
        let (strict, lenient) = (self.request.strict, self.request.lenient);
        let reason = super::reason(row);
        for (at, message) in self.request.to_mut().messages.iter_mut().enumerate() {
            let of_tool = message.role == Role::Tool;
            let is_chosen = !of_tool && message.role != Role::Assistant;
            let Some(MessageContent::Parts(parts)) = &mut message.content else { continue };
            let before = std::mem::take(parts);
            for (part_at, part) in before.into_iter().enumerate() {
                if !is_refused(&part, kind, types) {
                    parts.push(part);
                    continue;
                }
                let subject = format!("messages[{at}].content[{part_at}]");
                if strict || (is_chosen && !lenient) {
                    return Err(Refusal::new(reason.as_ref()).into_error(&subject, &provider.name));
                }
                if of_tool {
                    let remark = format!("[{} that cannot be shown here]", kind.named());
                    parts.push(ContentPart::text(remark));
                }
                let message = format!("{subject}: {reason}");
                self.warnings.push(Warning::new(WarningKind::Dropped, subject, message));
            }
        }
        Ok(())
    }
}
