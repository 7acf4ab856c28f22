//! Differences between providers in how they report usage.

use agentloop::provider::Quirks;
use agentloop::provider::quirks::{ReasoningTokens, StreamUsage};
use agentloop::{ChatStreamEvent, Usage};

/// How a provider reports usage, so that the client reads the usage of a simulated provider correctly.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UsageStyle {
    /// Whether streams report usage without a request for it.
    pub(crate) is_always_streamed: bool,
    /// Whether reasoning tokens are not part of the completion tokens.
    is_reasoning_separate: bool,
}

impl UsageStyle {
    /// Returns the style that these quirks describe.
    pub(crate) fn from_quirks(quirks: &Quirks) -> Self {
        Self {
            is_always_streamed: quirks.stream_usage == StreamUsage::Unasked,
            is_reasoning_separate: quirks.reasoning_tokens == ReasoningTokens::Beside,
        }
    }

    /// Changes the usage of the events to this style.
    pub(crate) fn apply(self, events: &mut [ChatStreamEvent]) {
        if !self.is_reasoning_separate {
            return;
        }
        for event in events {
            match event {
                ChatStreamEvent::Usage { usage, .. } => separate_reasoning(usage),
                ChatStreamEvent::MessageDone { response } => {
                    separate_reasoning(&mut response.usage);
                }
                _ => {}
            }
        }
    }
}

fn separate_reasoning(usage: &mut Usage) {
    let reasoning = usage.details.reasoning_tokens.unwrap_or(0);
    usage.completion_tokens =
        usage.completion_tokens.map(|completion| completion.saturating_sub(reasoning));
}
