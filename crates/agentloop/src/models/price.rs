//! The prices of a model.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Date, Hours};
use crate::chat::Usd;

/// One line of a price list, and when it applies.
///
/// ```
/// use agentloop::models::{Price, UnitPrices};
///
/// let mut per_million = UnitPrices::default();
/// per_million.input = Some("0.10".parse()?);
/// let price = Price::new(per_million);
/// assert_eq!(price.service_tier, None);
/// # Ok::<(), agentloop::ParseUsdError>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// The first day on which it applies.
    pub from: Option<Date>,
    /// The first day on which it no longer applies.
    pub until: Option<Date>,
    /// The hours at which it applies; empty means all hours that no other line of the list names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<Hours>,
    /// Applies to prompts of more tokens than this.
    pub above_prompt_tokens: Option<u64>,
    /// Where it applies: regions of the provider (`eu-west-2`), and geographies of inference profiles (`eu`, `global`). Empty means
    /// everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// The service tier (`batch`, `flex`, `priority`); absent means the usual one.
    pub service_tier: Option<String>,
    /// Dollars per million tokens of each kind.
    pub per_million: UnitPrices,
    /// Dollars per request.
    pub per_request: Option<Usd>,
    /// Dollars per call of one of the provider's own tools, by the name under which the provider counts the calls.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_call: BTreeMap<String, Usd>,
}

impl Price {
    /// Creates the usual price, which always applies.
    pub fn new(per_million: UnitPrices) -> Self {
        Self { per_million, ..Self::default() }
    }
}

macro_rules! units {
    ($($(#[$doc:meta])* $field:ident = $letter:literal,)*) => {
        /// Dollars per million tokens, by their kind. An absent price is unknown, not zero.
        #[skip_serializing_none]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct UnitPrices {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<Usd>,)*
        }

        impl UnitPrices {
            /// Fills in absent values from `other`.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Returns whether nothing is known.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// Returns the price that a letter of a data file means.
            pub(super) fn by_letter(&mut self, letter: char) -> Option<&mut Option<Usd>> {
                match letter {
                    $($letter => Some(&mut self.$field),)*
                    _ => None,
                }
            }
        }
    };
}

units! {
    /// Prompt tokens that were not read from a cache.
    input = 'i',
    /// Tokens of the response.
    output = 'o',
    /// Prompt tokens that were read from a cache.
    cache_read = 'r',
    /// Prompt tokens that were written to a cache for its usual time.
    cache_write = 'w',
    /// Prompt tokens that were written to a cache for an hour.
    cache_write_1h = 'h',
    /// Reasoning tokens, where they have another price than the response.
    reasoning = 't',
    /// Audio tokens of the prompt.
    audio_input = 'a',
    /// Audio tokens of the response.
    audio_output = 's',
    /// Image tokens of the response.
    image_output = 'g',
}

/// Keeps the prices that apply at a place. They apply there without a condition.
pub(super) fn at(prices: &mut Vec<Price>, place: &str) {
    prices.retain_mut(|price| {
        let applies = price.regions.is_empty() || price.regions.iter().any(|each| each == place);
        price.regions.clear();
        applies
    });
}

/// The names that providers have for the usual tier. `auto` is not among them: it may be another tier, which the response
/// names.
const USUAL: [&str; 4] = ["default", "standard", "standard_only", "on_demand"];

/// Returns the price that applies, if there is one.
pub(super) fn choose<'a>(
    prices: &'a [Price],
    prompt_tokens: u64,
    when: SystemTime,
    tier: Option<&str>,
) -> Option<&'a Price> {
    let day = Date::of(when);
    let tier = tier.filter(|tier| !USUAL.contains(tier));
    let of = |tier: Option<&str>| {
        prices
            .iter()
            .filter(|price| price.service_tier.as_deref() == tier)
            // A price of a region applies once the region is known: see `at`.
            .filter(|price| price.regions.is_empty())
            .filter(|price| price.from.is_none_or(|from| from <= day))
            .filter(|price| price.until.is_none_or(|until| day < until))
            .filter(|price| {
                price.hours.is_empty() || price.hours.iter().any(|hours| hours.contain(when))
            })
            .filter(|price| price.above_prompt_tokens.is_none_or(|above| prompt_tokens > above))
            // The narrowest price; of two that are valid on the same day, the one that started later.
            .max_by_key(|price| (price.above_prompt_tokens, !price.hours.is_empty(), price.from))
    };
    let usual = of(None);
    if tier.is_none() {
        return usual;
    }
    // If long prompts cost more in the standard tier, a tier that does not list them has no price for them.
    of(tier).filter(|price| {
        usual.is_none_or(|usual| usual.above_prompt_tokens <= price.above_prompt_tokens)
    })
}
