//! Ollama, on this machine.
//!
//! Sources: ollama/ollama (`openai/openai.go`, `api/types.go`, snapshot of 2026-08-21) and the recordings `ollama-*`. The
//! server ignores fields that it does not know, so nothing has to be left out.
//!
//! Requests go to the server's OpenAI endpoint. One that sets what this endpoint ignores goes to the server's own API (ADR 20).

use super::common::{images, local, names, restrict};
use crate::chat::Protocol;
use crate::models::{Action, Condition};
use crate::provider::quirks::{
    EmbeddingForm, FileInputForm, Fingerprint, ImageInput, IncludeForm, ReasoningEcho,
};
use crate::provider::{Auth, Feature, Param, Provider};

/// Fields of Ollama's own API that its OpenAI endpoint does not read.
const OWN_FIELDS: [&str; 19] = [
    "options",
    "keep_alive",
    "think",
    "format",
    "truncate",
    "shift",
    "num_ctx",
    "num_predict",
    "num_keep",
    "num_batch",
    "num_gpu",
    "main_gpu",
    "num_thread",
    "use_mmap",
    "draft_num_predict",
    "min_p",
    "typical_p",
    "repeat_last_n",
    "repeat_penalty",
];

impl Provider {
    /// Returns the built-in provider `ollama`: Ollama on this machine, at port 11434. The key in `OLLAMA_API_KEY` is sent if
    /// it is set.
    ///
    /// A request with `top_k`, `options`, `keep_alive` or another field that only Ollama's own API has is sent to that API:
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest, Provider, inspect};
    ///
    /// let elsewhere = Provider::ollama().base_url("http://192.168.1.20:11434/v1");
    /// let ai = AgentLoop::builder().provider(elsewhere).build()?;
    /// let request = ChatRequest::new("ollama/qwen3").user("Hello").extra("num_ctx", 32_768);
    /// let encoded = inspect::encode(&ai, &request, false)?;
    /// assert_eq!(encoded.url, "http://192.168.1.20:11434/api/chat");
    /// assert!(encoded.body.get().contains(r#""options":{"num_ctx":32768}"#));
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
            .speaks_as(Self::ollama_compatible("ollama", "http://localhost:11434/v1"))
            .makes([Feature::Thinking])
            .restriction(
                restrict("ollama-own-fields", Action::Speak(Protocol::Ollama))
                    .when([Condition::Field(names(OWN_FIELDS))])
                    .reason("the OpenAI endpoint ignores these fields")
                    .source("ollama/ollama: openai/openai.go, api/types.go"),
            )
            .restriction(
                restrict("ollama-top-k", Action::Speak(Protocol::Ollama))
                    .when([Condition::Set(Param::TopK)])
                    .reason("the OpenAI endpoint ignores `top_k`")
                    .source("ollama/ollama: openai/openai.go, api/types.go"),
            )
            .restriction(
                images("ollama-images", &["image/jpeg", "image/png", "image/webp"])
                    .source("ollama/ollama: openai/openai.go"),
            )
    }
}
