//! Groq.
//!
//! Sources, read on 2026-11-15: groq SDK 1.7 for Python (`chat/completion_create_params.py`), ai-sdk groq 4.0, and the
//! recordings `groq-*`. The page of keys is named in groq/groq-api-cookbook, read on 2026-11-16.

use super::common::{hosted, names, restrict};
use crate::chat::{Effort, Modality};
use crate::media::MediaKind;
use crate::models::Action;
use crate::provider::quirks::{
    AudioInputForm, AudioUrlField, BatchApi, CodeExecutionForm, DimensionsName, FileApi,
    FileInputForm, IncludeForm, JsonSchemaSupport, ReasoningEcho, ServerToolQuirks, SpeechForm,
    StoreForm, ThinkingForm, TokenCap, TranscriptionForm, WebSearchForm,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `groq`: Groq, with the key in `GROQ_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::groq().key("gsk_example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn groq() -> Self {
        hosted("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY")
            .modalities([Modality::Speech, Modality::Transcription])
            .key_url("https://console.groq.com/keys")
            .quirks(|q| {
                // Recording `groq-json-thinking-length-4a179788`; the SDK calls `max_tokens` deprecated.
                q.token_cap = TokenCap::MaxCompletionTokens;
                q.reasoning_echo = ReasoningEcho::Reasoning;
                // ai-sdk groq: a schema and function tools are refused together.
                q.json_schema = JsonSchemaSupport::NotWithTools;
                q.audio = AudioInputForm::Refused;
                q.files = FileInputForm::Refused;
                // SDK 1.7: files are for batches only.
                q.storage.files = FileApi::PurposeForm;
                q.storage.purpose = Some("batch".into());
                q.storage.batches = BatchApi::InputFile;
                q.efforts =
                    Some((&[Effort::None, Effort::Low, Effort::Medium, Effort::High]).into());
                q.thinking = ThinkingForm::ReasoningFormat;
                q.max_stops = Some(4);
                q.embeddings.dimensions = DimensionsName::Refused;
                q.tasks.speech = SpeechForm::Paced;
                q.tasks.transcription = TranscriptionForm::Complete;
                q.tasks.audio_url = AudioUrlField::Url;
                // Recording `groq-stream-search-results-server-tool-9407495a`; both are tools of its gpt-oss models.
                q.server_tools = ServerToolQuirks {
                    web_search: WebSearchForm::BrowserSearch,
                    code_execution: CodeExecutionForm::CodeInterpreter,
                    chat: Some(names(["browser_search", "code_interpreter", "mcp"])),
                    ..ServerToolQuirks::refused()
                };
            })
            // The SDK: "not supported by any of our models" or absent.
            .strip([
                Param::FrequencyPenalty,
                Param::PresencePenalty,
                Param::Logprobs,
                Param::TopLogprobs,
                Param::LogitBias,
                Param::Metadata,
                Param::TopK,
                Param::Verbosity,
                Param::PromptCacheKey,
                Param::Modalities,
                Param::Audio,
            ])
            .clamp(Param::N, 1.0, 1.0)
            .clamp(Param::Temperature, 0.0, 2.0)
            // It stores nothing, and shows its reasoning openly.
            .also_responses(|row| {
                row.quirks(|q| {
                    q.store = StoreForm::Omitted;
                    q.include = IncludeForm::Refused;
                })
            })
            .makes([Feature::Thinking, Feature::CodeExecution, Feature::ServerTools])
            .restriction(
                restrict(
                    "groq-no-tools",
                    Action::Drop(vec![Param::Tools, Param::ToolChoice, Param::ParallelToolCalls]),
                )
                .models(["groq/compound*", "compound*", "*llama-guard*"])
                .reason("the model takes no tools")
                .source("recordings groq-err-error-4xx-3159315c, groq-err-error-4xx-8efa7c35"),
            )
            .restriction(
                restrict(
                    "groq-compound-images",
                    Action::MediaTypes { kind: MediaKind::Image, types: vec![] },
                )
                .models(["groq/compound*", "compound*"])
                .reason("the model takes text only")
                .source("recording groq-err-error-4xx-image-in-f3749124"),
            )
            .restriction(
                restrict("groq-tools", Action::KeepTools(128))
                    .reason("at most 128 tools are taken")
                    .source("groq SDK 1.7: completion_create_params.py"),
            )
    }
}
