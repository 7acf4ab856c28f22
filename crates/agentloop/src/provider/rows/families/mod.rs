//! Models that several providers serve: what is known of a family wherever it is served under its own names.

pub(super) mod claude;
mod gemini;
pub(super) mod gpt;
pub(in crate::provider) mod think_tags;

use std::sync::LazyLock;

use crate::chat::Protocol;
use crate::models::Restriction;
use crate::provider::model::ModelRule;

/// Returns what is known of the models that are served under their own names wherever `protocol` is spoken.
pub(in crate::provider) fn models(protocol: Protocol) -> &'static [ModelRule] {
    static CLAUDE: LazyLock<Vec<ModelRule>> = LazyLock::new(claude::models);
    static BEDROCK: LazyLock<Vec<ModelRule>> = LazyLock::new(claude::models_of_bedrock);
    static GEMINI: LazyLock<Vec<ModelRule>> = LazyLock::new(gemini::models);
    match protocol {
        Protocol::Anthropic => &CLAUDE,
        Protocol::Bedrock => &BEDROCK,
        Protocol::Gemini | Protocol::GeminiInteractions => &GEMINI,
        _ => &[],
    }
}

/// Returns the restrictions that apply to every provider that speaks the family's own protocol.
pub(crate) fn restrictions() -> &'static [Restriction] {
    static ROWS: LazyLock<Vec<Restriction>> = LazyLock::new(|| {
        claude::restrictions().into_iter().chain(gemini::restrictions()).collect()
    });
    &ROWS
}

impl Restriction {
    /// Returns the restrictions of model families that several providers serve under one protocol. They apply to every
    /// provider that speaks it.
    ///
    /// ```
    /// use agentloop::provider::Restriction;
    ///
    /// assert!(Restriction::families().iter().any(|row| row.id == "claude-prefill"));
    /// ```
    pub fn families() -> &'static [Self] {
        restrictions()
    }
}
