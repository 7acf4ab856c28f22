//! NVIDIA NIM.
//!
//! Sources, read on 2026-11-15: litellm 1.108 (`nvidia_nim`). There are no recordings. Most embedding models require an
//! `input_type` (docs.nvidia.com: NeMo Retriever embedding NIM, API reference, read on 2026-11-16). The page of keys is
//! named in README of langchain-nvidia-ai-endpoints, read on 2026-11-16.

use super::common::hosted;
use crate::provider::quirks::{InputTypeWords, ReasoningEcho, ThinkingForm};
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `nvidia`: NVIDIA NIM, with the key in `NVIDIA_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::nvidia().key("nvapi-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn nvidia() -> Self {
        hosted("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY")
            .key_url("https://build.nvidia.com")
            .quirks(|q| {
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.thinking = ThinkingForm::TemplateArgument;
                q.embeddings.input_type = InputTypeWords::Passage;
            })
            .makes([Feature::Thinking])
    }
}
