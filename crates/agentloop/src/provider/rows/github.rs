//! GitHub Models.
//!
//! Sources, read on 2026-11-16: docs.github.com (REST API for models: inference and catalog; embeddings since 2025-07,
//! see github/codespaces-models#28). There are no recordings. The page of keys is named in github/docs ("Managing your
//! personal access tokens"), read on 2026-11-16.

use super::common::hosted;
use crate::provider::Provider;

impl Provider {
    /// Returns the built-in provider `github`: GitHub Models, with the token in `GITHUB_TOKEN`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::github().key("ghp_example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn github() -> Self {
        hosted("github", "https://models.github.ai/inference", "GITHUB_TOKEN")
            .key_url("https://github.com/settings/personal-access-tokens/new")
            // The list is at `/catalog/models`, beside `/inference` and in a form of its own.
            .without_model_list()
    }
}
