//! Mistral AI.
//!
//! It refuses fields that it does not know with 422 `extra_forbidden`, so the row lists the fields that it accepts.
//!
//! Sources, read on 2026-11-15: mistralai SDK 3.7 for Python, ai-sdk mistral 4.0, docs.mistral.ai, reports of others
//! (eca#231, crush#1590, langchainjs#5144), and the recordings `mistral-*`. The page of keys is named in README of
//! mistralai/client-python, read on 2026-11-16.

use super::common::{hosted, json_word, names, restrict};
use crate::chat::Modality;
use crate::models::Action;
use crate::provider::quirks::{
    AudioInputForm, AudioUrlField, BatchApi, DimensionsName, FileApi, FileInputForm,
    ModerationForm, ReasoningEcho, ServerToolQuirks, SpeakerName, SpeechForm, StreamUsage,
    ToolCallIds, ToolResultName, TranscriptionForm,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `mistral`: Mistral AI, with the key in `MISTRAL_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::mistral().key("example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn mistral() -> Self {
        hosted("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY")
            .modalities([Modality::Speech, Modality::Transcription, Modality::Moderation])
            .key_url("https://console.mistral.ai")
            .quirks(|q| {
                // `stream_options` is not in the SDK's schema; usage arrives in the last chunk of all recordings.
                q.stream_usage = StreamUsage::Unasked;
                // Recording `mistral-json-thinking-text-f7af158a`.
                q.reasoning_echo = ReasoningEcho::ThinkingChunk;
                q.tool_call_ids = ToolCallIds::NineAlphanumeric;
                q.tool_result_name = ToolResultName::Required;
                q.speaker_name = SpeakerName::Refused;
                // Recordings `mistral-json-audio-in-text-d868d7ea`, `mistral-stream-audio-in-text-5d4011bd`.
                q.audio = AudioInputForm::Text;
                q.files = FileInputForm::DocumentUrl;
                // Documents in a chat are read with OCR (API description: `FilePurpose`).
                q.storage.files = FileApi::NumberedForm;
                q.storage.purpose = Some("ocr".into());
                q.storage.batches = BatchApi::Job;
                q.embeddings.batch = Some(32);
                q.embeddings.dimensions = DimensionsName::OutputDimension;
                // Mistral's API description and SDK 3.7 (`speech.py`), read on 2026-11-18.
                q.tasks.speech = SpeechForm::VoiceId;
                q.tasks.transcription = TranscriptionForm::Segments;
                q.tasks.audio_url = AudioUrlField::FileUrl;
                q.tasks.moderation = ModerationForm::TextsAndConversations;
                q.server_tools = ServerToolQuirks {
                    chat: Some(names(["image_generation", "document_library", "connector"])),
                    ..ServerToolQuirks::refused()
                };
            })
            // Recording `mistral-json-thinking-usage-cached-77d00f76`.
            .rename(Param::Seed, "random_seed")
            // The range is not documented; a larger value gets 422, "less than or equal to 1.5" (scottyeager/Pal#28).
            .clamp(Param::Temperature, 0.0, 1.5)
            .allow(&[
                "model",
                "messages",
                "temperature",
                "top_p",
                "top_k",
                "max_tokens",
                "stream",
                "stop",
                "random_seed",
                "metadata",
                "response_format",
                "tools",
                "tool_choice",
                "presence_penalty",
                "frequency_penalty",
                "n",
                "parallel_tool_calls",
                "reasoning_effort",
                "prompt_cache_key",
                "service_tier",
                "logprobs",
                "top_logprobs",
            ])
            .makes([Feature::Thinking])
            .telemetry_name("mistral_ai")
            .restriction(
                // 400, code 3230: "Unexpected role 'user' after role 'tool'".
                restrict("mistral-user-after-tool", Action::AssistantAfterTool)
                    .reason("only a message of the assistant may follow a tool's result")
                    .source("error 3230: avante.nvim#2695, litellm#17761, onyx#6458"),
            )
            .restriction(
                restrict(
                    "mistral-schema-keywords",
                    Action::SchemaWithout(names(["$schema", "$id"])),
                )
                .reason("these keywords are not taken")
                .source("ai-sdk mistral 4.0"),
            )
            .restriction(json_word("mistral-json-word").source("docs.mistral.ai, JSON mode"))
            .restriction(
                restrict(
                    "mistral-logprobs",
                    Action::Drop(vec![Param::Logprobs, Param::TopLogprobs]),
                )
                .models(["ministral-3b*"])
                .reason("log probabilities are not enabled for the model")
                .source("recording mistral-err-error-4xx-52d58a4b"),
            )
    }
}
