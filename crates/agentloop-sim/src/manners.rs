//! How hosts of one protocol differ in what they answer.

use agentloop::provider::Quirks;
use agentloop::provider::quirks::{ReasoningTokens, StreamUsage};
use agentloop::{ChatStreamEvent, Usage};

/// How a host answers where hosts differ, so that a row of the provider table is read as it expects.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Manners {
    /// Streams tell their usage unasked.
    pub(crate) usage_unasked: bool,
    /// Reasoning is counted beside the completion, not in it.
    reasoning_beside: bool,
}

impl Manners {
    pub(crate) fn of(quirks: &Quirks) -> Self {
        Self {
            usage_unasked: quirks.stream_usage == StreamUsage::Unasked,
            reasoning_beside: quirks.reasoning_tokens == ReasoningTokens::Beside,
        }
    }

    /// Writes the usage as the host does.
    pub(crate) fn apply(self, events: &mut [ChatStreamEvent]) {
        if !self.reasoning_beside {
            return;
        }
        for event in events {
            match event {
                ChatStreamEvent::Usage { usage, .. } => beside(usage),
                ChatStreamEvent::MessageDone { response } => beside(&mut response.usage),
                _ => {}
            }
        }
    }
}

fn beside(usage: &mut Usage) {
    let reasoning = usage.details.reasoning_tokens.unwrap_or(0);
    usage.completion_tokens =
        usage.completion_tokens.map(|completion| completion.saturating_sub(reasoning));
}
