//! The names under which tools are sent.

use std::collections::BTreeMap;

/// The names of tools that a provider takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum NamePattern {
    /// At most 64 letters, digits, `_` and `-`.
    #[default]
    Word64,
    /// At most 128 letters, digits, `_` and `-`.
    Word128,
    /// At most 128 letters, digits, `_`, `-`, `.` and `:`, of which the first is a letter or `_`.
    Dotted128,
}

/// The names that are sent in place of names that the provider does not take. Mostly there are none, which costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolNames(Option<Box<Replaced>>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Replaced {
    /// The name that is sent for each original.
    sent: BTreeMap<String, String>,
    /// The original of each name that is sent.
    original: BTreeMap<String, String>,
}

impl ToolNames {
    /// Sends `sent` in place of `original`.
    pub(crate) fn replace(&mut self, original: &str, sent: &str) {
        let names = self.0.get_or_insert_default();
        names.original.insert(sent.to_owned(), original.to_owned());
        names.sent.insert(original.to_owned(), sent.to_owned());
    }

    /// Returns the name to send.
    pub(crate) fn sent<'a>(&'a self, original: &'a str) -> &'a str {
        let names = self.0.as_ref();
        names.and_then(|names| names.sent.get(original)).map_or(original, String::as_str)
    }

    /// Returns the name that the caller uses.
    pub(crate) fn original<'a>(&'a self, sent: &'a str) -> &'a str {
        let names = self.0.as_ref();
        names.and_then(|names| names.original.get(sent)).map_or(sent, String::as_str)
    }

    /// Returns each name that is replaced, with the one that is sent.
    pub(crate) fn replaced(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.0.iter().flat_map(|names| &names.sent);
        names.map(|(original, sent)| (original.as_str(), sent.as_str()))
    }

    /// Returns whether all names are sent unchanged.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}
