//! OpenAI.
//!
//! Sources, read on 2026-11-15: openai SDK 3.49 for Python (`completion_create_params.py`,
//! `embedding_create_params.py`), OpenAI's API description, ai-sdk openai 4.0 (`openai-model-catalog.ts`), and the
//! recordings `openai-*` and `openai-responses-*`. What its models refuse is in [`families::gpt`](super::families::gpt).
//! The page of keys is named in README of openai-python, read on 2026-11-16.

use super::common::{hosted, names};
use super::families::gpt;
use crate::chat::Modality;
use crate::provider::quirks::{
    BatchApi, ClientTools, FileApi, ServerToolQuirks, TokenCap, TokenCount, ToolResultImages,
    UserLabel, WebSearchForm,
};
use crate::provider::{Feature, Param, Provider};

/// The lowest cap of a response that the Responses protocol accepts (OpenAI's API description: `max_output_tokens`).
pub(super) const LEAST_OUTPUT: f64 = 16.0;

/// The tools that OpenAI runs. Chat searches only with the models that always search (recordings
/// `openai-json-citations-text-657c8eff`, `openai-stream-text-e1efbca2`); all tools are in the Responses protocol.
pub(super) fn server_tools() -> ServerToolQuirks {
    ServerToolQuirks {
        web_search: WebSearchForm::SearchModels,
        chat: Some(names(["custom"])),
        ..ServerToolQuirks::default()
    }
}

/// What OpenAI's models produce beside text and tool calls (OpenAI's API description: output items of a response).
pub(super) const MAKES: [Feature; 6] = [
    Feature::Thinking,
    Feature::Citations,
    Feature::ImageOutput,
    Feature::AudioOutput,
    Feature::CodeExecution,
    Feature::ServerTools,
];

impl Provider {
    /// Returns the built-in provider `openai`: OpenAI, with the key in `OPENAI_API_KEY`.
    ///
    /// It speaks Chat Completions, and Responses where a model needs it.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::openai().key("sk-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn openai() -> Self {
        let row = hosted("openai", "https://api.openai.com/v1", "OPENAI_API_KEY")
            .modalities([
                Modality::Image,
                Modality::Speech,
                Modality::Transcription,
                Modality::Moderation,
            ])
            .key_url("https://platform.openai.com/settings/organization/api-keys")
            .quirks(|q| {
                // The SDK: `max_tokens` is deprecated, and reasoning models refuse it.
                q.token_cap = TokenCap::MaxCompletionTokens;
                q.max_stops = Some(4);
                q.embeddings = gpt::embeddings();
                q.token_count = TokenCount::InputTokens;
                q.server_tools = server_tools();
                // The purpose "user_data" is for files of any kind (OpenAI's API description).
                q.storage.files = FileApi::PurposeForm;
                q.storage.purpose = Some("user_data".into());
                q.storage.batches = BatchApi::InputFile;
            })
            // Not a parameter of the API, which refuses unknown ones.
            .strip([Param::TopK])
            .also_responses(|row| {
                row.quirks(|q| {
                    q.tool_result_images = ToolResultImages::Accepted;
                    q.user_label = UserLabel::SafetyIdentifier;
                    q.client_tools = ClientTools::Items;
                })
                .clamp(Param::MaxTokens, LEAST_OUTPUT, f64::INFINITY)
            })
            .makes(MAKES);
        gpt::extend(row)
    }
}
