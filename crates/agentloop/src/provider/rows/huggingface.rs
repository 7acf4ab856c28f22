//! Hugging Face's router to several inference providers.
//!
//! Sources, read on 2026-11-15: huggingface_hub, and the recordings `other-*` that name `router.huggingface.co`. What a
//! request may contain depends on the provider that the router chooses, so nothing is left out. The page of keys is
//! named in huggingface/hub-docs (`models-inference.md`), read on 2026-11-16.

use super::common::hosted;
use crate::provider::quirks::IncludeForm;
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `huggingface`: the router of Hugging Face, with the token in `HF_TOKEN`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::huggingface().key("hf_example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn huggingface() -> Self {
        hosted("huggingface", "https://router.huggingface.co/v1", "HF_TOKEN")
            .key_url("https://huggingface.co/settings/tokens")
            .without_embeddings()
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking])
    }
}
