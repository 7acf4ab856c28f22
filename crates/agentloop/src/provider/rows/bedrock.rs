//! Amazon Bedrock, under its Converse API.
//!
//! Sources, read on 2026-11-18: botocore 1.44.3 (`bedrock-runtime` of 2023-09-30: shapes, limits, exceptions), ai-sdk amazon-bedrock
//! 4.0.186, langchain-aws 1.9.1 and the recordings of the wire `bedrock-converse`. What Claude models refuse is in
//! [`families::claude`](super::families::claude).
//!
//! Its list of models has the models and the inference profiles. Embeddings are those of Amazon's Titan models and of
//! Cohere's; each family has its own request.

use super::common::{efforts, restrict};
use crate::chat::Effort;
use crate::models::Action;
use crate::provider::credential::{AwsSettings, CredentialSource};
use crate::provider::model::{EffortField, EmbedBody, ForcedTools, ModelRule, NativeSchema};
use crate::provider::quirks::ToolCallIds;
use crate::provider::{Feature, KeySource, Param, Provider};

impl Provider {
    /// Returns the built-in provider `bedrock`: Amazon Bedrock, with a key of Bedrock in `AWS_BEARER_TOKEN_BEDROCK`, else with the credentials of
    /// Amazon Web Services. The region is that of `AWS_REGION`, or of the profile.
    ///
    /// It needs the feature `bedrock`.
    ///
    /// ```
    /// use agentloop::{AgentLoop, Provider};
    ///
    /// let ai = AgentLoop::builder()
    ///     .provider(Provider::bedrock().key("example"))
    ///     .env("AWS_REGION", "us-east-1")
    ///     .build()?;
    /// # Ok::<(), agentloop::Error>(())
    /// ```
    pub fn bedrock() -> Self {
        let base_url = "https://bedrock-runtime.${AWS_REGION}.amazonaws.com";
        let mut row = Self::bedrock_compatible("bedrock", base_url)
            .makes([Feature::Thinking, Feature::Citations, Feature::ImageOutput])
            .restriction(
                restrict("bedrock-ids", Action::ShortenIds(64))
                    .reason("ids of tool calls have at most 64 characters")
                    .source("botocore 1.44.3: ToolUseId"),
            )
            .restriction(
                restrict(
                    "bedrock-metadata",
                    Action::Metadata { entries: 16, key: 256, value: 256 },
                )
                .reason("`metadata` holds at most 16 pairs of at most 256 characters each")
                .source("botocore 1.44.3: RequestMetadata"),
            )
            .restriction(
                restrict("bedrock-nova-top-k", Action::Drop(vec![Param::TopK]))
                    .models(["*amazon.nova*"])
                    .reason("the model has it as `inferenceConfig.topK` of its own fields")
                    .source("recording bedrock-json-content-filter-text-581b8fd8"),
            )
            .restriction(
                efforts(
                    "bedrock-nova-efforts",
                    &["*amazon.nova-2*"],
                    [Effort::Low, Effort::Medium, Effort::High],
                )
                .source("langchain-aws 1.9.1: _validate_nova_reasoning_config"),
            )
            .telemetry_name("aws.bedrock");
        row = models().into_iter().fold(row, Provider::model);
        row.key = KeySource::EnvIfSet(vec!["AWS_BEARER_TOKEN_BEDROCK".into()]);
        row.credential = CredentialSource::Aws(AwsSettings::default());
        row
    }
}

/// Returns what is known of the models of others than Anthropic.
fn models() -> Vec<ModelRule> {
    // langchain-aws 1.9.1, `bedrock_converse.py`: which models accept a forced call. ai-sdk requests JSON natively of Claude models only.
    let plain = |pattern: &'static str| ModelRule::new(pattern).with_json_schema(NativeSchema::No);
    let unforced = |pattern| plain(pattern).with_forced_tools(ForcedTools::Refused);
    // langchain-aws 1.9.1, `utils.py`: reasoning_effort_additional_fields.
    vec![
        plain("*amazon.nova-2*").with_effort_field(EffortField::ReasoningConfig),
        plain("*amazon.nova*"),
        unforced("*amazon.titan*"),
        unforced("*meta.llama*"),
        plain("*cohere.embed*").with_embed_body(EmbedBody::Texts),
        unforced("*cohere.*"),
        unforced("*ai21.*"),
        // ai-sdk amazon-bedrock (03344db), `normalize-tool-call-id.ts`: ids have nine letters and digits.
        plain("*mistral.mistral-large*").with_tool_call_ids(ToolCallIds::NineAlphanumeric),
        unforced("*mistral.*").with_tool_call_ids(ToolCallIds::NineAlphanumeric),
        unforced("*openai.gpt-oss*").with_effort_field(EffortField::ReasoningEffort),
        plain("*openai.gpt-*").with_effort_field(EffortField::Reasoning),
        plain("*moonshot*").with_effort_field(EffortField::ReasoningEffort),
        plain("*zai.glm-*").with_effort_field(EffortField::ReasoningEffort),
        unforced("*deepseek.r1*"),
        plain("*deepseek.*"),
    ]
}
