//! SambaNova.
//!
//! Source unknown: there are no recordings, and the row was written from general knowledge of the API.

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
            .makes([Feature::Thinking])
            .listing(|list| list.set_litellm([("sambanova", "sambanova/")]))
    }
}
