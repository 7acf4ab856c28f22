use super::*;
use crate::chat::UsageDetails;

/// Prompt, completion and total; then reasoning, cached, written, audio in the prompt and in the completion.
type Counts = ([i64; 3], [u64; 5]);

fn reported((whole, shares): Counts) -> Reported {
    let count = |tokens: i64| u64::try_from(tokens).ok();
    let share = |tokens: u64| (tokens > 0).then_some(tokens);
    let [prompt, completion, total] = whole.map(count);
    let [reasoning, cached, written, heard, spoken] = shares.map(share);
    Reported::from(Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: total,
        details: UsageDetails {
            reasoning_tokens: reasoning,
            cached_tokens: cached,
            cache_write_tokens: written,
            audio_prompt_tokens: heard,
            audio_completion_tokens: spoken,
            ..UsageDetails::default()
        },
    })
}

const ABSENT: i64 = -1;

/// The counts of a provider, and the prompt, the completion and the total that they mean.
const CASES: &[(&str, Counts, [i64; 3])] = &[
    ("plain", ([10, 5, 15], [0; 5]), [10, 5, 15]),
    ("all shares within", ([100, 50, 150], [20, 30, 40, 10, 5]), [100, 50, 150]),
    ("Mistral, audio beside", ([9, 248, 632], [0, 0, 0, 375, 0]), [384, 248, 632]),
    ("cache counted twice", ([2168, 100, 2268], [0, 2161, 2161, 0, 0]), [2168, 100, 2268]),
    ("xAI, reasoning beside", ([159, 9, 313], [145, 158, 0, 0, 0]), [159, 154, 313]),
    ("xAI, more cached than read", ([347, 18, 365], [0, 403, 0, 0, 0]), [347, 18, 365]),
    (
        "OpenRouter, reasoning above completion",
        ([21, 107, 128], [118, 21, 0, 0, 0]),
        [21, 107, 128],
    ),
    ("hidden thinking", ([35, 12, 109], [0; 5]), [35, 74, 109]),
    ("hidden thinking beside known", ([35, 12, 109], [5, 0, 0, 0, 0]), [35, 74, 109]),
    ("cache beside", ([10, 5, 215], [0, 150, 50, 0, 0]), [210, 5, 215]),
    ("cache reads beside, writes within", ([60, 5, 165], [0, 100, 50, 0, 0]), [160, 5, 165]),
    ("reasoning and cache beside", ([10, 5, 145], [30, 100, 0, 0, 0]), [110, 35, 145]),
    ("audio beside on both sides", ([10, 5, 60], [0, 0, 0, 25, 20]), [35, 25, 60]),
    ("no prompt", ([ABSENT, 97, 672], [96, 0, 0, 0, 0]), [575, 97, 672]),
    ("no completion", ([40, ABSENT, 60], [20, 0, 0, 0, 0]), [40, 20, 60]),
    ("nothing written", ([40, ABSENT, 40], [0; 5]), [40, ABSENT, 40]),
    ("total only", ([ABSENT, ABSENT, 7], [0; 5]), [ABSENT, ABSENT, 7]),
    ("no total", ([40, 15, ABSENT], [5, 10, 0, 0, 0]), [40, 15, 55]),
    ("no total, cache beside", ([5, 1, ABSENT], [0, 100, 50, 0, 0]), [155, 1, 156]),
    ("no total, reasoning beside", ([5, 10, ABSENT], [30, 0, 0, 0, 0]), [5, 40, 45]),
    ("a total of zero", ([5, 10, 0], [0; 5]), [5, 10, 15]),
    ("a total below the sum", ([50, 10, 20], [0; 5]), [50, 10, 60]),
];

#[test]
fn the_total_decides_what_is_within_and_what_is_beside() {
    for (name, counts, expected) in CASES {
        let (usage, _) = reported(*counts).reconcile();
        let whole = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens];
        let shown =
            whole.map(|count| count.map_or(ABSENT, |tokens| i64::try_from(tokens).unwrap()));
        assert_eq!(shown, *expected, "{name}");
    }
}

#[test]
fn a_provider_that_is_known_to_leave_reasoning_out_of_its_total_is_billed_for_it() {
    let counts = ([33, 100, 133], [700, 0, 0, 0, 0]);
    let (usage, odd) = Reported { reasoning_beside: true, ..reported(counts) }.reconcile();
    assert_eq!((usage.completion_tokens, usage.total_tokens, odd), (Some(800), Some(833), None));
    let counts = ([33, 100, 833], [700, 0, 0, 0, 0]);
    let (usage, _) = Reported { reasoning_beside: true, ..reported(counts) }.reconcile();
    assert_eq!(usage.total_tokens, Some(833));
}

#[test]
fn tokens_of_a_recording_that_only_the_total_counts_are_in_the_prompt() {
    let counts = ([16, 2, 393], [0; 5]);
    let (usage, _) = Reported { rest_in_prompt: true, ..reported(counts) }.reconcile();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(391), Some(2)));
}

#[test]
fn a_share_is_never_larger_than_its_whole_and_the_contradiction_is_named() {
    let (usage, odd) = reported(([21, 107, 128], [118, 21, 0, 0, 0])).reconcile();
    assert_eq!(usage.details.reasoning_tokens, Some(107));
    let text = odd.unwrap().to_string();
    assert_eq!(
        text,
        "the provider reports 118 reasoning tokens, which contradicts 107 completion tokens"
    );
    let (usage, odd) = reported(([2168, 100, 2268], [0, 2161, 2161, 0, 0])).reconcile();
    assert_eq!(usage.details.cache_write_tokens, Some(7));
    assert!(odd.unwrap().to_string().contains("2161 tokens written to a cache"));
}

#[test]
fn no_count_is_too_large() {
    let huge = i64::MAX;
    let most = u64::MAX;
    for total in [ABSENT, 0, 1, huge] {
        for counts in [[5, 1, total], [huge, huge, total], [ABSENT, huge, total]] {
            for shares in [[most; 5], [most, 0, most, 0, most], [1; 5]] {
                for (reasoning_beside, rest_in_prompt) in [(true, false), (false, true)] {
                    let reported = reported((counts, shares));
                    let reported = Reported { reasoning_beside, rest_in_prompt, ..reported };
                    let (usage, _) = reported.reconcile();
                    if let (Some(prompt), Some(completion)) =
                        (usage.prompt_tokens, usage.completion_tokens)
                    {
                        assert_eq!(usage.total_tokens, Some(prompt.saturating_add(completion)));
                        assert!(usage.details.reasoning_tokens.is_none_or(|r| r <= completion));
                        assert!(usage.details.cached_tokens.is_none_or(|c| c <= prompt));
                    }
                }
            }
        }
    }
}
