//! The names under which tools are sent, and the way back.

use crate::request::ChatRequest;

/// What names of tools must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamePattern {
    /// Letters, digits, `_` and `-`, at most 64.
    Word64,
    /// Letters, digits, `_` and `-`, at most 128.
    Word128,
    /// The same with `.` and `:`, at most 128, and no digit first.
    Dotted128,
}

/// The names that had to be changed, with the ones that were sent in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolNames {
    /// Original, sent.
    changed: Vec<(String, String)>,
}

impl ToolNames {
    /// The names of a request, for a target that takes `pattern`.
    pub(crate) fn new(_: &ChatRequest, _: NamePattern) -> Self {
        Self::default()
    }

    /// The name to send.
    pub(crate) fn sent<'a>(&'a self, original: &'a str) -> &'a str {
        self.changed.iter().find(|(known, _)| known == original).map_or(original, |(_, sent)| sent)
    }

    /// The name that the caller knows.
    pub(crate) fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        self.changed.iter().find(|(_, known)| known == sent).map_or(sent, |(original, _)| original)
    }

    /// Whether nothing had to be changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty()
    }
}
