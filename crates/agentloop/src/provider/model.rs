//! What is known about models, as data.
//!
//! An unknown model gets what the user asked for, unstripped: the server may speak.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::chat::{Efforts, Protocol};
use crate::models::Hints;

/// What is special about some models of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct ModelRule {
    /// Which models, by name: `*` stands for anything, all else for itself, in any case.
    pub pattern: Cow<'static, str>,
    /// Whether sampling can be set.
    #[serde(default)]
    pub sampling: Sampling,
    /// Whether thinking stands in the text, between `<think>` tags.
    #[serde(default)]
    pub think_tags: ThinkTags,
    /// How thinking is asked for.
    #[serde(default)]
    pub thinking: ThinkingControl,
    /// Whether a call of a tool can be forced.
    #[serde(default)]
    pub forced_tools: ForcedTools,
    /// Whether the model keeps to a schema by itself.
    #[serde(default)]
    pub json_schema: NativeSchema,
    /// The most tokens of an answer.
    #[serde(default)]
    pub max_output_tokens: Option<u64>,
    /// The protocol in which the model is asked when tools are in play, where it is not the provider's own.
    #[serde(default)]
    pub tools_in: Option<Protocol>,
    /// Which models take thinking back that the model signed.
    #[serde(default)]
    pub signatures: Signatures,
    /// The role of messages with instructions.
    #[serde(default)]
    pub instructions: InstructionsRole,
    /// The version of the tool by which the model runs code in Anthropic's messages.
    #[serde(default)]
    pub code_execution: CodeExecutionVersion,
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
    /// How thinking is asked for.
    ThinkingControl {
        /// Not known: as the request asks.
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
    /// Whether a call of a tool can be forced.
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
    /// Whether a model keeps to a schema by itself.
    NativeSchema {
        /// It does.
        #[default]
        Yes,
        /// It does not.
        No,
    }
}

knowledge! {
    /// Which models take signed thinking back.
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
    /// The versions of the tool by which models run code in Anthropic's messages.
    CodeExecutionVersion {
        /// `code_execution_20250825`.
        #[default]
        V20250825,
        /// `code_execution_20260120`.
        V20260120,
    }
}

/// Whether temperature, penalties and the like can be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Sampling {
    /// They can.
    #[default]
    Free,
    /// They cannot.
    Refused,
    /// Temperature, `top_p` and log probabilities can while the effort is `none`; the others cannot.
    WithoutEffort,
}

/// Whether thinking stands in the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThinkTags {
    /// It does not, and tags are text.
    #[default]
    None,
    /// Between `<think>` and `</think>`.
    Paired,
    /// The same, and the first opening tag is missing because the prompt's template holds it.
    Opened,
    /// Between `<reasoning>` and `</reasoning>`.
    Reasoning,
}

/// What is known of one model.
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
    /// Whether it thinks at all, if somebody says.
    pub(crate) reasoning: Option<bool>,
    /// The levels of effort that the model knows, where they are listed.
    pub(crate) efforts: Option<Efforts>,
}

impl ModelTraits {
    /// Fills in what no rule has said.
    pub(crate) fn complete(&mut self, hints: &Hints) {
        self.max_output_tokens = self.max_output_tokens.or(hints.max_output_tokens);
        self.efforts = hints.efforts;
        if hints.abilities.structured_output == Some(false) {
            self.json_schema = NativeSchema::No;
        }
        // A rule that says how a model is made to think says that it does.
        self.reasoning = match self.thinking {
            ThinkingControl::Unknown => hints.abilities.reasoning,
            _ => Some(true),
        };
    }
}

impl ModelRule {
    /// A rule for the models that match `pattern`, which changes nothing yet.
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
        }
    }

    /// The same, with that sampling.
    #[must_use]
    pub fn with_sampling(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }

    /// The same, with those tags.
    #[must_use]
    pub fn with_think_tags(self, think_tags: ThinkTags) -> Self {
        Self { think_tags, ..self }
    }

    /// The same, with that way to ask for thinking.
    #[must_use]
    pub fn with_thinking(self, thinking: ThinkingControl) -> Self {
        Self { thinking, ..self }
    }

    /// The same, with or without forced calls.
    #[must_use]
    pub fn with_forced_tools(self, forced_tools: ForcedTools) -> Self {
        Self { forced_tools, ..self }
    }

    /// The same, with or without schemas.
    #[must_use]
    pub fn with_json_schema(self, json_schema: NativeSchema) -> Self {
        Self { json_schema, ..self }
    }

    /// The same, with that limit of an answer.
    #[must_use]
    pub fn with_max_output_tokens(self, tokens: u64) -> Self {
        Self { max_output_tokens: Some(tokens), ..self }
    }

    /// The same, asked in that protocol when tools are in play.
    #[must_use]
    pub fn with_tools_in(self, protocol: Protocol) -> Self {
        Self { tools_in: Some(protocol), ..self }
    }

    /// Sets which models take thinking back that these sign.
    #[must_use]
    pub fn with_signatures(self, signatures: Signatures) -> Self {
        Self { signatures, ..self }
    }

    /// Sets the role of messages with instructions.
    #[must_use]
    pub fn with_instructions(self, instructions: InstructionsRole) -> Self {
        Self { instructions, ..self }
    }

    /// Sets the version of the tool by which the models run code in Anthropic's messages.
    #[must_use]
    pub fn with_code_execution(self, code_execution: CodeExecutionVersion) -> Self {
        Self { code_execution, ..self }
    }

    /// Whether the rule is about `model`.
    pub fn matches(&self, model: &str) -> bool {
        matches(self.pattern.as_bytes(), model.as_bytes())
    }
}

/// Matches `*` against anything and other bytes against themselves, ASCII case aside.
pub(super) fn matches(pattern: &[u8], name: &[u8]) -> bool {
    // The usual two-pointer walk: on a mismatch, let the last star eat one byte more.
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(byte) if byte.eq_ignore_ascii_case(&name[n]) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, eaten)) => {
                    star = Some((at, eaten + 1));
                    p = at + 1;
                    n = eaten + 1;
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// Whether two names are of one model: a date behind the name, and what stands before a slash, are not part of it.
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

/// Models that write their thoughts between tags wherever they are served, if the server does not take them
/// out. Families, by the names that hosts give them.
const THINK_TAG_FAMILIES: &[&str] = &[
    "*deepseek-r1*",
    "*deepseek_r1*",
    "*qwq*",
    "*qwen3*",
    "*qwen-3*",
    "*sonar-reasoning*",
    "*r1-1776*",
    "*minimax-m1*",
    "*minimax-m2*",
    "*glm-z1*",
    "*glm-4.1v-thinking*",
    "*phi-4*reasoning*",
    "*smollm3*",
    "*exaone-deep*",
    "*nemotron*",
    "*hunyuan-a13b*",
    "*cogito*",
    "*ernie-4.5*thinking*",
];

/// Models that write their thoughts between `<reasoning>` tags: those of OpenAI's open models under the names that Bedrock
/// gives them (52 recordings, 28ca1ca8 among them). Elsewhere the same models have other names and no tags.
const REASONING_TAG_FAMILIES: &[&str] = &["*openai.gpt-oss*"];

/// Which letters and digits stand in a name or a pattern, as bits: a pattern with one that a name lacks cannot match it.
/// Stars are none.
const fn letters(text: &[u8]) -> u64 {
    let (mut bits, mut at) = (0, 0);
    while at < text.len() {
        if text[at] != b'*' {
            bits |= 1 << (text[at].to_ascii_lowercase() & 63);
        }
        at += 1;
    }
    bits
}

const THINK_TAG_LETTERS: [u64; THINK_TAG_FAMILIES.len()] = {
    let mut bits = [0; THINK_TAG_FAMILIES.len()];
    let mut at = 0;
    while at < bits.len() {
        bits[at] = letters(THINK_TAG_FAMILIES[at].as_bytes());
        at += 1;
    }
    bits
};

/// Whether `model` is of a family that thinks between tags.
fn thinks_between_tags(model: &str) -> bool {
    let has = letters(model.as_bytes());
    let mut families = THINK_TAG_FAMILIES.iter().zip(THINK_TAG_LETTERS);
    families
        .any(|(family, needs)| needs & !has == 0 && matches(family.as_bytes(), model.as_bytes()))
}

/// Returns what is known of `model`: the first rule that matches counts, those of the provider before those of `families`.
pub(crate) fn traits_of(rules: &[ModelRule], families: &[ModelRule], model: &str) -> ModelTraits {
    let mut traits = ModelTraits::default();
    if let Some(rule) = rules.iter().chain(families).find(|rule| rule.matches(model)) {
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
            reasoning: None,
            efforts: None,
        };
    }
    if traits.think_tags == ThinkTags::None {
        let mut reasoning = REASONING_TAG_FAMILIES.iter();
        if thinks_between_tags(model) {
            traits.think_tags = ThinkTags::Paired;
        } else if reasoning.any(|family| matches(family.as_bytes(), model.as_bytes())) {
            traits.think_tags = ThinkTags::Reasoning;
        }
    }
    traits
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

    #[test]
    fn every_family_that_thinks_between_tags_is_found() {
        for family in THINK_TAG_FAMILIES {
            let name = family.replace('*', "-").to_ascii_uppercase();
            assert!(thinks_between_tags(&name), "{name}");
        }
        assert!(!thinks_between_tags("gpt-5-mini"));
        for (model, tags) in [
            ("openai.gpt-oss-20b-1:0", ThinkTags::Reasoning),
            ("us.openai.gpt-oss-120b-1:0", ThinkTags::Reasoning),
            ("openai/gpt-oss-20b", ThinkTags::None),
        ] {
            assert_eq!(traits_of(&[], &[], model).think_tags, tags, "{model}");
        }
    }
}
