//! What holds for every usage and every price.

use agentloop::models::ModelData;
use agentloop::{Usage, UsageDetails};
use proptest::prelude::*;

use crate::models::{record, today};

/// Tokens by kind: plain, read, written, written for an hour, sound; words, thoughts, sound, images.
type Tokens = [u64; 9];
/// Their prices, in millionths of a dollar for a million.
type Prices = [u64; 9];

const NAMES: [&str; 9] = [
    "input",
    "cache_read",
    "cache_write",
    "cache_write_1h",
    "audio_input",
    "output",
    "reasoning",
    "audio_output",
    "image_output",
];

fn model(prices: &Prices, without: Option<usize>) -> ModelData {
    let units: Vec<String> = NAMES
        .iter()
        .zip(prices)
        .enumerate()
        .filter(|(kind, _)| Some(*kind) != without)
        .map(|(_, (name, micros))| {
            format!("\"{name}\":\"{}.{:06}\"", micros / 1_000_000, micros % 1_000_000)
        })
        .collect();
    record(&format!("{{\"prices\":[{{\"per_million\":{{{}}}}}]}}", units.join(",")))
}

fn usage(tokens: &Tokens) -> Usage {
    let [plain, read, written, hour, heard, words, thought, spoken, drawn] = *tokens;
    let mut details = UsageDetails::default();
    details.reasoning_tokens = Some(thought);
    details.cached_tokens = Some(read);
    details.cache_write_tokens = Some(written + hour);
    details.cache_write_hour_tokens = Some(hour);
    details.audio_prompt_tokens = Some(heard);
    details.audio_completion_tokens = Some(spoken);

    details.completion_tokens_by_modality.insert("IMAGE".to_owned(), drawn);
    let mut usage = Usage::default().with_details(details);
    usage.prompt_tokens = Some(plain + read + written + hour + heard);
    usage.completion_tokens = Some(words + thought + spoken + drawn);
    usage
}

fn picos(model: &ModelData, tokens: &Tokens) -> Option<i128> {
    model.cost(&usage(tokens), today(), None).map(|cost| cost.usd.picos())
}

/// Sound and caches do not go together: one of the two is none.
fn tokens() -> impl Strategy<Value = Tokens> {
    (prop::array::uniform9(0u64..=50_000_000), any::<bool>()).prop_map(|(mut tokens, sound)| {
        if sound {
            tokens[1..4].fill(0);
        } else {
            tokens[4] = 0;
        }
        tokens
    })
}

fn prices() -> impl Strategy<Value = Prices> {
    prop::array::uniform9(0u64..=500_000_000)
}

proptest! {
    /// A millionth of a dollar for a million tokens is a pico-dollar for each.
    #[test]
    fn a_cost_is_the_exact_sum(tokens in tokens(), prices in prices()) {
        let expected: i128 =
            tokens.iter().zip(&prices).map(|(n, p)| i128::from(*n) * i128::from(*p)).sum();
        prop_assert_eq!(picos(&model(&prices, None), &tokens), Some(expected));
    }

    #[test]
    fn more_tokens_never_cost_less(tokens in tokens(), prices in prices(), kind in 0usize..9, more in 1u64..1_000) {
        let mut larger = tokens;
        larger[kind] += more;
        let model = model(&prices, None);
        // Sound beside a cache has no cost; what has one costs as much or more.
        if let Some(cost) = picos(&model, &larger) {
            prop_assert!(cost >= picos(&model, &tokens).unwrap());
        }
    }

    #[test]
    fn a_price_is_needed_exactly_where_there_are_tokens(tokens in tokens(), prices in prices(), kind in 0usize..9) {
        // Thoughts without a price cost as much as the response, so their price is never needed.
        prop_assume!(NAMES[kind] != "reasoning");
        let known = picos(&model(&prices, Some(kind)), &tokens).is_some();
        prop_assert_eq!(known, tokens[kind] == 0);
    }

    #[test]
    fn no_usage_makes_it_panic(
        numbers in prop::array::uniform8(prop::option::of(any::<u64>())),
        prices in prices(),
    ) {
        let [prompt, completion, reasoning, cached, written, hour, heard, spoken] = numbers;
        let mut details = UsageDetails::default();
        details.reasoning_tokens = reasoning;
        details.cached_tokens = cached;
        details.cache_write_tokens = written;
        details.cache_write_hour_tokens = hour;
        details.audio_prompt_tokens = heard;
        details.audio_completion_tokens = spoken;
        let mut usage = Usage::default().with_details(details);
        usage.prompt_tokens = prompt;
        usage.completion_tokens = completion;
        if let Some(cost) = model(&prices, None).cost(&usage, today(), None) {
            prop_assert!(cost.usd.picos() >= 0);
        }
    }
}
