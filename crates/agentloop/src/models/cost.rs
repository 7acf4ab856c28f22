//! From a usage to its cost, exactly.

use super::Price;
use crate::chat::{UsageDetails, Usd};

const MILLION: i128 = 1_000_000;

/// The sum of tokens times prices, in 10⁻¹² dollars per million: nothing is rounded before the end.
struct Sum(i128);

impl Sum {
    /// Adds tokens. Without tokens no price is needed.
    fn add(&mut self, tokens: u64, per_million: Option<Usd>) -> Option<()> {
        if tokens > 0 {
            let amount = per_million?.picos().checked_mul(i128::from(tokens))?;
            self.0 = self.0.checked_add(amount)?;
        }
        Some(())
    }

    /// Adds calls that have a price each.
    fn add_pieces(&mut self, pieces: u64, each: Option<Usd>) -> Option<()> {
        if pieces > 0 {
            let amount = each?.picos().checked_mul(i128::from(pieces))?.checked_mul(MILLION)?;
            self.0 = self.0.checked_add(amount)?;
        }
        Some(())
    }

    /// Returns the amount. Only prices of less than a pico-dollar a token leave something to round, half up.
    fn total(self) -> Usd {
        Usd::from_picos(self.0.saturating_add(MILLION / 2).div_euclid(MILLION))
    }
}

/// Returns the cost of these tokens, if every price that is needed is known.
pub(super) fn of(
    price: &Price,
    prompt: u64,
    completion: u64,
    details: &UsageDetails,
) -> Option<Usd> {
    let units = &price.per_million;
    let of_kind = |tokens: Option<u64>, kinds: &std::collections::BTreeMap<String, u64>, kind| {
        tokens.or_else(|| kinds.get(kind).copied()).unwrap_or(0)
    };
    let mut sum = Sum(0);

    let cached = details.cached_tokens.unwrap_or(0);
    let written = details.cache_write_tokens.unwrap_or(0);
    let hour = details.cache_write_hour_tokens.unwrap_or(0);
    let heard = of_kind(details.audio_prompt_tokens, &details.prompt_tokens_by_modality, "AUDIO");
    if heard > 0 && cached.checked_add(written)? > 0 && units.audio_input != units.input {
        // Providers do not report whether the cached tokens are audio or text.
        return None;
    }
    let plain = prompt.checked_sub(cached)?.checked_sub(written)?;
    // If both have the same price, that does not matter.
    let heard = if units.audio_input == units.input { heard.min(plain) } else { heard };
    sum.add(plain.checked_sub(heard)?, units.input)?;
    sum.add(heard, units.audio_input)?;
    sum.add(cached, units.cache_read)?;
    sum.add(written.checked_sub(hour)?, units.cache_write)?;
    sum.add(hour, units.cache_write_1h)?;

    let spoken =
        of_kind(details.audio_completion_tokens, &details.completion_tokens_by_modality, "AUDIO");
    let drawn = of_kind(None, &details.completion_tokens_by_modality, "IMAGE");
    let thought = match units.reasoning {
        Some(_) => details.reasoning_tokens.unwrap_or(0),
        None => 0,
    };
    let words = completion.checked_sub(spoken)?.checked_sub(drawn)?.checked_sub(thought)?;
    sum.add(words, units.output)?;
    sum.add(spoken, units.audio_output)?;
    sum.add(drawn, units.image_output)?;
    sum.add(thought, units.reasoning)?;

    if price.per_request.is_some() {
        sum.add_pieces(1, price.per_request)?;
    }
    for (tool, calls) in &details.server_tool_requests {
        sum.add_pieces(*calls, price.per_call.get(tool).copied())?;
    }
    Some(sum.total())
}
