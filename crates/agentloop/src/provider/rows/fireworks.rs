//! Fireworks AI.
//!
//! Sources, read on 2026-11-15: fireworks-ai SDK 1.2 for Python, ai-sdk fireworks 3.0, and the recordings `fireworks-*`.
//! Rankings are not in its SDK; langchain-fireworks 1.7.1 (`rerank.py`: `POST /rerank`), read on 2026-11-18.
//! The page of keys is named in fw-ai/cookbook (`getting-started.md`), read on 2026-11-16.

use super::common::{clamp, hosted};
use crate::chat::{Effort, Modality, Protocol};
use crate::provider::quirks::{
    AudioInputForm, FileInputForm, IncludeForm, ReasoningEcho, ThinkingForm, VideoInput,
};
use crate::provider::{Auth, Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `fireworks`: Fireworks AI, with the key in `FIREWORKS_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::fireworks().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn fireworks() -> Self {
        hosted("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY")
            .modalities([Modality::Rerank])
            .key_url("https://app.fireworks.ai/settings/users/api-keys")
            .quirks(|q| {
                // Recording `fireworks-json-thinking-text-53145417`.
                q.reasoning_echo = ReasoningEcho::ReasoningContent;
                q.audio = AudioInputForm::Refused;
                q.files = FileInputForm::Refused;
                q.video = VideoInput::VideoUrl;
                q.efforts =
                    Some((&[Effort::None, Effort::Low, Effort::Medium, Effort::High]).into());
                q.thinking = ThinkingForm::TypeSwitchWithBudget;
                q.max_stops = Some(4);
            })
            .strip([Param::Verbosity, Param::Modalities, Param::Audio])
            .speaks(Protocol::Anthropic, "https://api.fireworks.ai/inference/v1", Auth::Bearer)
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking])
            .restriction(
                clamp("fireworks-top-logprobs", Param::TopLogprobs, 0.0, 5.0)
                    .source("fireworks-ai SDK 1.2"),
            )
            .restriction(
                clamp("fireworks-temperature", Param::Temperature, 0.0, 2.0)
                    .source("fireworks-ai SDK 1.2"),
            )
    }
}
