//! Models that write their thinking into the text, between tags, wherever they are served.
//!
//! Sources: recordings of DeepSeek R1 (`groq-json-think-tags-text-47200144`, `fireworks-stream-think-tags-text-fee0b3fa`,
//! `azure-stream-think-tags-text-ba350702`), of Qwen 3 (`other-stream-think-tags-text-9efa62b7`) and of Sonar
//! (`perplexity-json-think-tags-text-07c7a1dd`). For the other families the source is unknown.

use crate::models::pattern;
use crate::provider::model::ThinkTags;

/// Models that write their thinking between `<think>` tags if the server does not move it to a field.
const THINK: &[&str] = &[
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

/// Models that write their thinking between `<reasoning>` tags: OpenAI's open models under the names that Bedrock gives them
/// (52 recordings, 28ca1ca8 among them). Elsewhere the same models have other names and no tags.
const REASONING: &[&str] = &["*openai.gpt-oss*"];

/// Returns the letters and digits of a name or a pattern as bits, without stars. A pattern with a letter that a name lacks
/// cannot match it, which is cheaper to check than the pattern.
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

const THINK_LETTERS: [u64; THINK.len()] = {
    let mut bits = [0; THINK.len()];
    let mut at = 0;
    while at < bits.len() {
        bits[at] = letters(THINK[at].as_bytes());
        at += 1;
    }
    bits
};

/// Returns the tags between which `model` thinks, by its family.
pub(in crate::provider) fn of(model: &str) -> ThinkTags {
    let has = letters(model.as_bytes());
    let mut think = THINK.iter().zip(THINK_LETTERS);
    if think.any(|(family, needs)| needs & !has == 0 && pattern::matches(family, model)) {
        ThinkTags::Paired
    } else if REASONING.iter().any(|family| pattern::matches(family, model)) {
        ThinkTags::Reasoning
    } else {
        ThinkTags::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_that_thinks_between_tags_is_found() {
        for family in THINK {
            let name = family.replace('*', "-").to_ascii_uppercase();
            assert_eq!(of(&name), ThinkTags::Paired, "{name}");
        }
        for (model, tags) in [
            ("gpt-5-mini", ThinkTags::None),
            ("openai.gpt-oss-20b-1:0", ThinkTags::Reasoning),
            ("us.openai.gpt-oss-120b-1:0", ThinkTags::Reasoning),
            ("openai/gpt-oss-20b", ThinkTags::None),
        ] {
            assert_eq!(of(model), tags, "{model}");
        }
    }
}
