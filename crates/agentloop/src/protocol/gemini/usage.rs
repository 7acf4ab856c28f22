//! The tokens of an answer.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::protocol::lenient::{Few, Int, Object};
use crate::response::{Usage, UsageDetails};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Wire {
    prompt_token_count: Int,
    candidates_token_count: Int,
    total_token_count: Int,
    thoughts_token_count: Int,
    cached_content_token_count: Int,
    tool_use_prompt_token_count: Int,
    prompt_tokens_details: Few<Object<Share>>,
    candidates_tokens_details: Few<Object<Share>>,
    tool_use_prompt_tokens_details: Few<Object<Share>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Share {
    modality: serde_json::Value,
    token_count: Int,
}

/// The words that some clients of the API write as numbers.
const MODALITIES: [&str; 6] =
    ["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"];

/// The usage; `None` when it says nothing about tokens.
pub(super) fn read(raw: &str) -> Option<Usage> {
    let wire: Wire = serde_json::from_str(raw).ok()?;
    let sum = |a: Int, b: Int| match (a.unsigned(), b.unsigned()) {
        (None, None) => None,
        (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
    };
    let mut prompt = BTreeMap::new();
    add(&mut prompt, wire.prompt_tokens_details);
    add(&mut prompt, wire.tool_use_prompt_tokens_details);
    let mut completion = BTreeMap::new();
    add(&mut completion, wire.candidates_tokens_details);
    let usage = Usage {
        // What the host's own tools fed to the model is read like the rest.
        prompt_tokens: sum(wire.prompt_token_count, wire.tool_use_prompt_token_count),
        completion_tokens: sum(wire.candidates_token_count, wire.thoughts_token_count),
        total_tokens: wire.total_token_count.unsigned(),
        details: UsageDetails {
            reasoning_tokens: wire.thoughts_token_count.unsigned(),
            cached_tokens: wire.cached_content_token_count.unsigned(),
            audio_prompt_tokens: prompt.get("AUDIO").copied(),
            audio_completion_tokens: completion.get("AUDIO").copied(),
            prompt_tokens_by_modality: prompt,
            completion_tokens_by_modality: completion,
            ..UsageDetails::default()
        },
    };
    (!usage.is_empty()).then(|| usage.normalized())
}

fn add(sums: &mut BTreeMap<String, u64>, shares: Few<Object<Share>>) {
    for share in shares.into_iter().filter_map(|share| share.0) {
        let name = match &share.modality {
            serde_json::Value::String(name) => name.clone(),
            serde_json::Value::Number(number) => {
                let word = number.as_u64().and_then(|at| MODALITIES.get(usize::try_from(at).ok()?));
                word.map_or_else(|| number.to_string(), |word| (*word).to_owned())
            }
            _ => continue,
        };
        if let Some(tokens) = share.token_count.unsigned() {
            let sum: &mut u64 = sums.entry(name).or_default();
            *sum = sum.saturating_add(tokens);
        }
    }
}
