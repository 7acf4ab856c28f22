//! The types by which a codec states which conversations its protocol takes.
//!
//! [`history`](crate::history) repairs a conversation by these rules before it is encoded.

mod items;
mod names;
mod shown;

use std::borrow::Cow;

pub(crate) use items::{is_item, is_step};
pub(crate) use names::{NamePattern, ToolNames};
pub(crate) use shown::Shown;

use crate::chat::{ChatMessage, Warning};
use crate::provider::Provider;

/// The conversations that a provider takes for a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    /// The provider that the conversation is sent to. Only its own state is sent along.
    pub(crate) provider: &'a Provider,
    /// The model that the conversation is sent to. It may take only its own thinking.
    pub(crate) model: &'a str,
    /// The ids of tool calls that the provider takes.
    pub(crate) ids: IdPattern,
    /// The names of tools that the provider takes.
    pub(crate) names: NamePattern,
    /// Whether thinking is sent back as text. If so, thinking of an unknown provider can be sent too.
    pub(crate) thinking_as_text: bool,
    /// The form in which the protocol takes state. The provider's other protocols cannot read it.
    pub(crate) state: StateForm,
    /// The order of messages and the length of ids that the model takes.
    pub(crate) order: &'a Order,
}

/// The forms of a conversation that a protocol takes: see [`Rules`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forms {
    pub(crate) ids: IdPattern,
    pub(crate) names: NamePattern,
    pub(crate) thinking_as_text: bool,
    pub(crate) state: StateForm,
}

/// The form of the state that a protocol sends back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StateForm {
    /// Fields of the parts.
    #[default]
    Fields,
    /// The items of the Responses protocol.
    Items,
    /// The steps of the Interactions API.
    #[cfg_attr(
        not(feature = "gemini-interactions"),
        allow(dead_code, reason = "no codec sends them")
    )]
    Steps,
}

/// The ids of tool calls that a provider takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IdPattern {
    /// Any text.
    #[default]
    Any,
    /// Exactly nine letters or digits.
    NineAlphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
}

/// What some models require of a conversation, with the reasons.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    /// Why only a message of the assistant may follow the result of a tool.
    pub(crate) assistant_after_tool: Option<Cow<'static, str>>,
    /// The maximum length of a tool call's id in bytes, and why.
    pub(crate) longest_id: Option<(usize, Cow<'static, str>)>,
}

/// A conversation that keeps to [`Rules`].
#[derive(Debug)]
pub(crate) struct Prepared<'a> {
    /// The messages. Tool calls are parts of the assistant's messages and nowhere else. Every call is followed by its
    /// result, in the order of the calls. Ids and names are the ones to send.
    pub(crate) messages: Cow<'a, [ChatMessage]>,
    /// The names under which tools are sent.
    pub(crate) names: ToolNames,
    /// Warnings about what was repaired or left out.
    pub(crate) warnings: Vec<Warning>,
    /// The index in the request of each message, if they differ.
    pub(crate) places: Option<Vec<usize>>,
}

impl Prepared<'_> {
    /// Returns the index in the request of a message, for warnings and errors. A result that was added has the index of
    /// its call.
    pub(crate) fn place(&self, at: usize) -> usize {
        self.places.as_ref().and_then(|places| places.get(at)).copied().unwrap_or(at)
    }
}
