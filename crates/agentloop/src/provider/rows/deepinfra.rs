//! DeepInfra.
//!
//! Sources, read on 2026-11-16: docs.deepinfra.com (OpenAI API, reasoning). There are no recordings. The documentation
//! does not state the field in which thinking is sent back; `reasoning_content` is the one that providers of the same
//! models use. The page of keys is named in README of deepinfra/deepctl, read on 2026-11-16.

use super::common::hosted;
use crate::provider::quirks::ReasoningEcho;
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `deepinfra`: DeepInfra, with the key in `DEEPINFRA_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::deepinfra().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn deepinfra() -> Self {
        hosted("deepinfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY")
            .key_url("https://deepinfra.com/dash/api_keys")
            .quirks(|q| q.reasoning_echo = ReasoningEcho::ReasoningContent)
            .makes([Feature::Thinking])
    }
}
