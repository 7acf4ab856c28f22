//! Cohere, under its own protocol.
//!
//! Sources, read on 2026-11-16: cohere SDK 7.3.1 for Python (`v2`), docs.cohere.com (compatibility API), and the recordings
//! `cohere-*`. What the OpenAI endpoint does not support and the levels of effort there are not confirmed by a recording.
//!
//! The OpenAI endpoint has neither documents nor citations, so the own API is the default (ADR 20).
//!
//! The page of keys is named in cohere-ai/cohere-developer-experience (`about.mdx`), read on 2026-11-16.

use super::common::{hosted, restrict};
use crate::chat::{Effort, Protocol};
use crate::models::{Action, Condition};
use crate::provider::quirks::{
    AudioInputForm, DimensionsName, EmbeddingForm, FileInputForm, InputTypeWords,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `cohere`: Cohere, with the key in `COHERE_API_KEY`.
    ///
    /// Text files of the user that are to be cited are sent as documents:
    ///
    /// ```
    /// use agentloop::{AgentLoop, ChatRequest, ContentPart, FileInput, Provider, inspect};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::cohere().key("example")).build()?;
    /// let mut file = FileInput::default();
    /// file.file_data = Some("data:text/plain,The sky is green.".to_owned());
    /// file.citations = Some(true);
    /// let question = vec![
    ///     ContentPart::File { file, cache_control: None },
    ///     ContentPart::text("What color is the sky?"),
    /// ];
    /// let request = ChatRequest::new("cohere/command-a-03-2025").user(question);
    /// let encoded = inspect::encode(&ai, &request, false)?;
    /// assert!(encoded.body.get().contains(r#""documents":[{"id":"doc_0","data":{"text":"The sky is green."}}]"#));
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn cohere() -> Self {
        Self::cohere_compatible("cohere", "https://api.cohere.com/v2")
            .key_env("COHERE_API_KEY")
            .key_url("https://dashboard.cohere.com/api-keys")
            .clamp(Param::Temperature, 0.0, 1.0)
            .clamp(Param::TopP, 0.01, 0.99)
            .speaks_as(compatible())
            .restriction(
                restrict("cohere-tools-and-format", Action::FormatInWords)
                    .protocol(Protocol::Cohere)
                    .when([Condition::Functions, Condition::Format])
                    .reason("the API takes no JSON format beside tools")
                    .source("cohere SDK 7.3.1: types/response_format_v2.py"),
            )
            .makes([Feature::Thinking, Feature::Citations])
    }
}

/// Returns the OpenAI endpoint.
fn compatible() -> Provider {
    hosted("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY")
        .quirks(|q| {
            q.audio = AudioInputForm::Refused;
            q.files = FileInputForm::Refused;
            q.efforts = Some((&[Effort::None, Effort::High]).into());
            // The native call, because the compatible one has no input type. Recordings `cohere-json-embeddings-cec7a413`,
            // `cohere-json-embeddings-d32e9be2`.
            q.embeddings.form = EmbeddingForm::TextsByType;
            q.embeddings.path = Some("../../v2/embed".into());
            q.tasks.rerank_path = Some("../../v2/rerank".into());
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
}
