//! Claude models, at Anthropic and wherever they are served under their own names.
//!
//! Sources, read on 2026-11-15: anthropic SDK 2.8 for Python (types and warnings about models), ai-sdk anthropic 4.0
//! (`anthropic-model-catalog.ts`), litellm 1.108, and the recordings `anthropic-*`.

use crate::chat::Protocol;
use crate::media::MediaKind;
use crate::models::{Action, Condition, Restriction};
use crate::provider::model::{
    CodeExecutionVersion, ForcedTools, ModelRule, NativeSchema, Sampling, Signatures,
    ThinkingControl,
};
use crate::provider::{Param, Provider};

/// Adds what is known of the models to a provider that serves them over other protocols too.
pub(in crate::provider::rows) fn extend(row: Provider) -> Provider {
    models().into_iter().fold(row, Provider::model)
}

/// Returns what is known of the models.
pub(in crate::provider::rows) fn models() -> Vec<ModelRule> {
    const LONG: u64 = 128_000;
    let newest = |pattern: &'static str| {
        ModelRule::new(pattern)
            .with_sampling(Sampling::Refused)
            .with_max_output_tokens(LONG)
            // Recordings `anthropic-json-code-execution-server-tool-7d400333` and `-b73dd47c` (2026, Sonnet 4.6 and
            // Sonnet 5); Sonnet 4.5 takes the earlier version.
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
    // From Opus 5.5 and Fable 5.1 on, thinking is bound to the model that produced it (anthropic SDK 2.8).
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
        // A model that is newer than this table is called like the newest ones, and nothing is left out.
        ModelRule::new("*claude*").with_thinking(ThinkingControl::Level),
    ]
}

/// The models of which Amazon Bedrock refuses schemas, or does not follow them reliably (ai-sdk amazon-bedrock 4.0.186,
/// `bedrock-anthropic-model-support.ts`).
const WITHOUT_SCHEMA: [&str; 7] = [
    "claude-opus-4-7",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-fable-5",
    "claude-sonnet-5",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
];

/// Returns what is known of the models under Amazon Bedrock's protocol.
pub(super) fn models_of_bedrock() -> Vec<ModelRule> {
    let mut rules: Vec<ModelRule> = Vec::new();
    for rule in models() {
        let name = rule.pattern.trim_matches('*').to_owned();
        if WITHOUT_SCHEMA.iter().any(|start| name.starts_with(start)) {
            rules.push(rule.with_json_schema(NativeSchema::No));
            continue;
        }
        for model in WITHOUT_SCHEMA {
            if rule.matches(model) && !rules.iter().any(|known| known.matches(model)) {
                let mut one = rule.clone().with_json_schema(NativeSchema::No);
                one.pattern = format!("*{model}*").into();
                rules.push(one);
            }
        }
        rules.push(rule);
    }
    rules
}

/// Returns what the models refuse under Anthropic's protocol and under that of Amazon Bedrock.
pub(super) fn restrictions() -> Vec<Restriction> {
    let of_bedrock = |mut row: Restriction| {
        row.id = format!("bedrock-{}", row.id).into();
        row.protocol(Protocol::Bedrock)
    };
    let own = restrictions_of_anthropic();
    // The codec knows the types of images.
    let shared = own.iter().filter(|row| row.id != "claude-image-types").cloned();
    let shared: Vec<Restriction> = shared.map(of_bedrock).collect();
    own.into_iter().chain(shared).collect()
}

fn restrictions_of_anthropic() -> Vec<Restriction> {
    let row = |id: &'static str, then| Restriction::new(id, then).protocol(Protocol::Anthropic);
    let most = |id: &'static str, models: &[&'static str], max: f64| {
        row(id, Action::Clamp { param: Param::MaxTokens, min: 0.0, max })
            .models(models.iter().copied())
            .reason("the model's responses are not longer")
            .source("Anthropic's model list; litellm")
    };
    vec![
        // litellm#15097, open-webui#17922: 400 "`temperature` and `top_p` cannot both be specified for this model".
        row("claude-temperature-or-top-p", Action::Drop(vec![Param::TopP]))
            .models(["*claude-opus-4-1*", "*claude-*-4-5*", "*claude-*-4-6*"])
            .when([Condition::Set(Param::Temperature)])
            .reason("`temperature` and `top_p` cannot both be set for this model")
            .source("litellm#15097, open-webui#17922"),
        row("claude-prefill", Action::NoPrefill)
            .models([
                "*claude-*-4-6*",
                "*claude-*-4-7*",
                "*claude-*-4-8*",
                "*claude-opus-5*",
                "*claude-sonnet-5*",
                "*claude-haiku-5*",
                "*claude-fable*",
                "*claude-mythos*",
            ])
            .reason("the conversation must not end with a message of the assistant")
            .source("litellm: supports_assistant_prefill is false from 4.6"),
        row(
            "claude-image-types",
            Action::MediaTypes {
                kind: MediaKind::Image,
                types: vec![
                    "image/jpeg".into(),
                    "image/png".into(),
                    "image/gif".into(),
                    "image/webp".into(),
                ],
            },
        )
        .models(["*claude*"])
        .reason("images of other types are refused")
        .source("anthropic SDK 2.8: image source types"),
        most("claude-4-5-output", &["*claude-*-4-5*"], 64_000.0),
        most("claude-opus-4-1-output", &["*claude-opus-4-1*"], 32_000.0),
        most(
            "claude-output",
            &[
                "*claude-*-4-6*",
                "*claude-*-4-7*",
                "*claude-*-4-8*",
                "*claude-opus-5*",
                "*claude-sonnet-5*",
                "*claude-haiku-5*",
                "*claude-fable*",
                "*claude-mythos*",
            ],
            128_000.0,
        ),
    ]
}
