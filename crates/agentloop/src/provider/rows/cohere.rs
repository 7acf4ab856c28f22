//! Cohere, at its OpenAI-compatible URL.
//!
//! Sources, read on 2026-11-15: docs.cohere.com (compatibility API), cohere SDK 7.3 for Python (`v2`), and the recordings
//! `cohere-*`. The list of unsupported parameters and the levels of effort are not confirmed by a recording.

use super::common::{hosted, names};
use crate::chat::Effort;
use crate::provider::quirks::{
    AudioInputForm, DimensionsName, EmbeddingForm, FileInputForm, InputTypeWords,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `cohere`: Cohere, with the key in `COHERE_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::cohere().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn cohere() -> Self {
        hosted("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY")
            .quirks(|q| {
                q.audio = AudioInputForm::Refused;
                q.files = FileInputForm::Refused;
                q.efforts = Some((&[Effort::None, Effort::High]).into());
                // The native call, because the compatible one has no input type. Recordings `cohere-json-embeddings-cec7a413`,
                // `cohere-json-embeddings-d32e9be2`.
                q.embeddings.form = EmbeddingForm::TextsByType;
                q.embeddings.path = Some("../../v2/embed".into());
                q.embeddings.batch = Some(96);
                q.embeddings.dimensions = DimensionsName::OutputDimension;
                q.embeddings.input_type = InputTypeWords::Search;
            })
            .strip([
                Param::LogitBias,
                Param::TopLogprobs,
                Param::N,
                Param::User,
                Param::ParallelToolCalls,
                Param::Metadata,
                Param::ServiceTier,
                Param::TopK,
                Param::Verbosity,
                Param::PromptCacheKey,
                Param::Modalities,
                Param::Audio,
            ])
            .clamp(Param::Temperature, 0.0, 1.0)
            .clamp(Param::FrequencyPenalty, 0.0, 1.0)
            .clamp(Param::PresencePenalty, 0.0, 1.0)
            .without_model_list()
            .makes([Feature::Thinking])
            .listing(|list| {
                list.models_dev = Some("cohere".into());
                list.set_litellm([("cohere", ""), ("cohere_chat", "")]);
                // Such names choose an owner.
                list.litellm_skip = names(["*/*", "*:*"]);
            })
    }
}
