//! The tokens of a response.
//!
//! The total is the sum of the input, the prompts of tools, the output and the thoughts (every recorded response, for example
//! `google-search.chunks.txt`: 22 + 198 + 590 + 1173 = 1983). What came from the cache is part of the input
//! (`convertGoogleInteractionsUsage` of vercel/ai).

use std::collections::BTreeMap;

use crate::chat::{self, UsageDetails};
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Int, List, Object, Text};
use crate::protocol::rest::{Kept, Rest};

/// The object on the wire.
#[derive(Debug, Default)]
pub(super) struct Usage<'a> {
    total_input_tokens: Int,
    total_output_tokens: Int,
    total_thought_tokens: Int,
    total_cached_tokens: Int,
    total_tool_use_tokens: Int,
    total_tokens: Int,
    input_tokens_by_modality: List<Object<Share<'a>>>,
    output_tokens_by_modality: List<Object<Share<'a>>>,
    tool_use_tokens_by_modality: List<Object<Share<'a>>>,
    grounding_tool_count: List<Object<Count<'a>>>,
    rest: Rest<'a>,
}

fill!(Usage {
    "total_input_tokens" => total_input_tokens,
    "total_output_tokens" => total_output_tokens,
    "total_thought_tokens" => total_thought_tokens,
    "total_cached_tokens" => total_cached_tokens,
    "total_tool_use_tokens" => total_tool_use_tokens,
    "total_tokens" => total_tokens;
    "input_tokens_by_modality" => input_tokens_by_modality,
    "output_tokens_by_modality" => output_tokens_by_modality,
    "tool_use_tokens_by_modality" => tool_use_tokens_by_modality,
    "grounding_tool_count" => grounding_tool_count
} rest except);

/// The share of a modality.
#[derive(Debug, Default)]
struct Share<'a> {
    modality: Text<'a>,
    tokens: Int,
}

fill!(Share { "modality" => modality, "tokens" => tokens; });

/// How often one of the provider's own tools was used.
#[derive(Debug, Default)]
struct Count<'a> {
    kind: Text<'a>,
    count: Int,
}

fill!(Count { "type" => kind, "count" => count; });

impl Usage<'_> {
    /// Returns the usage, or `None` if there are no token counts. Fields that are not known go to `kept`.
    pub(super) fn read(&self, kept: &mut Kept) -> Option<chat::Usage> {
        kept.keep(&self.rest);
        let sum = |a: Int, b: Int| match (a.unsigned(), b.unsigned()) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let inputs = [&self.input_tokens_by_modality, &self.tool_use_tokens_by_modality];
        let (prompt, completion) = (shares(&inputs), shares(&[&self.output_tokens_by_modality]));
        let mut tools = BTreeMap::new();
        for Object(count) in self.grounding_tool_count.0.iter() {
            let Some(tool) = count else { continue };
            if let (Some(kind), Some(count)) = (tool.kind.non_empty(), tool.count.unsigned()) {
                tools.insert(kind.to_owned(), count);
            }
        }
        let usage = chat::Usage {
            // Tokens that the provider's own tools add to the prompt are prompt tokens.
            prompt_tokens: sum(self.total_input_tokens, self.total_tool_use_tokens),
            completion_tokens: sum(self.total_output_tokens, self.total_thought_tokens),
            total_tokens: self.total_tokens.unsigned(),
            details: UsageDetails {
                reasoning_tokens: self.total_thought_tokens.unsigned(),
                cached_tokens: self.total_cached_tokens.unsigned(),
                audio_prompt_tokens: prompt.get("AUDIO").copied(),
                audio_completion_tokens: completion.get("AUDIO").copied(),
                prompt_tokens_by_modality: prompt,
                completion_tokens_by_modality: completion,
                server_tool_requests: tools,
                ..UsageDetails::default()
            },
        };
        (!usage.is_empty()).then_some(usage)
    }
}

/// Returns the sums of the shares, under the names that generateContent uses for the modalities.
fn shares(lists: &[&List<Object<Share<'_>>>]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for Object(share) in lists.iter().flat_map(|list| list.0.iter()) {
        let Some(share) = share else { continue };
        if let (Some(modality), Some(tokens)) =
            (share.modality.non_empty(), share.tokens.unsigned())
        {
            let sum: &mut u64 = sums.entry(modality.to_ascii_uppercase()).or_default();
            *sum = sum.saturating_add(tokens);
        }
    }
    sums
}
