//! Repairs and translates a conversation before it is encoded: pure, idempotent, deterministic.

mod names;

use std::borrow::Cow;

pub(crate) use names::{NamePattern, ToolNames};

use crate::error::Result;
use crate::request::{ChatMessage, ChatRequest};
use crate::response::Warning;

/// What a target takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// The provider that the conversation goes to: its own state stays, all other goes.
    pub(crate) provider: &'a str,
    /// What ids of tool calls must look like.
    pub(crate) ids: IdPattern,
    /// What names of tools must look like.
    pub(crate) names: NamePattern,
}

/// What ids of tool calls must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdPattern {
    /// Anything.
    Any,
    /// Exactly nine letters or digits.
    NineAlphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
}

/// A conversation that the target takes.
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    /// The turns. Tool calls stand among the parts of an assistant's turn and nowhere else; every call is followed by
    /// its result; ids and names are the ones to send.
    pub(crate) messages: Cow<'a, [ChatMessage]>,
    /// The names under which tools are sent.
    pub(crate) names: ToolNames,
    /// What was repaired or left out.
    pub(crate) warnings: Vec<Warning>,
}

/// Prepares the conversation of `request` for a target.
///
/// # Errors
///
/// In strict mode, when there is anything to repair.
pub(crate) fn prepare<'a>(request: &'a ChatRequest, rules: &Rules<'_>) -> Result<Prepared<'a>> {
    let names = ToolNames::new(request, rules.names);
    Ok(Prepared { messages: Cow::Borrowed(&request.messages), names, warnings: Vec::new() })
}
