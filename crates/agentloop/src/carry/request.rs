//! Takes capsules out of requests.

use serde_json::Value;

use super::MAX_RESTORED_BYTES;
use super::capsule::{Entry, Place, has_capsule, open, split_id};
use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, ProviderState, Role, TextPart,
    ThinkingPart, Warning, WarningKind,
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
    let (mut kept, mut later, mut seen) = (Vec::new(), Vec::new(), Place::default());
    for mut part in join_texts(parts) {
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
                let is_own = |entry: &mut Entry| {
                    entry.is_shown && matches!(entry.part, ContentPart::ToolCall(_))
                };
                for entry in entries.extract_if(.., is_own) {
                    if let ContentPart::ToolCall(own) = entry.part {
                        call.provider_state = own.provider_state;
                        // As the model wrote them, unless the client has changed them.
                        if is_same_json(&own.arguments, &call.arguments) {
                            call.arguments = own.arguments;
                        }
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
                    place(read(&capsule), seen, &mut kept, &mut later);
                    continue;
                }
            }
            ContentPart::RedactedThinking(redacted) if has_capsule(redacted.data.as_bytes()) => {
                place(read(&redacted.data), seen, &mut kept, &mut later);
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
        let is_call = matches!(part, ContentPart::ToolCall(_));
        kept.push((Some(seen), part));
        seen.shown += u32::from(!is_thinking);
        seen.calls += u32::from(is_call);
    }
    if later.iter().any(|entry| matches!(entry.part, ContentPart::Thinking(_))) {
        // The client also sent it as its own API shows it.
        kept.retain(|(number, part)| {
            let is_copy = |part: &ThinkingPart| {
                number.is_some() && part.signature.is_none() && part.provider_state.is_none()
            };
            !matches!(part, ContentPart::Thinking(part) if is_copy(part))
        });
    }
    message.content = Some(MessageContent::Parts(merge(kept, later)));
}

fn is_same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    !one.is_empty() && read(one).is_some_and(|value| Some(value) == read(other))
}

/// Returns the capsule in a thought signature, and removes it from the state.
fn take_signature(state: &mut Option<Box<ProviderState>>) -> Option<String> {
    let found = signature(state.as_deref()).filter(|text| has_capsule(text.as_bytes()))?.to_owned();
    *state = None;
    Some(found)
}

/// Puts parts where their capsule is. Claude Code moves thinking before the calls that it followed: such parts, and those
/// that complete a visible part, wait for their place.
fn place(
    entries: Vec<Entry>,
    seen: Place,
    kept: &mut Vec<(Option<Place>, ContentPart)>,
    later: &mut Vec<Entry>,
) {
    for entry in entries {
        if entry.is_shown || entry.place.calls != seen.calls {
            later.push(entry);
        } else {
            kept.push((None, entry.part));
        }
    }
}

/// Completes the visible parts, and inserts the others before the visible part that they preceded.
fn merge(kept: Vec<(Option<Place>, ContentPart)>, mut later: Vec<Entry>) -> Vec<ContentPart> {
    let mut parts = Vec::with_capacity(kept.len() + later.len());
    for (place, mut part) in kept {
        if let Some(place) = place {
            let is_call = matches!(part, ContentPart::ToolCall(_));
            // Clients may merge or leave out texts, so the calls decide.
            let is_next = |entry: &mut Entry| {
                entry.place.calls < place.calls
                    || entry.place.calls == place.calls
                        && (is_call || entry.place.shown <= place.shown)
            };
            for entry in later.extract_if(.., is_next) {
                if !entry.is_shown {
                    parts.push(entry.part);
                } else if let (ContentPart::Text(own), ContentPart::Text(text)) =
                    (entry.part, &mut part)
                    && entry.place == place
                {
                    text.citations = own.citations;
                    text.provider_state = own.provider_state;
                }
            }
        }
        parts.push(part);
    }
    parts.extend(later.into_iter().filter(|entry| !entry.is_shown).map(|entry| entry.part));
    parts
}

/// Joins texts that follow each other: some clients of Gemini keep the pieces of a stream.
fn join_texts(parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let is_plain = |text: &TextPart| {
        text.provider_state.is_none() && text.citations.is_empty() && text.cache_control.is_none()
    };
    let mut joined: Vec<ContentPart> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(ContentPart::Text(before)), ContentPart::Text(text))
                if is_plain(before) && is_plain(&text) =>
            {
                before.text.push_str(&text.text);
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}
