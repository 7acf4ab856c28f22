//! Rules for single models of a provider.
//!
//! Requests for an unknown model are sent unchanged; the provider decides.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Provider;
use super::quirks::ToolCallIds;
use super::rows::families::think_tags;
use crate::chat::{Efforts, Protocol};
use crate::models::{Hints, pattern};

/// What is special about some models of a provider.
///
/// ```
/// use agentloop::provider::{ModelRule, Sampling};
///
/// let rule = ModelRule::new("big-*").with_sampling(Sampling::Refused).with_max_output_tokens(32_000);
/// assert!(rule.matches("big-one"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct ModelRule {
    /// The models, by name: `*` matches any text, letter case does not matter.
    pub pattern: Cow<'static, str>,
    /// Whether sampling parameters are accepted.
    #[serde(default)]
    pub sampling: Sampling,
    /// Whether thinking is part of the text, between tags.
    #[serde(default)]
    pub think_tags: ThinkTags,
    /// How thinking is requested.
    #[serde(default)]
    pub thinking: ThinkingControl,
    /// Whether a tool call can be forced.
    #[serde(default)]
    pub forced_tools: ForcedTools,
    /// Whether the model follows a JSON schema natively.
    #[serde(default)]
    pub json_schema: NativeSchema,
    /// The largest number of tokens of a response.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// The protocol of requests with tools, if it is not the provider's own.
    #[serde(default)]
    pub tools_in: Option<Protocol>,
    /// The models that accept thinking which the model signed.
    #[serde(default)]
    pub signatures: Signatures,
    /// The role of messages with instructions.
    #[serde(default)]
    pub instructions: InstructionsRole,
    /// The version of the code execution tool in Anthropic's Messages.
    #[serde(default)]
    pub code_execution: CodeExecutionVersion,
    /// The field of the effort in Amazon Bedrock's Converse.
    #[serde(default)]
    pub effort_field: EffortField,
    /// The body of a request for embeddings in Amazon Bedrock's InvokeModel.
    #[serde(default)]
    pub embed_body: EmbedBody,
    /// The ids of tool calls in Amazon Bedrock's Converse.
    #[serde(default)]
    pub tool_call_ids: ToolCallIds,
}

macro_rules! knowledge {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }
    };
}

knowledge! {
    /// How thinking is requested.
    ThinkingControl {
        /// It is not known: as the request asks.
        #[default]
        Unknown,
        /// By a budget of tokens.
        Budget,
        /// By a level; it can be switched off.
        Level,
        /// By a level; it cannot be switched off.
        LevelAlways,
    }
}

knowledge! {
    /// Whether a tool call can be forced.
    ForcedTools {
        /// It can.
        #[default]
        Accepted,
        /// Only while the model does not think.
        WithoutThinking,
        /// It cannot.
        Refused,
    }
}

knowledge! {
    /// Whether a model follows a JSON schema natively.
    NativeSchema {
        /// It does.
        #[default]
        Yes,
        /// It does not.
        No,
    }
}

knowledge! {
    /// The models that accept signed thinking.
    Signatures {
        /// Every model of the provider.
        #[default]
        OfProvider,
        /// Only the model that signed it.
        OfModel,
    }
}

knowledge! {
    /// The role of messages with instructions, in OpenAI's protocols.
    InstructionsRole {
        /// `system`.
        #[default]
        System,
        /// `developer`.
        Developer,
    }
}

knowledge! {
    /// The versions of the code execution tool in Anthropic's Messages.
    CodeExecutionVersion {
        /// `code_execution_20250825`.
        #[default]
        V20250825,
        /// `code_execution_20260120`.
        V20260120,
    }
}

knowledge! {
    /// The fields of the effort in Amazon Bedrock's Converse. All but the first are fields of the model.
    EffortField {
        /// `outputConfig.effort`.
        #[default]
        OutputConfig,
        /// `reasoning_effort`.
        ReasoningEffort,
        /// `reasoning.effort`.
        Reasoning,
        /// `reasoningConfig.maxReasoningEffort`.
        ReasoningConfig,
    }
}

knowledge! {
    /// The bodies of requests for embeddings in Amazon Bedrock's InvokeModel: each family of models has its own.
    EmbedBody {
        /// `inputText`: one text in each call. Amazon's Titan models.
        #[default]
        InputText,
        /// `texts`: up to 96 texts in each call, with `input_type`. Cohere's models.
        Texts,
    }
}

/// Whether sampling parameters (temperature, penalties) are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sampling {
    /// They can.
    #[default]
    Free,
    /// They cannot.
    Refused,
}

/// Whether thinking is part of the text, between tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkTags {
    /// It is not; tags are text.
    #[default]
    None,
    /// Between `<think>` and `</think>`.
    Paired,
    /// Between `<reasoning>` and `</reasoning>`.
    Reasoning,
}

/// The properties of one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModelTraits {
    pub(crate) sampling: Sampling,
    pub(crate) think_tags: ThinkTags,
    pub(crate) thinking: ThinkingControl,
    pub(crate) forced_tools: ForcedTools,
    pub(crate) json_schema: NativeSchema,
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) tools_in: Option<Protocol>,
    pub(crate) signatures: Signatures,
    pub(crate) instructions: InstructionsRole,
    pub(crate) code_execution: CodeExecutionVersion,
    pub(crate) effort_field: EffortField,
    pub(crate) embed_body: EmbedBody,
    pub(crate) tool_call_ids: ToolCallIds,
    /// Whether it thinks at all; absent means unknown.
    pub(crate) reasoning: Option<bool>,
    /// The levels of effort that the model knows, where they are listed.
    pub(crate) efforts: Option<Efforts>,
}

impl ModelTraits {
    /// Fills in from the catalog what no rule sets.
    pub(crate) fn complete(&mut self, hints: &Hints) {
        self.max_output_tokens = self.max_output_tokens.or(hints.max_output_tokens);
        self.efforts = hints.efforts;
        if hints.abilities.structured_output == Some(false) {
            self.json_schema = NativeSchema::No;
        }
        // A rule for how thinking is requested implies that the model thinks.
        self.reasoning = match self.thinking {
            ThinkingControl::Unknown => hints.abilities.reasoning,
            _ => Some(true),
        };
    }
}

impl ModelRule {
    /// Creates a rule for the models that match `pattern`. It changes nothing until other methods are called.
    ///
    /// ```
    /// use agentloop::provider::{ModelRule, ThinkTags};
    ///
    /// let rule = ModelRule::new("*-r1*").with_think_tags(ThinkTags::Paired);
    /// assert!(rule.matches("lab-r1-mini"));
    /// ```
    pub fn new(pattern: impl Into<Cow<'static, str>>) -> Self {
        Self {
            pattern: pattern.into(),
            sampling: Sampling::default(),
            think_tags: ThinkTags::default(),
            thinking: ThinkingControl::default(),
            forced_tools: ForcedTools::default(),
            json_schema: NativeSchema::default(),
            max_output_tokens: None,
            tools_in: None,
            signatures: Signatures::default(),
            instructions: InstructionsRole::default(),
            code_execution: CodeExecutionVersion::default(),
            effort_field: EffortField::default(),
            embed_body: EmbedBody::default(),
            tool_call_ids: ToolCallIds::default(),
        }
    }

    /// Sets whether sampling parameters are accepted.
    #[must_use]
    pub fn with_sampling(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// Sets the tags of thinking in the text.
    #[must_use]
    pub fn with_think_tags(self, think_tags: ThinkTags) -> Self {
        Self { think_tags, ..self }
    }

    /// Sets how thinking is requested.
    #[must_use]
    pub fn with_thinking(self, thinking: ThinkingControl) -> Self {
        Self { thinking, ..self }
    }

    /// Sets whether a tool call can be forced.
    #[must_use]
    pub fn with_forced_tools(self, forced_tools: ForcedTools) -> Self {
        Self { forced_tools, ..self }
    }

    /// Sets whether the models follow a JSON schema natively.
    #[must_use]
    pub fn with_json_schema(self, json_schema: NativeSchema) -> Self {
        Self { json_schema, ..self }
    }

    /// Sets the largest number of tokens of a response.
    #[must_use]
    pub fn with_max_output_tokens(self, tokens: u64) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    /// Sets the protocol of requests with tools.
    #[must_use]
    pub fn with_tools_in(self, protocol: Protocol) -> Self {
        Self { tools_in: Some(protocol), ..self }
    }

    /// Sets which models accept thinking that these sign.
    #[must_use]
    pub fn with_signatures(self, signatures: Signatures) -> Self {
        Self { signatures, ..self }
    }

    /// Sets the role of messages with instructions.
    #[must_use]
    pub fn with_instructions(self, instructions: InstructionsRole) -> Self {
        Self { instructions, ..self }
    }

    /// Sets the field of the effort in Amazon Bedrock's Converse.
    #[must_use]
    pub fn with_effort_field(self, effort_field: EffortField) -> Self {
        Self { effort_field, ..self }
    }

    /// Sets the body of a request for embeddings in Amazon Bedrock's InvokeModel.
    #[must_use]
    pub fn with_embed_body(self, embed_body: EmbedBody) -> Self {
        Self { embed_body, ..self }
    }

    /// Sets the ids of tool calls in Amazon Bedrock's Converse.
    #[must_use]
    pub fn with_tool_call_ids(self, tool_call_ids: ToolCallIds) -> Self {
        Self { tool_call_ids, ..self }
    }

    /// Sets the version of the code execution tool in Anthropic's Messages.
    #[must_use]
    pub fn with_code_execution(self, code_execution: CodeExecutionVersion) -> Self {
        Self { code_execution, ..self }
    }

    /// Returns whether the rule applies to `model`.
    pub fn matches(&self, model: &str) -> bool {
        pattern::matches(&self.pattern, model)
    }
}

/// Returns whether two names mean one model: a date at the end and the text before a slash do not count.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    fn bare(name: &str) -> &str {
        let name = name.rsplit('/').next().unwrap_or(name);
        match name.rsplit_once(['-', '@']) {
            Some((bare, date)) if date == "latest" || is_date(date) => bare,
            _ => name,
        }
    }
    fn is_date(text: &str) -> bool {
        text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
    }
    bare(one).eq_ignore_ascii_case(bare(other))
}

/// Returns what is known of `model` from the rule that applies to it, and from the tags of its family.
pub(crate) fn traits_of(rule: Option<&ModelRule>, model: &str) -> ModelTraits {
    let mut traits = ModelTraits::default();
    if let Some(rule) = rule {
        traits = ModelTraits {
            sampling: rule.sampling,
            think_tags: rule.think_tags,
            thinking: rule.thinking,
            forced_tools: rule.forced_tools,
            json_schema: rule.json_schema,
            max_output_tokens: rule.max_output_tokens,
            tools_in: rule.tools_in,
            signatures: rule.signatures,
            instructions: rule.instructions,
            code_execution: rule.code_execution,
            effort_field: rule.effort_field,
            embed_body: rule.embed_body,
            tool_call_ids: rule.tool_call_ids,
            reasoning: None,
            efforts: None,
        };
    }
    if traits.think_tags == ThinkTags::None {
        traits.think_tags = think_tags::of(model);
    }
    traits
}

impl Provider {
    /// Returns what is known of a model: from the provider's rules, and where there is none, from the catalog.
    pub(crate) fn model_traits(&self, model: &str) -> ModelTraits {
        let mut traits = self.ruled_traits(model);
        traits.complete(&self.catalog.hints(&self.name, model));
        traits
    }

    /// Returns whether `model` accepts thinking that `maker`, another model of the provider, signed.
    pub(crate) fn takes_signatures(&self, model: &str, maker: &str) -> bool {
        let free = |model| self.ruled_traits(model).signatures == Signatures::OfProvider;
        is_same(model, maker) || (free(model) && free(maker))
    }

    /// Returns what is known of a model by the provider's own rules, or by those of the families that its protocol serves.
    pub(crate) fn ruled_traits(&self, model: &str) -> ModelTraits {
        traits_of(self.model_rule(model), model)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_anything_and_case_does_not_matter() {
        for (pattern, name, expected) in [
            ("gpt-5*", "gpt-5-mini", true),
            ("gpt-5*", "GPT-5", true),
            ("gpt-5*", "agpt-5", false),
            ("*r1*", "deepseek-ai/DeepSeek-R1", true),
            ("o3", "o3-mini", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("*", "", true),
            ("", "", true),
        ] {
            assert_eq!(ModelRule::new(pattern).matches(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_date_and_a_path_are_not_part_of_the_name() {
        for (one, other, same) in [
            ("claude-opus-5-5", "claude-opus-5-5-20260801", true),
            ("claude-opus-5-5-latest", "claude-opus-5-5", true),
            ("anthropic/claude-opus-5-5", "claude-opus-5-5@20260801", true),
            ("claude-opus-5-5", "claude-opus-5", false),
            ("claude-opus-5-5", "claude-sonnet-5-5", false),
        ] {
            assert_eq!(is_same(one, other), same, "{one} and {other}");
        }
    }
}
