//! Money, exactly.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What an answer cost, when that is known. Unknown is an absent cost, never zero.
///
/// ```
/// use agentloop::{Cost, CostSource};
///
/// let cost = Cost::from_prices("0.0015".parse()?);
/// let sum = cost.plus(&Cost::from_prices("0.0005".parse()?));
/// assert_eq!((sum.usd, sum.source), ("0.002".parse()?, CostSource::Prices));
/// # Ok::<(), agentloop::ParseUsdError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Cost {
    /// The amount.
    pub usd: Usd,
    /// Who says so.
    pub source: CostSource,
}

impl Cost {
    /// An amount that the provider itself named.
    pub fn from_provider(usd: Usd) -> Self {
        Self { usd, source: CostSource::Provider }
    }

    /// Nothing was spent: the answer comes from a cache.
    pub fn of_cached() -> Self {
        Self { usd: Usd::default(), source: CostSource::Cache }
    }

    /// Both together; the sum is only as sure as the less sure of the two.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self { usd: self.usd + more.usd, source: self.source.max(more.source) }
    }

    /// An amount that was worked out from the usage and a price list.
    pub fn from_prices(usd: Usd) -> Self {
        Self { usd, source: CostSource::Prices }
    }
}

/// Where the figure comes from, the surest first.
///
/// ```
/// use agentloop::{Cost, CostSource};
///
/// assert_eq!(Cost::of_cached().source, CostSource::Cache);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CostSource {
    /// Nobody was asked: the answer was stored.
    Cache,
    /// The provider named it.
    Provider,
    /// Worked out from the usage and the price list.
    Prices,
    /// Worked out from a usage that is itself an estimate (a cut or cancelled stream).
    Estimate,
}

/// An amount of US dollars, exact to a millionth of a millionth.
///
/// ```
/// use agentloop::Usd;
///
/// let price: Usd = "0.000028".parse()?;
/// assert_eq!(price.to_string(), "0.000028");
/// assert_eq!("1.5e-7".parse::<Usd>()?.to_string(), "0.00000015");
/// # Ok::<(), agentloop::ParseUsdError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i128);

const PICOS_PER_DOLLAR: i128 = 1_000_000_000_000;
const DECIMALS: i32 = 12;

impl Usd {
    /// So many millionths of a millionth of a dollar.
    pub const fn from_picos(picos: i128) -> Self {
        Self(picos)
    }

    /// The amount in millionths of a millionth of a dollar.
    pub const fn picos(self) -> i128 {
        self.0
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, rest) = (self.0.abs() / PICOS_PER_DOLLAR, self.0.abs() % PICOS_PER_DOLLAR);
        if rest == 0 {
            return write!(f, "{sign}{whole}");
        }
        let digits = format!("{rest:012}");
        write!(f, "{sign}{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// The text is not an amount that [`Usd`] can hold.
///
/// ```
/// use agentloop::Usd;
///
/// assert!("a dollar".parse::<Usd>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUsdError(String);

impl fmt::Display for ParseUsdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an amount of dollars", self.0)
    }
}

impl std::error::Error for ParseUsdError {}

impl FromStr for Usd {
    type Err = ParseUsdError;

    /// Reads a JSON number's text: `0.25`, `3`, `1.5e-7`. Digits past the twelfth decimal are rounded
    /// half up, away from zero.
    fn from_str(text: &str) -> Result<Self, ParseUsdError> {
        parse_decimal(text.trim()).map(Self).ok_or_else(|| ParseUsdError(text.to_owned()))
    }
}

fn parse_decimal(text: &str) -> Option<i128> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    // The digits as one integer, and how far its unit is from a pico-dollar.
    let mut value: i128 = 0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit.to_digit(10)?))?;
    }
    let shift = DECIMALS.checked_add(exponent)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let value = if shift >= 0 {
        value.checked_mul(10i128.checked_pow(shift.unsigned_abs())?)?
    } else {
        match 10i128.checked_pow(shift.unsigned_abs()) {
            Some(unit) => (value + unit / 2) / unit,
            None => 0,
        }
    };
    Some(if negative { -value } else { value })
}

impl std::ops::Sub for Usd {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::iter::Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |sum, amount| sum + amount)
    }
}

impl Serialize for Usd {
    /// As a string: JSON numbers would pass through floats in most readers.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Text(String),
            Number(serde_json::Number),
        }
        let text = match Form::deserialize(deserializer)? {
            Form::Text(text) => text,
            Form::Number(number) => number.to_string(),
        };
        text.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_round_trip() {
        for (text, shown) in [
            ("0", "0"),
            ("12", "12"),
            ("0.1", "0.1"),
            ("0.000000000001", "0.000000000001"),
            ("0.0000000000005", "0.000000000001"),
            ("1e-6", "0.000001"),
            ("2.5E2", "250"),
            ("-0.25", "-0.25"),
        ] {
            assert_eq!(text.parse::<Usd>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_amount_is_refused() {
        for text in ["", ".", "-", "1.2.3", "NaN", "1e", "0x10", "1e400"] {
            assert!(text.parse::<Usd>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tenth_ten_times_is_one() {
        let tenth: Usd = "0.1".parse().unwrap();
        assert_eq!(std::iter::repeat_n(tenth, 10).sum::<Usd>(), "1".parse().unwrap());
    }
}
