//! What is known of families of models, wherever they are served under their own names.

use std::sync::LazyLock;

use super::Provider;
use super::model::{
    CodeExecutionVersion, ForcedTools, InstructionsRole, ModelRule, NativeSchema, Sampling,
    Signatures, ThinkingControl,
};
use crate::chat::Protocol;

/// What is known of OpenAI's reasoning models. Chat takes tools from them only while they do not think, and loses what
/// they thought between two calls. Their instructions have the role `developer` (ai-sdk, o-series and gpt-5 and later).
/// What they refuse is in the table of restrictions.
pub(super) fn with_gpt(row: Provider) -> Provider {
    let thinks = |pattern: &'static str| {
        ModelRule::new(pattern)
            .with_tools_in(Protocol::OpenAiResponses)
            .with_instructions(InstructionsRole::Developer)
    };
    let rules = [
        ModelRule::new("gpt-5-chat*"),
        thinks("gpt-5*"),
        thinks("gpt-6*"),
        thinks("o1*"),
        thinks("o3*"),
        thinks("o4*"),
    ];
    rules.into_iter().fold(row, Provider::model)
}

/// Returns what is known of the models that are served under their own names wherever `protocol` is spoken.
pub(super) fn of(protocol: Protocol) -> &'static [ModelRule] {
    static CLAUDE: LazyLock<Vec<ModelRule>> = LazyLock::new(claude_models);
    static GEMINI: LazyLock<Vec<ModelRule>> = LazyLock::new(gemini_models);
    match protocol {
        Protocol::Anthropic => &CLAUDE,
        Protocol::Gemini => &GEMINI,
        Protocol::OpenAiChat | Protocol::OpenAiResponses => &[],
    }
}

/// Adds what is known of the Claude models to a provider that serves them over other protocols too.
pub(super) fn with_claude(row: Provider) -> Provider {
    claude_models().into_iter().fold(row, Provider::model)
}

fn claude_models() -> Vec<ModelRule> {
    const LONG: u64 = 128_000;
    let newest = |pattern: &'static str| {
        ModelRule::new(pattern)
            .with_sampling(Sampling::Refused)
            .with_max_output_tokens(LONG)
            // Recorded with Sonnet 4.6 and Sonnet 5 in 2026; Sonnet 4.5 takes the earlier version.
            .with_code_execution(CodeExecutionVersion::V20260120)
    };
    let always = |pattern| newest(pattern).with_thinking(ThinkingControl::LevelAlways);
    let level = |pattern| newest(pattern).with_thinking(ThinkingControl::Level);
    let budget = |pattern: &'static str, most: u64| {
        ModelRule::new(pattern).with_thinking(ThinkingControl::Budget).with_max_output_tokens(most)
    };
    let old = |pattern: &'static str, most: u64| {
        ModelRule::new(pattern).with_json_schema(NativeSchema::No).with_max_output_tokens(most)
    };
    // From Opus 5.5 and Fable 5.1 on, thinking is bound to the model that thought it.
    let bound = |rule: ModelRule| rule.with_signatures(Signatures::OfModel);
    vec![
        bound(always("*claude-opus-5-5*")).with_forced_tools(ForcedTools::Refused),
        bound(always("*claude-sonnet-5-5*")).with_forced_tools(ForcedTools::Refused),
        bound(always("*claude-fable-5-*")).with_forced_tools(ForcedTools::Refused),
        bound(always("*claude-mythos-5-*")).with_forced_tools(ForcedTools::Refused),
        always("*claude-fable-5*"),
        always("*claude-mythos*"),
        level("*claude-opus-5*").with_forced_tools(ForcedTools::WithoutThinking),
        level("*claude-sonnet-5*").with_forced_tools(ForcedTools::WithoutThinking),
        bound(level("*claude-haiku-5-5*")).with_forced_tools(ForcedTools::WithoutThinking),
        level("*claude-haiku-5*").with_forced_tools(ForcedTools::WithoutThinking),
        level("*claude-opus-4-8*"),
        level("*claude-opus-4-7*"),
        level("*claude-*-4-6*").with_sampling(Sampling::Free),
        budget("*claude-*-4-5*", 64_000),
        budget("*claude-opus-4-1*", 32_000),
        budget("*claude-opus-4*", 32_000).with_json_schema(NativeSchema::No),
        budget("*claude-sonnet-4*", 64_000).with_json_schema(NativeSchema::No),
        budget("*claude-3-7*", 64_000).with_json_schema(NativeSchema::No),
        old("*claude-3-5*", 8_192),
        old("*claude-3*", 4_096),
        // One that is newer than this table: as the newest are asked, and nothing is left out.
        ModelRule::new("*claude*").with_thinking(ThinkingControl::Level),
    ]
}

/// The families that are served under this protocol, wherever that is. Models of which the least level is `minimal` can
/// all but stop thinking; the others have `low` as their least.
fn gemini_models() -> Vec<ModelRule> {
    let rule = |pattern, thinking| ModelRule::new(pattern).with_thinking(thinking);
    // These take temperature and the like, and do nothing with them.
    let deaf = |pattern, thinking| rule(pattern, thinking).with_sampling(Sampling::Refused);
    vec![
        rule("*gemini-2.5*", ThinkingControl::Budget),
        rule("*gemini-3*pro*", ThinkingControl::LevelAlways),
        deaf("*gemini-3.5-flash-lite*", ThinkingControl::Level),
        deaf("*gemini-3.6-flash*", ThinkingControl::Level),
        deaf("*gemini-3.7-flash*", ThinkingControl::LevelAlways),
        deaf("*gemini-3.8-flash*", ThinkingControl::LevelAlways),
        rule("*gemini-3*", ThinkingControl::Level),
        deaf("*gemini-4*", ThinkingControl::LevelAlways),
        rule("*gemini-flash-lite-latest", ThinkingControl::Level),
        rule("*gemini-flash-latest", ThinkingControl::LevelAlways),
        rule("*gemini-pro-latest", ThinkingControl::LevelAlways),
    ]
}
