//! What a server remembers of a request until it writes the response.

use std::collections::BTreeMap;

use crate::protocol::serve::Reply;

/// What is remembered without a request.
static NOTHING: Remembered = Remembered {
    tools: BTreeMap::new(),
    echo: String::new(),
    has_own_words: false,
    is_compaction: false,
};

/// What the writers of both protocols need to know of a request.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Remembered {
    /// The tools that are not plain functions, by the name under which they are in the [`ChatRequest`](crate::ChatRequest).
    pub(in crate::protocol) tools: BTreeMap<String, DeclaredTool>,
    /// The settings that the response repeats, as fields of a JSON object without its braces.
    pub(in crate::protocol) echo: String,
    /// Whether the response has only the protocol's own words. Without a request it has those of any provider of the
    /// protocol, which the simulator stands for.
    pub(in crate::protocol) has_own_words: bool,
    /// Whether the response is the summary that replaces the conversation.
    pub(in crate::protocol) is_compaction: bool,
}

/// A tool as the client declared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::protocol) struct DeclaredTool {
    pub(in crate::protocol) namespace: Option<String>,
    pub(in crate::protocol) name: String,
    pub(in crate::protocol) form: CallForm,
}

/// The form in which a client expects the calls of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocol) enum CallForm {
    Function,
    /// The input is free text.
    FreeText,
    /// An item of the protocol, with the arguments in a field of its own.
    LocalShell,
    Shell,
    ApplyPatch,
    ToolSearch,
}

impl Remembered {
    /// Returns what was remembered of a request.
    pub(in crate::protocol) fn of(reply: &Reply) -> &Self {
        reply.remembered().unwrap_or(&NOTHING)
    }
}
