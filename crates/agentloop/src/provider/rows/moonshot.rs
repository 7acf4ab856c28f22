//! Moonshot AI.
//!
//! Sources, read on 2026-11-16: platform.moonshot.ai (guides "Using thinking models" and "Use the web search tool").
//! There are no recordings of its own API, only of its models at other providers. The page of keys is named in kimi.com
//! (help: "Kimi API overview"), read on 2026-11-16. Files and batches, read on 2026-11-18: platform.kimi.com (guide "Use the
//! batch API"; the models kimi-k2.5 and kimi-k2.6, one model for each batch) and its API description of `/v1/batches`.

use super::common::{hosted, names};
use crate::provider::quirks::{BatchApi, FileApi, ReasoningEcho, ServerToolQuirks};
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
            .key_url("https://platform.moonshot.ai")
            .quirks(|q| {
                // Without it a conversation with tool calls gets 400 (openai-agents-python#2669).
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.server_tools = ServerToolQuirks {
                    chat: Some(names(["builtin_function"])),
                    ..ServerToolQuirks::refused()
                };
                q.storage.files = FileApi::PurposeForm;
                q.storage.purpose = Some("file-extract".into());
                q.storage.batches = BatchApi::InputFile;
            })
            .without_embeddings()
            .makes([Feature::Thinking])
    }
}
