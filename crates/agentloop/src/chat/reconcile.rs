//! Turns the token counts of providers into counts that mean the same for all.

use super::Usage;

/// Token counts as a provider reported them, before it is decided which count contains which.
///
/// Providers disagree on whether cached, audio and reasoning tokens are within the prompt and the completion or beside them,
/// and some leave tokens out of both. The total decides, because it is what the bill adds up to:
///
/// 1. If prompt and completion add up to the total, every other count is within them.
/// 2. If the total is larger, the counts that make up the difference are beside them and are added.
/// 3. A difference that no count explains is hidden thinking and is added to the completion, or to the prompt where
///    [`rest_in_prompt`](Self::rest_in_prompt) is set.
/// 4. If one of the two is missing, it is the rest of the total.
/// 5. A total below the sum contradicts it: the sum counts.
/// 6. Without a total, a count that is larger than its whole is beside it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reported {
    /// The counts as they were sent.
    pub(crate) usage: Usage,
    /// Whether the provider is known to count reasoning beside the completion, and outside of its total.
    pub(crate) reasoning_beside: bool,
    /// Whether tokens that only the total counts were in the prompt.
    pub(crate) rest_in_prompt: bool,
}

/// A count that cannot be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contradiction {
    what: &'static str,
    reported: u64,
    whole: &'static str,
    limit: u64,
}

impl std::fmt::Display for Contradiction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, reported, whole, limit } = self;
        write!(f, "the provider reports {reported} {what}, which contradicts {limit} {whole}")
    }
}

impl From<Usage> for Reported {
    fn from(usage: Usage) -> Self {
        Self { usage, reasoning_beside: false, rest_in_prompt: false }
    }
}

impl Reported {
    /// Returns counts for which the invariants of [`Usage`] hold, and a contradiction if there was one.
    pub(crate) fn reconcile(self) -> (Usage, Option<Contradiction>) {
        let Self { mut usage, reasoning_beside, rest_in_prompt } = self;
        let details = &usage.details;
        let reasoning = details.reasoning_tokens.unwrap_or(0);
        if reasoning_beside && let Some(completion) = &mut usage.completion_tokens {
            *completion = completion.saturating_add(reasoning);
        }
        // The counts that may be extra, and whether they belong to the prompt. The likelier one of equal counts is
        // first.
        let beside = [
            (false, if reasoning_beside { 0 } else { reasoning }),
            (true, details.audio_prompt_tokens.unwrap_or(0)),
            (true, details.cached_tokens.unwrap_or(0)),
            (true, details.cache_write_tokens.unwrap_or(0)),
            (false, details.audio_completion_tokens.unwrap_or(0)),
        ];
        let mut contradiction = None;
        match (&mut usage.prompt_tokens, &mut usage.completion_tokens, usage.total_tokens) {
            (Some(prompt), Some(completion), Some(total)) => {
                let sum = prompt.saturating_add(*completion);
                if total > sum {
                    let mut rest = total - sum;
                    if let Some(chosen) = explained(&beside, rest) {
                        for (at, (of_prompt, tokens)) in beside.iter().enumerate() {
                            if chosen & (1 << at) != 0 {
                                *(if *of_prompt { &mut *prompt } else { &mut *completion }) +=
                                    tokens;
                            }
                        }
                        rest = 0;
                    }
                    *(if rest_in_prompt { prompt } else { completion }) += rest;
                } else if total < sum && total > 0 && !reasoning_beside {
                    contradiction = Some(Contradiction {
                        what: "tokens in total",
                        reported: total,
                        whole: "tokens in prompt and completion",
                        limit: sum,
                    });
                }
            }
            (Some(prompt), completion, Some(total)) if total > *prompt => {
                *completion = Some(total - *prompt);
            }
            (prompt, Some(completion), Some(total)) if total > *completion => {
                *prompt = Some(total - *completion);
            }
            (prompt, completion, None) => {
                let [(_, reasoning), (_, heard), (_, read), (_, written), (_, spoken)] = beside;
                for (whole, within) in [
                    (prompt, [read.saturating_add(written), heard]),
                    (completion, [reasoning, spoken]),
                ] {
                    let Some(whole) = whole else { continue };
                    for tokens in within {
                        if tokens > *whole {
                            *whole = whole.saturating_add(tokens);
                        }
                    }
                }
            }
            _ => {}
        }
        if let (Some(prompt), Some(completion)) = (usage.prompt_tokens, usage.completion_tokens) {
            usage.total_tokens = Some(prompt.saturating_add(completion));
        }
        let limited = limit_shares(&mut usage);
        (usage, contradiction.or(limited))
    }
}

/// Returns the smallest set of counts that adds up to `rest`, as bits.
fn explained(beside: &[(bool, u64); 5], rest: u64) -> Option<usize> {
    let mut sets: [usize; 31] = std::array::from_fn(|at| at + 1);
    sets.sort_by_key(|set| set.count_ones());
    sets.into_iter().find(|set| {
        let chosen = beside.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        let mut sum = 0u64;
        for (_, (_, tokens)) in chosen {
            if *tokens == 0 {
                return false;
            }
            sum = sum.saturating_add(*tokens);
        }
        sum == rest
    })
}

/// Limits every share to the count that it is a share of.
fn limit_shares(usage: &mut Usage) -> Option<Contradiction> {
    let mut first = None;
    let mut limit = |what, share: &mut Option<u64>, whole, most: Option<u64>| {
        if let (Some(tokens), Some(most)) = (share, most)
            && *tokens > most
        {
            first.get_or_insert(Contradiction { what, reported: *tokens, whole, limit: most });
            *tokens = most;
        }
    };
    let (prompt, completion) = (usage.prompt_tokens, usage.completion_tokens);
    let details = &mut usage.details;
    limit("cached tokens", &mut details.cached_tokens, "prompt tokens", prompt);
    let left = prompt.map(|prompt| prompt - details.cached_tokens.unwrap_or(0));
    limit("tokens written to a cache", &mut details.cache_write_tokens, "uncached tokens", left);
    let written = details.cache_write_tokens;
    limit("tokens cached for an hour", &mut details.cache_write_hour_tokens, "written", written);
    limit("audio tokens", &mut details.audio_prompt_tokens, "prompt tokens", prompt);
    limit("reasoning tokens", &mut details.reasoning_tokens, "completion tokens", completion);
    limit("audio tokens", &mut details.audio_completion_tokens, "completion tokens", completion);
    first
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
