//! Takes capsules out of requests.

use super::MAX_RESTORED_BYTES;
use super::capsule::{Entry, has_capsule, open, split_id};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, ProviderState, Role, Warning,
    WarningKind,
};
use crate::history;

/// Restores the parts that capsules in the messages of a request hold. Returns a warning for each that cannot be read.
///
/// See [`Carrier`](super::Carrier) for an example.
pub fn restore(request: &mut ChatRequest) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut budget = MAX_RESTORED_BYTES;
    for (at, message) in request.messages.iter_mut().enumerate() {
        match message.role {
            Role::Tool => {
                let own = message.tool_call_id.as_deref().and_then(split_id).map(|(own, _)| own);
                if let Some(own) = own.map(str::to_owned) {
                    message.tool_call_id = Some(own);
                }
            }
            Role::Assistant if holds_capsule(message) => {
                restore_message(at, message, &mut budget, &mut warnings);
            }
            _ => {}
        }
    }
    warnings
}

fn holds_capsule(message: &ChatMessage) -> bool {
    let marked = |text: &str| has_capsule(text.as_bytes());
    message.tool_calls.iter().any(|call| marked(&call.id))
        || message.parts().iter().any(|part| match part {
            ContentPart::ToolCall(call) => {
                marked(&call.id) || signature(call.provider_state.as_deref()).is_some_and(marked)
            }
            ContentPart::Thinking(part) => {
                part.signature.as_deref().is_some_and(marked)
                    || signature(part.provider_state.as_deref()).is_some_and(marked)
            }
            ContentPart::RedactedThinking(part) => marked(&part.data),
            ContentPart::Text(text) => {
                signature(text.provider_state.as_deref()).is_some_and(marked)
            }
            _ => false,
        })
}

fn signature(state: Option<&ProviderState>) -> Option<&str> {
    state?.data.get("thoughtSignature")?.as_str()
}

fn restore_message(
    at: usize,
    message: &mut ChatMessage,
    budget: &mut usize,
    warnings: &mut Vec<Warning>,
) {
    let gathered = history::gather(message).into_owned();
    *message = gathered;
    let Some(MessageContent::Parts(parts)) = message.content.take() else { return };
    let mut read = |text: &str| {
        let entries = open(text, budget);
        if entries.is_none() {
            let subject = format!("messages[{at}]");
            let why = format!(
                "{subject}: the state of the provider was changed or cut off on its way and is left out"
            );
            warnings.push(Warning::new(WarningKind::Dropped, subject, why));
        }
        entries.unwrap_or_default()
    };
    let (mut kept, mut later, mut shown) = (Vec::new(), Vec::new(), 0);
    for mut part in parts {
        match &mut part {
            ContentPart::ToolCall(call) => {
                let mut entries = Vec::new();
                if let Some((own, capsule)) = split_id(&call.id) {
                    entries = read(capsule);
                    call.id = own.to_owned();
                }
                if let Some(capsule) = take_signature(&mut call.provider_state) {
                    entries.extend(read(&capsule));
                }
                for Entry(_, entry) in entries
                    .extract_if(.., |Entry(_, entry)| matches!(entry, ContentPart::ToolCall(_)))
                {
                    if let ContentPart::ToolCall(own) = entry {
                        call.provider_state = own.provider_state;
                    }
                }
                later.extend(entries);
            }
            ContentPart::Thinking(thinking) => {
                let carried = match thinking.signature.as_deref() {
                    Some(text) if has_capsule(text.as_bytes()) => Some(text.to_owned()),
                    _ => take_signature(&mut thinking.provider_state),
                };
                if let Some(capsule) = carried {
                    place(read(&capsule), &mut kept, &mut later);
                    continue;
                }
            }
            ContentPart::RedactedThinking(redacted) if has_capsule(redacted.data.as_bytes()) => {
                place(read(&redacted.data), &mut kept, &mut later);
                continue;
            }
            ContentPart::Text(text) => {
                if let Some(capsule) = take_signature(&mut text.provider_state) {
                    later.extend(read(&capsule));
                    if text.text.is_empty() {
                        continue;
                    }
                }
            }
            _ => {}
        }
        let is_thinking =
            matches!(part, ContentPart::Thinking(_) | ContentPart::RedactedThinking(_));
        kept.push((shown, part));
        shown += u32::from(!is_thinking);
    }
    let restores_thinking =
        later.iter().any(|Entry(_, part)| matches!(part, ContentPart::Thinking(_)));
    if restores_thinking {
        // The client also sent it as its own API shows it.
        kept.retain(|(_, part)| {
            !matches!(part, ContentPart::Thinking(part) if part.signature.is_none() && part.provider_state.is_none())
        });
    }
    message.content = Some(MessageContent::Parts(merge(kept, later)));
}

/// Returns the capsule in a thought signature, and removes it from the state.
fn take_signature(state: &mut Option<Box<ProviderState>>) -> Option<String> {
    let found = signature(state.as_deref()).filter(|text| has_capsule(text.as_bytes()))?.to_owned();
    *state = None;
    Some(found)
}

/// Puts parts where their capsule is. Those that complete a visible part wait for it.
fn place(entries: Vec<Entry>, kept: &mut Vec<(u32, ContentPart)>, later: &mut Vec<Entry>) {
    for Entry(before, part) in entries {
        match part {
            ContentPart::Text(_) | ContentPart::ToolCall(_) => later.push(Entry(before, part)),
            part => kept.push((u32::MAX, part)),
        }
    }
}

/// Completes the visible parts, and inserts the others before the visible part that they preceded.
fn merge(kept: Vec<(u32, ContentPart)>, mut later: Vec<Entry>) -> Vec<ContentPart> {
    let mut parts = Vec::with_capacity(kept.len() + later.len());
    for (number, mut part) in kept {
        if number != u32::MAX {
            for Entry(at, entry) in later.extract_if(.., |Entry(at, _)| *at <= number) {
                match (entry, &mut part) {
                    (ContentPart::Text(entry), ContentPart::Text(text)) if at == number => {
                        text.citations = entry.citations;
                        text.provider_state = entry.provider_state;
                    }
                    // The part that it completed is not there any more.
                    (ContentPart::Text(_) | ContentPart::ToolCall(_), _) => {}
                    (entry, _) => parts.push(entry),
                }
            }
        }
        parts.push(part);
    }
    let rest = later.into_iter().map(|Entry(_, part)| part);
    parts.extend(
        rest.filter(|part| !matches!(part, ContentPart::Text(_) | ContentPart::ToolCall(_))),
    );
    parts
}
