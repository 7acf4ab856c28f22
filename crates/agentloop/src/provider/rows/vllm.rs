//! vLLM, on this machine.
//!
//! Sources, read on 2026-11-15: vLLM's documentation. The field of reasoning is `reasoning` since 0.16; earlier versions had
//! `reasoning_content`. There are no recordings. Transcripts, translations and rankings, read on 2026-11-18: docs.vllm.ai 0.22.1 (online
//! serving: `/v1/audio/transcriptions`, `/v1/audio/translations`, `/v1/rerank`). Streamed transcripts have events of their own
//! (`transcription.chunk`: `vllm/entrypoints/openai`), so they are requested whole.

use super::common::local;
use crate::chat::Modality;
use crate::provider::quirks::{
    IncludeForm, ReasoningEcho, ThinkingForm, TranscriptionForm, VideoInput,
};
use crate::provider::{Feature, Provider};

impl Provider {
    /// Returns the built-in provider `vllm`: vLLM on this machine, at port 8000. The key in `VLLM_API_KEY` is sent if it is
    /// set.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let elsewhere = Provider::vllm().base_url("http://gpu.internal:8000/v1");
    /// let ai = AgentLoop::builder().provider(elsewhere).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn vllm() -> Self {
        local("vllm", "http://localhost:8000/v1", "VLLM_API_KEY")
            .modalities([Modality::Transcription, Modality::Rerank])
            .quirks(|q| {
                q.reasoning_echo = ReasoningEcho::Reasoning;
                q.thinking = ThinkingForm::TemplateArgument;
                q.video = VideoInput::VideoUrl;
                q.tasks.transcription = TranscriptionForm::Complete;
            })
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking])
    }
}
