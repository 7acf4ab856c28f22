//! Cerebras.
//!
//! Sources, read on 2026-11-15: cerebras SDK 1.91 for Python and ai-sdk cerebras 3.0. There are no recordings. A schema
//! together with tools gets 400, "tools" is incompatible with "response_format" (litellm#31445). The page of keys is
//! named in README of cerebras-cloud-sdk-python, read on 2026-11-16. Files and batches, read on 2026-11-18:
//! inference-docs.cerebras.ai (API reference: batch), which calls them a private preview.

use super::common::hosted;
use crate::provider::quirks::{
    AudioInputForm, BatchApi, FileApi, FileInputForm, JsonSchemaSupport, ReasoningEcho, TokenCap,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `cerebras`: Cerebras, with the key in `CEREBRAS_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::cerebras().key("csk-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn cerebras() -> Self {
        hosted("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY")
            .key_url("https://cloud.cerebras.ai")
            .quirks(|q| {
                q.token_cap = TokenCap::MaxCompletionTokens;
                q.reasoning_echo = ReasoningEcho::Reasoning;
                q.json_schema = JsonSchemaSupport::NotWithTools;
                q.audio = AudioInputForm::Refused;
                q.files = FileInputForm::Refused;
                q.storage.files = FileApi::PurposeForm;
                q.storage.purpose = Some("batch".into());
                q.storage.batches = BatchApi::InputFile;
            })
            .strip([
                Param::FrequencyPenalty,
                Param::PresencePenalty,
                Param::LogitBias,
                Param::Metadata,
                Param::TopK,
                Param::Verbosity,
                Param::Modalities,
                Param::Audio,
            ])
            .without_embeddings()
            .makes([Feature::Thinking])
    }
}
