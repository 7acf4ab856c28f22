//! GitHub Models.
//!
//! Source unknown: there are no recordings, and the row was written from general knowledge of the API.

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
            .without_model_list()
            .listing(|list| list.models_dev = Some("github-models".into()))
    }
}
