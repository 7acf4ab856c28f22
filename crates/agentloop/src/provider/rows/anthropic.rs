//! Anthropic.
//!
//! Sources, read on 2026-11-15: anthropic SDK 2.8 for Python, platform.claude.com (versioning), and the recordings
//! `anthropic-*`. What its models refuse is in [`families::claude`](super::families::claude). The page of keys is named
//! in platform.claude.com ("Get API key"), read on 2026-11-16.

use crate::provider::quirks::{BatchApi, ClientTools, FileApi, ServerToolQuirks};
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `anthropic`: Anthropic, with the key in `ANTHROPIC_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::anthropic().key("sk-ant-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn anthropic() -> Self {
        Self::anthropic_compatible("anthropic", "https://api.anthropic.com/v1")
            .key_env("ANTHROPIC_API_KEY")
            .key_url("https://platform.claude.com/docs/en/get-api-key")
            .quirks(|q| {
                // anthropic SDK 2.8: tool types with a date, as `bash_20250124`.
                q.client_tools = ClientTools::Versioned;
                q.server_tools = ServerToolQuirks::default().without_chat();
                q.storage.files = FileApi::BetaForm;
                q.storage.batches = BatchApi::Messages;
            })
            .makes([
                Feature::Thinking,
                Feature::Citations,
                Feature::CodeExecution,
                Feature::ServerTools,
            ])
    }
}
