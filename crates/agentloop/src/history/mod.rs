//! Repairs and translates a conversation before it is encoded: pure, idempotent, deterministic.
//!
//! Each step has its own file:
//! - tool calls beside the content move into it;
//! - parts of other providers are removed or become text ([`foreign`]);
//! - JSON that was kept as text because of its depth becomes a tree again;
//! - every call gets one result, directly after its message ([`results`]);
//! - media in results move to where the provider takes them ([`shown`]);
//! - messages get an order that the provider accepts ([`order`]);
//! - ids and names become valid for the provider ([`ids`], [`names`]).
//!
//! Each step looks only at earlier messages, so a conversation that grows only appends to what was sent. The one
//! exception is a call that was sent as interrupted and whose result arrives later.

pub(crate) mod depth;
mod foreign;
mod hash;
mod ids;
mod names;
mod order;
mod results;
mod shown;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::json;

use shown::Shows;

use crate::chat::{
    ChatMessage, ChatRequest, ContentPart, MessageContent, ProviderState, Role, StateForm,
    ToolCall, ToolCallPart, ToolChoice, Warning, WarningKind, vendor_state,
};
use crate::error::{Error, ErrorKind, Result};
use crate::nesting;
use crate::protocol::{Prepared, Rules, ToolNames};

/// The result of a call without one.
pub(crate) const INTERRUPTED: &str = "interrupted: the call has no result";

/// A message with its index in the request.
struct Entry<'a> {
    at: usize,
    message: Cow<'a, ChatMessage>,
}

impl Entry<'_> {
    fn calls(&self) -> impl Iterator<Item = &ToolCallPart> {
        let parts = match self.message.role {
            Role::Assistant => self.message.parts(),
            _ => &[],
        };
        parts.iter().filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// Prepares the conversation of `request` for a target.
///
/// # Errors
///
/// Fails if a tool's message does not name its call, or if nothing remains of the conversation. In strict mode, also
/// fails if there is anything to repair.
pub(crate) fn prepare<'a>(
    request: &'a ChatRequest,
    rules: &Rules<'_>,
    shows: Shows<'_>,
) -> Result<Prepared<'a>> {
    if request.messages.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has no messages")
            .with_hint("add at least one message with `.user(…)`"));
    }
    let mut warnings = Vec::new();
    if is_plain(request) {
        let messages = Cow::Borrowed(&request.messages[..]);
        return Ok(Prepared { messages, names: ToolNames::default(), warnings, places: None });
    }
    let names = ToolNames::new(request, rules.names);
    names.warnings(request, &mut warnings);
    let entries = request.messages.iter().enumerate();
    let entries: Vec<Entry<'_>> = entries
        .map(|(at, message)| Entry { at, message: gather(message) })
        .filter_map(|entry| {
            let entry = foreign::degrade(entry, rules, &mut warnings)?;
            Some(deepen(entry, &mut warnings))
        })
        .collect();
    let entries = results::pair(entries, request.strict, &mut warnings)?;
    // In strict mode nothing is moved. The encoder reports what the provider does not take.
    let mut entries =
        if request.strict { entries } else { shown::place(entries, shows, &mut warnings) };
    if entries.is_empty() {
        return Err(empty(&warnings));
    }
    if let Some(reason) = &rules.order.assistant_after_tool {
        entries = order::separate(entries, reason, request.strict, &mut warnings)?;
    }
    if let Some((most, reason)) = &rules.order.longest_id {
        order::warn_of_long_ids(&entries, *most, reason, &mut warnings);
    }
    let longest = rules.order.longest_id.as_ref().map(|(most, _)| *most);
    ids::map(&mut entries, rules.ids, longest);
    if !names.is_empty() {
        entries.iter_mut().for_each(|entry| rename(entry, &names));
    }
    let same = entries.len() == request.messages.len()
        && entries
            .iter()
            .enumerate()
            .all(|(at, entry)| entry.at == at && matches!(entry.message, Cow::Borrowed(_)));
    if same {
        let messages = Cow::Borrowed(&request.messages[..]);
        return Ok(Prepared { messages, names, warnings, places: None });
    }
    let places = Some(entries.iter().map(|entry| entry.at).collect());
    let messages = entries.into_iter().map(|entry| entry.message.into_owned()).collect();
    Ok(Prepared { messages: Cow::Owned(messages), names, warnings, places })
}

/// Returns whether the request has only text and no tools, so nothing has to be repaired.
fn is_plain(request: &ChatRequest) -> bool {
    let text = |message: &ChatMessage| {
        message.role != Role::Tool
            && message.tool_calls.is_empty()
            && !matches!(message.content, Some(MessageContent::Parts(_)))
    };
    request.tools.is_empty()
        && !matches!(request.tool_choice, Some(ToolChoice::Function(_)))
        && request.messages.iter().all(text)
}

fn empty(warnings: &[Warning]) -> Error {
    let why: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
    Error::new(
        ErrorKind::InvalidRequest,
        format!("no message of the conversation can be sent: {}", why.join("; ")),
    )
    .with_hint("add at least one message of the user")
}

/// Moves tool calls beside the content (OpenAI's form) into the content.
pub(crate) fn gather(message: &ChatMessage) -> Cow<'_, ChatMessage> {
    if message.role != Role::Assistant || message.tool_calls.is_empty() {
        return Cow::Borrowed(message);
    }
    let mut message = message.clone();
    let mut parts = match message.content.take() {
        Some(MessageContent::Text(text)) if !text.is_empty() => vec![ContentPart::text(text)],
        Some(MessageContent::Parts(parts)) => parts,
        _ => Vec::new(),
    };
    let origin = message.origin.as_ref().map(|origin| origin.provider.clone());
    let of = |known: &str| origin.clone().unwrap_or_else(|| known.to_owned());
    parts.extend(std::mem::take(&mut message.tool_calls).into_iter().map(|call| {
        let ToolCall { id, kind, function, extra_content } = call;
        let mut part = ToolCallPart::new(id, function.name, function.arguments);
        let mut state = extra_content.map(|extra| vendor_state(&extra, &of));
        if kind == "custom" {
            let made = || ProviderState::new(of(StateForm::CustomCall.maker()), json!({}));
            state.get_or_insert_with(made).data["type"] = json!(kind);
        }
        part.provider_state = state.map(Box::new);
        ContentPart::ToolCall(part)
    }));
    message.content = Some(MessageContent::Parts(parts));
    Cow::Owned(message)
}

/// Restores JSON that was too deep to be kept as a tree, for the provider that made it.
fn deepen<'a>(mut entry: Entry<'a>, warnings: &mut Vec<Warning>) -> Entry<'a> {
    if !depth::any_tree(&entry.message, nesting::has_text) {
        return entry;
    }
    let mut whole = true;
    depth::each_tree(entry.message.to_mut(), &mut |tree| whole &= nesting::restore(tree));
    if !whole {
        let subject = format!("messages[{}].content", entry.at);
        let why = format!("{subject}: JSON that is nested too deeply to be parsed is sent as text");
        warnings.push(Warning::new(WarningKind::Converted, subject, why));
    }
    entry
}

fn rename(entry: &mut Entry<'_>, names: &ToolNames) {
    let other = |name: &str| names.sent(name) != name;
    if entry.calls().any(|call| other(&call.name))
        && let Some(MessageContent::Parts(parts)) = &mut entry.message.to_mut().content
    {
        for part in parts {
            if let ContentPart::ToolCall(call) = part {
                call.name = names.sent(&call.name).to_owned();
            }
        }
    }
    if entry.message.role == Role::Tool && entry.message.name.as_deref().is_some_and(other) {
        let message = entry.message.to_mut();
        message.name = message.name.as_deref().map(|name| names.sent(name).to_owned());
    }
}
