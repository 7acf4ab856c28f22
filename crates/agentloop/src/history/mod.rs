//! Repairs and translates a conversation before it is encoded: pure, idempotent, deterministic.
//!
//! One step per file: tool calls beside the content move into it; what another provider made is left out or becomes
//! text ([`foreign`]); what was too deep to be kept as a tree is one again; every call gets one result, behind its
//! message ([`results`]); what results show is where it can be seen ([`shown`]); messages are in an order that the
//! target takes ([`order`]); ids and names become ones that the target takes ([`ids`], [`names`]). Each step looks at
//! what came before and never at what follows, so a conversation that grows only adds to what was sent; but for one
//! case: a call that was sent as interrupted, whose result arrives after all.

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

/// The result of a call that has none.
pub(crate) const INTERRUPTED: &str = "interrupted: the call has no result";

/// A message with its index in the request.
struct Turn<'a> {
    at: usize,
    message: Cow<'a, ChatMessage>,
}

impl Turn<'_> {
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
/// In strict mode, when there is anything to repair; always, when a tool's message does not say which call it answers,
/// and when nothing is left of the conversation.
pub(crate) fn prepare<'a>(
    request: &'a ChatRequest,
    rules: &Rules<'_>,
    shows: Shows<'_>,
) -> Result<Prepared<'a>> {
    if request.messages.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the request has no messages")
            .with_hint("add at least one, with `.user(…)`"));
    }
    let mut warnings = Vec::new();
    if is_plain(request) {
        let messages = Cow::Borrowed(&request.messages[..]);
        return Ok(Prepared { messages, names: ToolNames::default(), warnings, places: None });
    }
    let names = ToolNames::new(request, rules.names);
    names.warnings(request, &mut warnings);
    let turns = request.messages.iter().enumerate();
    let turns: Vec<Turn<'_>> = turns
        .map(|(at, message)| Turn { at, message: gather(message) })
        .filter_map(|turn| {
            let turn = foreign::degrade(turn, rules, &mut warnings)?;
            Some(deepen(turn, &mut warnings))
        })
        .collect();
    let turns = results::pair(turns, request.strict, &mut warnings)?;
    // In strict mode nothing is moved. The encoder reports what the provider does not take.
    let mut turns = match request.strict {
        true => turns,
        false => shown::place(turns, shows, &mut warnings),
    };
    if turns.is_empty() {
        return Err(empty(&warnings));
    }
    if let Some(reason) = &rules.order.assistant_after_tool {
        turns = order::separate(turns, reason, request.strict, &mut warnings)?;
    }
    if let Some((most, reason)) = &rules.order.longest_id {
        order::warn_of_long_ids(&turns, *most, reason, &mut warnings);
    }
    let longest = rules.order.longest_id.as_ref().map(|(most, _)| *most);
    ids::map(&mut turns, rules.ids, longest);
    if !names.is_empty() {
        turns.iter_mut().for_each(|turn| rename(turn, &names));
    }
    let same = turns.len() == request.messages.len()
        && turns
            .iter()
            .enumerate()
            .all(|(at, turn)| turn.at == at && matches!(turn.message, Cow::Borrowed(_)));
    if same {
        let messages = Cow::Borrowed(&request.messages[..]);
        return Ok(Prepared { messages, names, warnings, places: None });
    }
    let places = Some(turns.iter().map(|turn| turn.at).collect());
    let messages = turns.into_iter().map(|turn| turn.message.into_owned()).collect();
    Ok(Prepared { messages: Cow::Owned(messages), names, warnings, places })
}

/// Returns whether the request has only text and no tools. Nothing has to be repaired then.
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
        format!("nothing is left of the conversation: {}", why.join("; ")),
    )
    .with_hint("add at least one message of the user")
}

/// Moves tool calls beside the content, which is OpenAI's form, into the content.
fn gather(message: &ChatMessage) -> Cow<'_, ChatMessage> {
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
fn deepen<'a>(mut turn: Turn<'a>, warnings: &mut Vec<Warning>) -> Turn<'a> {
    if !depth::any_tree(&turn.message, nesting::has_text) {
        return turn;
    }
    let mut whole = true;
    depth::each_tree(turn.message.to_mut(), &mut |tree| whole &= nesting::restore(tree));
    if !whole {
        let subject = format!("messages[{}].content", turn.at);
        let why = format!("{subject}: JSON that nests too deep to be read is sent as text");
        warnings.push(Warning::new(WarningKind::Converted, subject, why));
    }
    turn
}

fn rename(turn: &mut Turn<'_>, names: &ToolNames) {
    let other = |name: &str| names.sent(name) != name;
    if turn.calls().any(|call| other(&call.name))
        && let Some(MessageContent::Parts(parts)) = &mut turn.message.to_mut().content
    {
        for part in parts {
            if let ContentPart::ToolCall(call) = part {
                call.name = names.sent(&call.name).to_owned();
            }
        }
    }
    if turn.message.role == Role::Tool && turn.message.name.as_deref().is_some_and(other) {
        let message = turn.message.to_mut();
        message.name = message.name.as_deref().map(|name| names.sent(name).to_owned());
    }
}
