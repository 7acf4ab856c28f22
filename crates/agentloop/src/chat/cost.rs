//! Exact amounts of money.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The cost of a response. An unknown cost is absent, never zero.
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
    /// The source of the amount.
    pub source: CostSource,
}

impl Cost {
    /// Creates a cost that the provider reported.
    pub fn from_provider(usd: Usd) -> Self {
        Self { usd, source: CostSource::Provider }
    }

    /// Returns the cost of a cached response, which is zero.
    pub fn of_cached() -> Self {
        Self { usd: Usd::default(), source: CostSource::Cache }
    }

    /// Returns the sum of both. Its source is the less reliable of the two.
    #[must_use]
    pub fn plus(&self, more: &Self) -> Self {
        Self { usd: self.usd + more.usd, source: self.source.max(more.source) }
    }

    /// Creates a cost that was computed from the usage and a price list.
    pub fn from_prices(usd: Usd) -> Self {
        Self { usd, source: CostSource::Prices }
    }
}

/// The source of a cost, the most reliable first.
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
    /// The response was cached, so nothing was spent.
    Cache,
    /// The provider reported the cost.
    Provider,
    /// Computed from the usage and the price list.
    Prices,
    /// Computed from an estimated usage (of a truncated or cancelled stream).
    Estimate,
}

/// An amount of US dollars, exact to 10⁻¹² dollars.
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
    /// Creates an amount from units of 10⁻¹² dollars.
    pub const fn from_picos(picos: i128) -> Self {
        Self(picos)
    }

    /// Returns the amount in units of 10⁻¹² dollars.
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

/// The error of a text that is not an amount that [`Usd`] can represent.
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

    /// Parses the text of a JSON number: `0.25`, `3`, `1.5e-7`. Digits after the twelfth decimal are rounded half away
    /// from zero.
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
    // The digits as one integer, and the exponent that turns it into units of 10⁻¹² dollars.
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
    /// Writes a string, because most JSON readers turn numbers into floats.
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
    fn text_that_is_not_an_amount_is_refused() {
        for text in ["", ".", "-", "1.2.3", "NaN", "1e", "0x10", "1e400"] {
            assert!(text.parse::<Usd>().is_err(), "{text}");
        }
    }

    #[test]
    fn ten_times_a_tenth_is_one() {
        let tenth: Usd = "0.1".parse().unwrap();
        assert_eq!(std::iter::repeat_n(tenth, 10).sum::<Usd>(), "1".parse().unwrap());
    }
}
