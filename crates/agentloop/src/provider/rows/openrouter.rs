//! OpenRouter, a router to the models of many providers.
//!
//! Sources, read on 2026-11-15: openrouter SDK 1.3 for Python and the recordings `openrouter-*`. It ignores parameters
//! that the chosen model does not take. The page of keys is named in OpenRouterTeam/typescript-sdk (`OVERVIEW.md`), read
//! on 2026-11-16.

use super::common::{hosted, names};
use crate::chat::Protocol;
use crate::provider::quirks::{
    CacheMarkers, ImageOutputForm, ParsedFiles, ReasoningEcho, ServerToolQuirks, ThinkingForm,
    VideoInput, WebSearchForm,
};
use crate::provider::{Auth, Feature, Provider};

impl Provider {
    /// Returns the built-in provider `openrouter`: OpenRouter, with the key in `OPENROUTER_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::openrouter().key("sk-or-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn openrouter() -> Self {
        hosted("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY")
            .key_url("https://openrouter.ai/settings/keys")
            .quirks(|q| {
                // Recording `openrouter-stream-thinking-multi-turn-tool-4a86bf4c`.
                q.reasoning_echo = ReasoningEcho::ReasoningDetails;
                // Recording `openrouter-stream-thinking-usage-reasoning-ed92ffbc`.
                q.thinking = ThinkingForm::ReasoningObject;
                q.cache_markers = CacheMarkers::OnParts;
                // openrouter SDK 1.3: `annotations` of the type `file`.
                q.parsed_files = ParsedFiles::Returned;
                q.video = VideoInput::VideoUrl;
                q.image_output = ImageOutputForm::ImageConfig;
                // Recording `openrouter-stream-citations-text-afe237cf`.
                q.server_tools = ServerToolQuirks {
                    web_search: WebSearchForm::Parameters,
                    chat: Some(names(["openrouter"])),
                    ..ServerToolQuirks::refused()
                };
            })
            .speaks(Protocol::Anthropic, "https://openrouter.ai/api/v1", Auth::Bearer)
            .also_responses(|row| row)
            .makes([
                Feature::Thinking,
                Feature::Citations,
                Feature::ImageOutput,
                Feature::ServerTools,
            ])
    }
}
