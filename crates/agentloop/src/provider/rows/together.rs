//! Together AI.
//!
//! Sources, read on 2026-11-15: together SDK 3.0 for Python (`_client.py`, `types/chat`, `types/embedding.py`), litellm
//! 1.108 (`together_ai`), and the recordings `together-*`. The page of keys is named in README of together-python, read
//! on 2026-11-16.

use super::common::{clamp, efforts, hosted};
use crate::chat::Effort::{self, High, Low, Max, Medium, None as NoEffort};
use crate::chat::Modality;
use crate::provider::quirks::{
    AudioUrlField, DimensionsName, FileInputForm, ImageForm, LogprobsForm, ReasoningEcho,
    SpeechForm, ThinkingForm, TranscriptionForm, VideoInput,
};
use crate::provider::{Feature, Param, Provider};

const EFFORTS: &[Effort] = &[Low, Medium, High, Max];

impl Provider {
    /// Returns the built-in provider `together`: Together AI, with the key in `TOGETHER_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::together().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn together() -> Self {
        const SOURCE: &str = "together SDK 3.0; litellm together_ai";
        hosted("together", "https://api.together.ai/v1", "TOGETHER_API_KEY")
            .modalities([
                Modality::Image,
                Modality::Speech,
                Modality::Transcription,
                Modality::Rerank,
            ])
            .key_url("https://api.together.xyz/settings/api-keys")
            .quirks(|q| {
                // Recordings `together-json-logprobs-thinking-a27c0120`, `together-stream-logprobs-thinking-13ae6cd8`.
                q.logprobs = LogprobsForm::Count;
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.files = FileInputForm::Refused;
                q.video = VideoInput::VideoUrl;
                // Which of them a model knows is in the restrictions below.
                q.efforts = Some(EFFORTS.into());
                q.thinking = ThinkingForm::ReasoningEnabled;
                q.embeddings.dimensions = DimensionsName::Refused;
                // Together SDK 3.1, read on 2026-11-18.
                q.tasks.image = ImageForm::WidthAndHeight;
                q.tasks.speech = SpeechForm::Plain;
                q.tasks.transcription = TranscriptionForm::Complete;
                q.tasks.audio_url = AudioUrlField::File;
            })
            // Absent from the SDK's parameters.
            .strip([
                Param::User,
                Param::ParallelToolCalls,
                Param::ServiceTier,
                Param::Metadata,
                Param::Verbosity,
                Param::PromptCacheKey,
                Param::Modalities,
                Param::Audio,
            ])
            .makes([Feature::Thinking])
            .restriction(
                efforts("together-effort", &[], [NoEffort, Low, Medium, High])
                    .except(["*deepseek-v4-pro*"])
                    .source(SOURCE),
            )
            .restriction(
                efforts("together-deepseek-effort", &["*deepseek-v4-pro*"], [NoEffort, High, Max])
                    .source(SOURCE),
            )
            .restriction(
                clamp("together-top-logprobs", Param::TopLogprobs, 0.0, 20.0)
                    .source("together SDK 3.0"),
            )
    }
}
