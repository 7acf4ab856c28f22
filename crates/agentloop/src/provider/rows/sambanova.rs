//! SambaNova.
//!
//! Sources, read on 2026-11-16: docs.sambanova.ai (OpenAI compatibility; API reference: chat completions, embeddings,
//! models). There are no recordings. It also offers Anthropic's messages, which the row does not use. The page of keys
//! is named in README of sambanova/ai-starter-kit, read on 2026-11-16.

use super::common::hosted;
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `sambanova`: SambaNova, with the key in `SAMBANOVA_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::sambanova().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn sambanova() -> Self {
        hosted("sambanova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY")
            .key_url("https://cloud.sambanova.ai/apis")
            .makes([Feature::Thinking])
    }
}
