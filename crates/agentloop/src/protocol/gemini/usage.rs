//! The tokens of a response.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::chat::{Usage, UsageDetails};
use crate::protocol::fill::fill;
use crate::protocol::lenient::{Int, List, Object, Text, absent};
use crate::protocol::rest::Rest;

/// The token counts of a chunk.
#[derive(Debug, Default)]
pub(super) struct Tokens<'a> {
    prompt_token_count: Int,
    candidates_token_count: Int,
    total_token_count: Int,
    thoughts_token_count: Int,
    cached_content_token_count: Int,
    tool_use_prompt_token_count: Int,
    prompt_tokens_details: Shares<'a>,
    candidates_tokens_details: Shares<'a>,
    tool_use_prompt_tokens_details: Shares<'a>,
    service_tier: Text<'a>,
    traffic_type: Text<'a>,
    pub(super) rest: Rest<'a>,
}

fill!(Tokens {
    "promptTokenCount" => prompt_token_count,
    "candidatesTokenCount" => candidates_token_count,
    "totalTokenCount" => total_token_count,
    "thoughtsTokenCount" => thoughts_token_count,
    "cachedContentTokenCount" => cached_content_token_count,
    "toolUsePromptTokenCount" => tool_use_prompt_token_count,
    "serviceTier" => service_tier,
    "trafficType" => traffic_type;
    "promptTokensDetails" => prompt_tokens_details,
    "candidatesTokensDetails" => candidates_tokens_details,
    "toolUsePromptTokensDetails" => tool_use_prompt_tokens_details
} rest except);

/// The shares of the modalities.
type Shares<'a> = List<Object<Share<'a>>>;

#[derive(Debug, Default)]
struct Share<'a> {
    modality: Modality<'a>,
    token_count: Int,
}

fill!(Share { "modality" => modality, "tokenCount" => token_count; });

/// The words that some clients of the API write as numbers.
const MODALITIES: [&str; 6] =
    ["MODALITY_UNSPECIFIED", "TEXT", "IMAGE", "VIDEO", "AUDIO", "DOCUMENT"];

/// The word of a modality, also when it is written as a number; or nothing.
#[derive(Debug, Default)]
struct Modality<'a>(Option<Cow<'a, str>>);

struct ModalityVisitor;

impl<'de> Visitor<'de> for ModalityVisitor {
    type Value = Modality<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a modality")
    }

    fn visit_borrowed_str<E>(self, word: &'de str) -> Result<Modality<'de>, E> {
        Ok(Modality(Some(Cow::Borrowed(word))))
    }

    fn visit_str<E>(self, word: &str) -> Result<Modality<'de>, E> {
        Ok(Modality(Some(Cow::Owned(word.to_owned()))))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Modality<'de>, E> {
        let word = usize::try_from(number).ok().and_then(|at| MODALITIES.get(at));
        Ok(Modality(Some(word.map_or_else(|| number.to_string().into(), |word| (*word).into()))))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Modality<'de>, E> {
        Ok(Modality(Some(number.to_string().into())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Modality<'de>, E> {
        Ok(Modality(Some(Value::from(number).to_string().into())))
    }

    absent!(Modality(None); bool unit seq map);
}

impl<'de> Deserialize<'de> for Modality<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ModalityVisitor)
    }
}

/// The numbers among the token counts.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    prompt: Int,
    candidates: Int,
    total: Int,
    thoughts: Int,
    cached: Int,
    tool_use: Int,
}

/// The last token counts of a stream, until they are needed.
#[derive(Debug, Default)]
pub(super) struct TokenCounts {
    counts: Option<Counts>,
    prompt_shares: Vec<(String, u64)>,
    candidates_shares: Vec<(String, u64)>,
    tool_use_shares: Vec<(String, u64)>,
}

impl Tokens<'_> {
    /// Returns the numbers, or `None` if there are none.
    fn counts(&self) -> Option<Counts> {
        let counts = Counts {
            prompt: self.prompt_token_count,
            candidates: self.candidates_token_count,
            total: self.total_token_count,
            thoughts: self.thoughts_token_count,
            cached: self.cached_content_token_count,
            tool_use: self.tool_use_prompt_token_count,
        };
        let Counts { prompt, candidates, total, thoughts, cached, tool_use } = counts;
        let all = [prompt, candidates, total, thoughts, cached, tool_use];
        all.iter().any(|count| count.0.is_some()).then_some(counts)
    }

    /// Returns the usage of a complete response, or `None` if there are no token counts.
    pub(super) fn usage(&self) -> Option<Usage> {
        let prompt = each(&self.prompt_tokens_details);
        let tool_use = each(&self.tool_use_prompt_tokens_details);
        let candidates = each(&self.candidates_tokens_details);
        self.counts()?.usage(prompt.chain(tool_use), candidates)
    }

    /// Keeps the words among the counts: the tier that served the call, in lower case, and how its traffic is paid.
    ///
    /// Vertex names the tier in the type of the traffic. Traffic that was paid for in advance is a tier without a price
    /// per token.
    pub(super) fn keep_words(&self, metadata: &mut Map<String, Value>) {
        let traffic = self.traffic_type.non_empty();
        let of_traffic = || match traffic? {
            "ON_DEMAND_PRIORITY" => Some("priority"),
            "ON_DEMAND_FLEX" => Some("flex"),
            "PROVISIONED_THROUGHPUT" => Some("provisioned_throughput"),
            _ => None,
        };
        let words = [
            ("serviceTier", self.service_tier.non_empty().or_else(of_traffic)),
            ("trafficType", traffic),
        ];
        for (name, word) in words {
            let Some(word) = word else { continue };
            // They come with every chunk.
            let known = metadata.get(name).and_then(Value::as_str);
            if !known.is_some_and(|known| known.eq_ignore_ascii_case(word)) {
                let word =
                    if name == "serviceTier" { word.to_ascii_lowercase() } else { word.to_owned() };
                metadata.insert(name.to_owned(), Value::String(word));
            }
        }
    }
}

impl TokenCounts {
    /// Replaces the earlier counts.
    pub(super) fn keep(&mut self, tokens: &Tokens<'_>) {
        let Some(counts) = tokens.counts() else { return };
        self.counts = Some(counts);
        keep_shares(&mut self.prompt_shares, &tokens.prompt_tokens_details);
        keep_shares(&mut self.candidates_shares, &tokens.candidates_tokens_details);
        keep_shares(&mut self.tool_use_shares, &tokens.tool_use_prompt_tokens_details);
    }

    /// Returns the usage, or `None` if there are no token counts.
    pub(super) fn usage(&self) -> Option<Usage> {
        let prompt = self.prompt_shares.iter().chain(&self.tool_use_shares);
        let candidates = self.candidates_shares.iter();
        self.counts?.usage(prompt.map(borrowed), candidates.map(borrowed))
    }
}

impl Counts {
    /// Returns the usage, with the shares of the modalities.
    fn usage<'s>(
        self,
        prompt_shares: impl Iterator<Item = (&'s str, u64)>,
        completion_shares: impl Iterator<Item = (&'s str, u64)>,
    ) -> Option<Usage> {
        let sum = |a: Int, b: Int| match (a.unsigned(), b.unsigned()) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
        };
        let (prompt, completion) = (add(prompt_shares), add(completion_shares));
        let usage = Usage {
            // Tokens that the provider's own tools add to the prompt are prompt tokens.
            prompt_tokens: sum(self.prompt, self.tool_use),
            completion_tokens: sum(self.candidates, self.thoughts),
            total_tokens: self.total.unsigned(),
            details: UsageDetails {
                reasoning_tokens: self.thoughts.unsigned(),
                cached_tokens: self.cached.unsigned(),
                audio_prompt_tokens: prompt.get("AUDIO").copied(),
                audio_completion_tokens: completion.get("AUDIO").copied(),
                prompt_tokens_by_modality: prompt,
                completion_tokens_by_modality: completion,
                ..UsageDetails::default()
            },
        };
        (!usage.is_empty()).then_some(usage)
    }
}

/// Returns the shares that have a modality and a count.
fn each<'s>(shares: &'s Shares<'_>) -> impl Iterator<Item = (&'s str, u64)> {
    shares.0.iter().filter_map(|Object(share)| {
        let share = share.as_ref()?;
        Some((share.modality.0.as_deref()?, share.token_count.unsigned()?))
    })
}

fn borrowed((modality, tokens): &(String, u64)) -> (&str, u64) {
    (modality, *tokens)
}

/// They hardly ever change from chunk to chunk.
fn keep_shares(kept: &mut Vec<(String, u64)>, shares: &Shares<'_>) {
    if !each(shares).eq(kept.iter().map(borrowed)) {
        kept.clear();
        kept.extend(each(shares).map(|(modality, tokens)| (modality.to_owned(), tokens)));
    }
}

fn add<'s>(shares: impl Iterator<Item = (&'s str, u64)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (modality, tokens) in shares {
        let sum: &mut u64 = sums.entry(modality.to_owned()).or_default();
        *sum = sum.saturating_add(tokens);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::json::fill_json;

    /// Returns the usage after these chunks.
    fn usage(chunks: &[&str]) -> Option<Usage> {
        let mut kept = TokenCounts::default();
        for json in chunks {
            let mut tokens = Tokens::default();
            fill_json(json.as_bytes(), &mut tokens).unwrap();
            let mut alone = TokenCounts::default();
            alone.keep(&tokens);
            assert_eq!(tokens.usage(), alone.usage(), "a complete response has the same");
            kept.keep(&tokens);
        }
        kept.usage()
    }

    #[test]
    fn shares_of_one_modality_are_added_whether_it_is_a_word_or_its_number() {
        let usage = usage(&[
            r#"{"promptTokenCount":9,"toolUsePromptTokenCount":"4","candidatesTokenCount":2,"thoughtsTokenCount":3,
                "promptTokensDetails":[{"modality":"TEXT","tokenCount":4},null,{"modality":4,"tokenCount":5},7],
                "toolUsePromptTokensDetails":[{"modality":"TEXT","tokenCount":2},{"modality":"SMELL","tokenCount":2},
                {"modality":"IMAGE"},{"modality":77,"tokenCount":0},{"tokenCount":8}]}"#,
        ])
        .unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(13), Some(5)));
        assert_eq!(usage.details.audio_prompt_tokens, Some(5));
        let shares: Vec<_> = usage.details.prompt_tokens_by_modality.into_iter().collect();
        let wanted = [("77", 0), ("AUDIO", 5), ("SMELL", 2), ("TEXT", 6)];
        assert_eq!(shares, wanted.map(|(name, tokens)| (name.to_owned(), tokens)));
    }

    #[test]
    fn shares_of_another_shape_are_as_good_as_absent() {
        for shape in ["null", "true", "3", "-3.5", "\"\"", "{\"a\":[{}]}", "[1,[2],\"x\"]"] {
            let json = format!("{{\"totalTokenCount\":7,\"promptTokensDetails\":{shape}}}");
            let usage = usage(&[&json]).unwrap();
            assert_eq!(usage.total_tokens, Some(7), "{shape}");
            assert!(usage.details.prompt_tokens_by_modality.is_empty(), "{shape}");
        }
    }

    #[test]
    fn the_last_that_counts_is_what_counts() {
        let counts =
            r#"{"totalTokenCount":7,"promptTokensDetails":[{"modality":"TEXT","tokenCount":7}]}"#;
        let none = [r#"{"trafficType":"ON_DEMAND"}"#, r#"{"totalTokenCount":null}"#];
        assert!(usage(&none).is_none());
        let usage =
            usage(&[r#"{"promptTokenCount":3}"#, counts, counts, none[0], none[1]]).unwrap();
        assert_eq!((usage.prompt_tokens, usage.total_tokens), (None, Some(7)));
        assert_eq!(usage.details.prompt_tokens_by_modality["TEXT"], 7);
    }
}
