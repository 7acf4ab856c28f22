//! The server of llama.cpp, on this machine.
//!
//! Source: ggml-org/llama.cpp, snapshot of 2026-08-22. There are no recordings. Rankings (`/v1/rerank`, for a server that is started with
//! `--reranking`): its `tools/server/README.md`.

use super::common::local;
use crate::chat::{Modality, Protocol};
use crate::provider::quirks::{IncludeForm, ReasoningEcho, StoreForm, ThinkingForm};
use crate::provider::{Auth, Feature, Provider};

impl Provider {
    /// Returns the built-in provider `llamacpp`: the server of llama.cpp on this machine, at port 8080. The key in
    /// `LLAMACPP_API_KEY` is sent if it is set.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let elsewhere = Provider::llamacpp().base_url("http://localhost:9090/v1");
    /// let ai = AgentLoop::builder().provider(elsewhere).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn llamacpp() -> Self {
        local("llamacpp", "http://localhost:8080/v1", "LLAMACPP_API_KEY")
            .modalities([Modality::Rerank])
            .quirks(|q| {
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.thinking = ThinkingForm::TemplateArgument;
            })
            .speaks(Protocol::Anthropic, "http://localhost:8080/v1", Auth::Bearer)
            // It stores nothing, and shows its reasoning openly.
            .also_responses(|row| {
                row.quirks(|q| {
                    q.store = StoreForm::Omitted;
                    q.include = IncludeForm::Refused;
                })
            })
            .makes([Feature::Thinking])
    }
}
