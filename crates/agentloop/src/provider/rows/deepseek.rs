//! DeepSeek.
//!
//! Sources, read on 2026-11-15: api-docs.deepseek.com (thinking mode, JSON output, function calling), ai-sdk deepseek
//! 3.0, and the recordings `deepseek-*`. The page of keys is named in README of
//! deepseek-ai/awesome-deepseek-integration, read on 2026-11-16.

use super::common::{clamp, hosted, images, json_word, restrict};
use crate::chat::{Effort, Protocol};
use crate::models::{Action, Condition};
use crate::provider::quirks::{
    AudioInputForm, IncludeForm, JsonSchemaSupport, ReasoningEcho, ServerToolQuirks, ThinkingForm,
    ToolResultImages, WebSearchForm,
};
use crate::provider::{Auth, Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `deepseek`: DeepSeek, with the key in `DEEPSEEK_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::deepseek().key("sk-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn deepseek() -> Self {
        const FORCED: &str = "recording deepseek-err-error-4xx-8fbbf640";
        const DOCS: &str = "api-docs.deepseek.com";
        const DOCS_AND_SDK: &str = "api-docs.deepseek.com; ai-sdk deepseek 3.0";
        let row = hosted("deepseek", "https://api.deepseek.com", "DEEPSEEK_API_KEY")
            .key_url("https://platform.deepseek.com")
            .quirks(|q| {
                // Recordings `deepseek-json-parallel-tool-calls-thinking-9eb3528a` and
                // `deepseek-json-thinking-multi-turn-tool-9840e6f0`. Without it: "reasoning_content in the thinking mode
                // must be passed back".
                q.reasoning_echo = ReasoningEcho::ReasoningContentRequired;
                q.json_schema = JsonSchemaSupport::InInstructions;
                q.tool_result_images = ToolResultImages::Accepted;
                q.audio = AudioInputForm::Refused;
                q.efforts = Some((&[Effort::Low, Effort::High, Effort::Max]).into());
                q.thinking = ThinkingForm::TypeSwitch;
                q.max_stops = Some(16);
                // Recording `deepseek-json-search-results-server-tool-a6e7e3f6` (2026): Responses searches, Chat does not.
                q.server_tools = ServerToolQuirks {
                    web_search: WebSearchForm::Responses,
                    ..ServerToolQuirks::refused()
                };
            })
            // Absent from the documentation, or deprecated in it.
            .strip([
                Param::N,
                Param::Seed,
                Param::LogitBias,
                Param::FrequencyPenalty,
                Param::PresencePenalty,
                Param::ParallelToolCalls,
                Param::ServiceTier,
                Param::Metadata,
                Param::TopK,
                Param::Verbosity,
                Param::PromptCacheKey,
                Param::Modalities,
                Param::Audio,
            ])
            .without_embeddings();
        // In Anthropic's Messages the field has the name of that protocol.
        let messages = Self {
            protocol: Protocol::Anthropic,
            base_url: "https://api.deepseek.com/anthropic/v1".into(),
            auth: Auth::XApiKey,
            ..row.clone()
        };
        row.rename(Param::User, "user_id")
            .speaks_as(messages)
            .also_responses(|row| row.quirks(|q| q.include = IncludeForm::Refused))
            .makes([Feature::Thinking, Feature::ServerTools])
            .restriction(
                restrict("deepseek-forced-call", Action::ThinkingOff)
                    .protocol(Protocol::OpenAiChat)
                    .when([Condition::ForcedChoice, Condition::ThinkingUnasked])
                    .reason("a call can be forced only while the model does not think")
                    .source(FORCED),
            )
            .restriction(
                restrict("deepseek-forced-call-and-thinking", Action::ChoiceAuto)
                    .protocol(Protocol::OpenAiChat)
                    .when([Condition::ForcedChoice, Condition::ThinkingAsked])
                    .reason("a call can be forced only while the model does not think")
                    .source(FORCED),
            )
            .restriction(
                restrict("deepseek-tools", Action::KeepTools(128))
                    .reason("at most 128 tools are taken")
                    .source(DOCS_AND_SDK),
            )
            .restriction(
                restrict("deepseek-strict-tools", Action::LooseTools)
                    .when([Condition::BaseUrlOtherThan("/beta".into())])
                    .reason("strict functions are taken at the URL that ends in /beta only")
                    .source(DOCS_AND_SDK),
            )
            .restriction(
                json_word("deepseek-json-word").source("api-docs.deepseek.com, JSON output"),
            )
            .restriction(clamp("deepseek-top-logprobs", Param::TopLogprobs, 0.0, 20.0).source(DOCS))
            .restriction(
                restrict("deepseek-user", Action::Longest { param: Param::User, bytes: 512 })
                    .reason("it has at most 512 characters")
                    .source(DOCS),
            )
            .restriction(
                images("deepseek-images", &["image/png", "image/jpeg", "image/gif", "image/webp"])
                    .source(DOCS),
            )
    }
}
