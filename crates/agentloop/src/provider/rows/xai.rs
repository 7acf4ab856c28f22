//! xAI.
//!
//! Responses is the protocol that it recommends, and the only one that shows reasoning. It documents Chat as deprecated.
//!
//! Sources, read on 2026-11-15: ai-sdk xai 5.0, xai_sdk 1.21, docs.x.ai, and the recordings `xai-*`. The page of keys is
//! named in README of xai-org/xai-cookbook, xai-sdk-python (`client.py`), read on 2026-11-16.

use super::common::{efforts, hosted, restrict};
use crate::chat::Effort::{High, Low, Medium, None as NoEffort, Xhigh};
use crate::chat::{Modality, Protocol};
use crate::models::{Action, Restriction};
use crate::provider::quirks::{
    AudioInputForm, CodeExecutionForm, FileSearchForm, ImageForm, IncludeForm, ServerToolQuirks,
    TokenCap, ToolResultImages, WebSearchForm,
};
use crate::provider::{Feature, Param, Provider};

impl Provider {
    /// Returns the built-in provider `xai`: xAI, with the key in `XAI_API_KEY`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder().provider(Provider::xai().key("xai-example")).build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn xai() -> Self {
        let chat = hosted("xai", "https://api.x.ai/v1", "XAI_API_KEY")
            .quirks(|q| {
                q.token_cap = TokenCap::MaxCompletionTokens;
                q.audio = AudioInputForm::Refused;
                q.tasks.image = ImageForm::AspectRatio;
            })
            .strip([
                Param::TopK,
                Param::Verbosity,
                Param::Modalities,
                Param::Audio,
                Param::Metadata,
            ]);
        let mut row = Self::responses_compatible("xai", "https://api.x.ai/v1")
            .modalities([Modality::Image])
            .key_env("XAI_API_KEY")
            .key_url("https://console.x.ai")
            .quirks(|q| {
                // Recordings `xai-json-redacted-thinking-citations-9d6c939a`,
                // `xai-json-redacted-thinking-parallel-tool-calls-0bf06286`.
                q.include = IncludeForm::Reasoning;
                q.tool_result_images = ToolResultImages::Refused;
                q.audio = AudioInputForm::Refused;
                // ai-sdk xai 3.0.138 (`xai-image-model.ts`), read on 2026-11-18.
                q.tasks.image = ImageForm::AspectRatio;
                // The web search is in the first of these recordings; the other tools are in ai-sdk xai.
                q.server_tools = ServerToolQuirks {
                    web_search: WebSearchForm::ExcludedDomains,
                    code_execution: CodeExecutionForm::CodeInterpreter,
                    file_search: FileSearchForm::Protocol,
                    ..ServerToolQuirks::refused()
                };
            })
            .strip([Param::Verbosity, Param::Metadata])
            .speaks_as(chat)
            .makes([
                Feature::Thinking,
                Feature::Citations,
                Feature::CodeExecution,
                Feature::ServerTools,
            ])
            .telemetry_name("x_ai");
        row.restrictions.extend(restrictions());
        row
    }
}

fn restrictions() -> [Restriction; 4] {
    const SOURCE: &str = "ai-sdk xai 5.0; docs.x.ai";
    [
        restrict("xai-no-effort", Action::Drop(vec![Param::ReasoningEffort, Param::Thinking]))
            .models(["grok-4.20*reasoning*"])
            .reason("the model takes no effort")
            .source(SOURCE),
        efforts("xai-effort", &[], [NoEffort, Low, Medium, High])
            .except(["grok-4.6*"])
            .source(SOURCE),
        efforts("xai-grok-4.6-effort", &["grok-4.6*"], [NoEffort, Low, Medium, High, Xhigh])
            .source(SOURCE),
        restrict(
            "xai-reasoning",
            Action::Drop(vec![Param::FrequencyPenalty, Param::PresencePenalty, Param::Stop]),
        )
        .models(["grok-4*", "grok-3-mini*", "grok-code*", "grok-build*"])
        .except(["*non-reasoning*"])
        .protocol(Protocol::OpenAiChat)
        .reason("the model takes no penalties and no stop sequences")
        .source(SOURCE),
    ]
}
