//! What a model costs.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::{Date, Hours};
use crate::chat::Usd;

/// One line of a price list, and when it holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// The first day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Date>,
    /// The first day on which it no longer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Date>,
    /// Only at these hours; empty is at all hours that no other line of the list names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hours: Vec<Hours>,
    /// For prompts of more tokens than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above_prompt_tokens: Option<u64>,
    /// The tier of service (`batch`, `flex`, `priority`); absent is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_tier: Option<String>,
    /// Dollars for a million tokens of each kind.
    pub per_million: UnitPrices,
    /// Dollars for each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_request: Option<Usd>,
    /// Dollars for each call of one of the provider's own tools, by the provider's name for the count.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_call: BTreeMap<String, Usd>,
}

macro_rules! units {
    ($($(#[$doc:meta])* $field:ident = $letter:literal,)*) => {
        /// Dollars for a million tokens, by their kind. An absent price is unknown, not zero.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[non_exhaustive]
        pub struct UnitPrices {
            $($(#[$doc])* #[serde(skip_serializing_if = "Option::is_none")] pub $field: Option<Usd>,)*
        }

        impl UnitPrices {
            /// What is said here, and elsewhere what `other` says.
            #[must_use]
            pub fn or(self, other: Self) -> Self {
                Self { $($field: self.$field.or(other.$field),)* }
            }

            /// Whether nothing is known.
            pub fn is_empty(&self) -> bool {
                *self == Self::default()
            }

            /// The price that a letter of a data file stands for.
            pub(super) fn by_letter(&mut self, letter: char) -> Option<&mut Option<Usd>> {
                match letter {
                    $($letter => Some(&mut self.$field),)*
                    _ => None,
                }
            }

            pub(super) fn letters(&self) -> impl Iterator<Item = (char, Usd)> {
                [$(($letter, self.$field),)*].into_iter().filter_map(|(letter, usd)| Some((letter, usd?)))
            }
        }
    };
}

units! {
    /// Prompt tokens that no cache holds.
    input = 'i',
    /// Tokens of the answer.
    output = 'o',
    /// Prompt tokens that a cache gave.
    cache_read = 'r',
    /// Prompt tokens that a cache took, for its usual time.
    cache_write = 'w',
    /// Prompt tokens that a cache took, for an hour.
    cache_write_1h = 'h',
    /// Thoughts, where they cost something else than the answer.
    reasoning = 't',
    /// Sound in the prompt.
    audio_input = 'a',
    /// Sound in the answer.
    audio_output = 's',
    /// Images in the answer.
    image_output = 'g',
}

/// The hosts' words for the usual tier. `auto` is not among them: it may be another one, and the answer says which.
const USUAL: [&str; 4] = ["default", "standard", "standard_only", "on_demand"];

/// The price that holds, if one does.
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
            .filter(|price| price.from.is_none_or(|from| from <= day))
            .filter(|price| price.until.is_none_or(|until| day < until))
            .filter(|price| {
                price.hours.is_empty() || price.hours.iter().any(|hours| hours.contain(when))
            })
            .filter(|price| price.above_prompt_tokens.is_none_or(|above| prompt_tokens > above))
            // The narrowest; of two that hold on the same day, the one that began later.
            .max_by_key(|price| (price.above_prompt_tokens, !price.hours.is_empty(), price.from))
    };
    let usual = of(None);
    if tier.is_none() {
        return usual;
    }
    // A long prompt that costs more in the usual tier has no price in one that does not list it.
    of(tier).filter(|price| {
        usual.is_none_or(|usual| usual.above_prompt_tokens <= price.above_prompt_tokens)
    })
}
