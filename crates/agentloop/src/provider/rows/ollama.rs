//! Ollama, on this machine.
//!
//! Sources: ollama/ollama (`openai/openai.go`, snapshot of 2026-08-21) and the recordings `ollama-*`. The server ignores
//! fields that it does not know, so nothing has to be left out.

use super::common::{images, local};
use crate::chat::Protocol;
use crate::provider::quirks::{
    EmbeddingForm, FileInputForm, Fingerprint, ImageInput, IncludeForm, ReasoningEcho,
};
use crate::provider::{Auth, Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `ollama`: Ollama on this machine, at port 11434. The key in `OLLAMA_API_KEY` is sent if
    /// it is set.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let elsewhere = Provider::ollama().base_url("http://192.168.1.20:11434/v1");
    /// let ai = AgentLoop::builder().provider(elsewhere).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn ollama() -> Self {
        local("ollama", "http://localhost:11434/v1", "OLLAMA_API_KEY")
            .quirks(|q| {
                // Recording `ollama-json-parallel-tool-calls-thinking-01aac4da`.
                q.reasoning_echo = ReasoningEcho::Reasoning;
                q.images = ImageInput::DataOnly;
                q.files = FileInputForm::Refused;
                // `fp_ollama` in every recording, `ollama-json-text-19a34c0d` among them.
                q.fingerprint = Fingerprint::Constant;
                // The native call: the compatible one ignores `truncate`, `keep_alive` and `options`.
                q.embeddings.form = EmbeddingForm::BareInput;
                q.embeddings.path = Some("../api/embed".into());
            })
            // Absent from the request type in `openai/openai.go`.
            .ignored(Param::ToolChoice)
            .ignored(Param::ParallelToolCalls)
            .ignored(Param::LogitBias)
            .ignored(Param::N)
            .ignored(Param::User)
            .ignored(Param::Metadata)
            .ignored(Param::ServiceTier)
            .ignored(Param::TopK)
            .ignored(Param::Verbosity)
            .ignored(Param::PromptCacheKey)
            .speaks(Protocol::Anthropic, "http://localhost:11434/v1", Auth::Bearer)
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking])
            .restriction(
                images("ollama-images", &["image/jpeg", "image/png", "image/webp"])
                    .source("ollama/ollama: openai/openai.go"),
            )
    }
}
