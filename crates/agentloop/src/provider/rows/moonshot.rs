//! Moonshot AI.
//!
//! Source unknown: there are no recordings, and the row was written from general knowledge of the API.

use super::common::{hosted, names};
use crate::provider::quirks::{ReasoningEcho, ServerToolQuirks};
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `moonshot`: Moonshot AI, with the key in `MOONSHOT_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::moonshot().key("sk-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn moonshot() -> Self {
        hosted("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY")
            .quirks(|q| {
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.server_tools = ServerToolQuirks {
                    chat: Some(names(["builtin_function"])),
                    ..ServerToolQuirks::refused()
                };
            })
            .without_embeddings()
            .makes([Feature::Thinking])
            .listing(|list| {
                list.models_dev = Some("moonshotai".into());
                list.set_litellm([("moonshot", "moonshot/")]);
            })
    }
}
