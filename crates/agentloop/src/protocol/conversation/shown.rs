//! Where a provider takes the media of a tool's result.

use crate::media::Refusal;

/// Where a provider takes a part of a tool's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// In the result.
    InResult,
    /// In a message of the user, but not in the result.
    InMessage,
    /// Nowhere.
    Nowhere,
}

impl Shown {
    /// Returns where a part is taken. `refusal` reports why the part is refused in results of tools (`true`) or in
    /// messages of the user (`false`). A part whose bytes must be fetched first is not refused.
    pub(crate) fn unless(refusal: impl Fn(bool) -> Option<Refusal>) -> Self {
        let is_refused = |of_tool| refusal(of_tool).is_some_and(|refusal| !refusal.wants_bytes);
        match (is_refused(true), is_refused(false)) {
            (false, _) => Self::InResult,
            (true, false) => Self::InMessage,
            (true, true) => Self::Nowhere,
        }
    }
}
