//! Amazon Bedrock, under its Converse API, and for Claude models also under InvokeModel in Anthropic's protocol.
//!
//! Sources, read on 2026-11-18: botocore 1.44.3 (`bedrock-runtime` of 2023-09-30: shapes, limits, exceptions), ai-sdk amazon-bedrock
//! 4.0.186, langchain-aws 1.9.1 and the recordings of the wire `bedrock-converse`. What Claude models refuse is in
//! [`families::claude`](super::families::claude).
//!
//! InvokeModel: anthropic SDK 2.9 (`lib/bedrock`) and the recordings of the wire `bedrock-invoke`.
//!
//! Its list of models has the models and the inference profiles. Embeddings are those of Amazon's Titan models and of
//! Cohere's; each family has its own request.
//!
//! What a model costs depends on the region of the call, or on the geography of the inference profile that it is called through
//! (`us.`, `eu.`, `global.`): models.dev and litellm list both.

use super::common::{efforts, restrict};
use crate::chat::Effort;
use crate::models::Action;
use crate::provider::credential::{AwsSettings, CredentialSource};
use crate::provider::model::{EffortField, EmbedBody, ForcedTools, ModelRule, NativeSchema};
use crate::provider::quirks::{ClientTools, ImageInput, ModelPlace, ServerToolQuirks, ToolCallIds};
use crate::provider::{Auth, Feature, KeySource, Param, Provider};

/// Where OpenAI's open models are served in its own protocol.
const OPENAI_URL: &str = "https://bedrock-runtime.${AWS_REGION}.amazonaws.com/openai/v1";

/// The version of Anthropic's protocol, in the body. It corresponds to `2023-06-01` elsewhere. anthropic SDK 2.9 sends `2026-10-21`, under
/// which fewer parameters are accepted, and which Bedrock accepts for newer models only.
const CLAUDE_VERSION: &str = "bedrock-2023-05-31";

impl Provider {
    /// Returns the built-in provider `bedrock`: Amazon Bedrock, with a key of Bedrock in `AWS_BEARER_TOKEN_BEDROCK`, else with the credentials of
    /// Amazon Web Services. The region is that of `AWS_REGION`, or of the profile.
    ///
    /// It needs the feature `bedrock`. Its own protocol is Converse. Claude models can also be called in Anthropic's, which is Bedrock's
    /// InvokeModel: set `protocol` of a request.
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
        let claude =
            Self::anthropic_compatible("bedrock", base_url).auth(Auth::Bearer).quirks(|q| {
                q.model_place = ModelPlace::Invoke;
                q.images = ImageInput::DataOnly;
                q.client_tools = ClientTools::Versioned;
                q.server_tools = ServerToolQuirks::refused();
            });
        let claude = claude.default_field("anthropic_version", CLAUDE_VERSION);
        let mut row = Self::bedrock_compatible("bedrock", base_url)
            .speaks_for(["*anthropic.claude*"], claude)
            // Recordings bedrock-json-usage-cached-text-28ca1ca8 and bedrock-stream-multi-turn-tool-usage-cached-8f1b8949.
            .speaks_for(
                ["openai.*"],
                Self::openai_compatible("bedrock", OPENAI_URL)
                    .quirks(|q| q.server_tools = ServerToolQuirks::refused()),
            )
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
