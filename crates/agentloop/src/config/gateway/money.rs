//! Budgets, and the teams that share them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::chat::Usd;
use crate::config::OneOrMany;
use crate::error::{Error, ErrorKind, Result};

/// The time that a budget is for. All times are in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum GatewayPeriod {
    /// A day.
    Day,
    /// A week, which begins on Monday.
    Week,
    /// A month.
    Month,
    /// Without an end.
    Total,
}

impl GatewayPeriod {
    /// Returns its name: `day`, `week`, `month` or `total`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
            Self::Total => "total",
        }
    }
}

/// An amount of dollars for a period: `5/day`, `20/week`, `100/month` or `500` in total.
///
/// ```
/// use agentloop::{GatewayBudget, GatewayPeriod};
///
/// let budget: GatewayBudget = "2.50/day".parse()?;
/// assert_eq!(budget.per, GatewayPeriod::Day);
/// assert_eq!(budget.to_string(), "2.5/day");
/// assert_eq!("500".parse::<GatewayBudget>()?.per, GatewayPeriod::Total);
/// # Ok::<(), agentloop::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayBudget {
    /// The amount.
    pub usd: Usd,
    /// The period that it is for.
    pub per: GatewayPeriod,
}

impl GatewayBudget {
    /// Creates a budget.
    pub fn new(usd: Usd, per: GatewayPeriod) -> Self {
        Self { usd, per }
    }
}

impl FromStr for GatewayBudget {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: String| {
            Error::new(ErrorKind::Config, format!("`{text}` is not a budget: {why}"))
                .with_hint("write it as 5/day, 20/week, 100/month or 500/total, in dollars")
        };
        let (amount, period) = text.split_once('/').unwrap_or((text, "total"));
        let amount = amount.trim().trim_start_matches('$');
        let usd: Usd = amount.parse().map_err(|error| wrong(format!("{error}")))?;
        let per = match period.trim() {
            "day" => GatewayPeriod::Day,
            "week" => GatewayPeriod::Week,
            "month" => GatewayPeriod::Month,
            "total" => GatewayPeriod::Total,
            other => return Err(wrong(format!("`{other}` is not a period"))),
        };
        if usd < Usd::default() {
            return Err(wrong("the amount is below 0".to_owned()));
        }
        Ok(Self { usd, per })
    }
}

impl fmt::Display for GatewayBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.usd, self.per.as_str())
    }
}

impl Serialize for GatewayBudget {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GatewayBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A group of keys.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayTeam {
    /// What the requests of all its keys may cost: `"100/month"`, or a list with one amount for each period. Default: no limit.
    #[serde(deserialize_with = "budgets")]
    pub budget: Vec<GatewayBudget>,
    /// The most requests per minute. Default: no limit.
    pub requests_per_minute: Option<u64>,
    /// The most tokens per minute. Default: no limit.
    pub tokens_per_minute: Option<u64>,
    /// The most requests at the same time. Default: no limit.
    pub concurrency: Option<usize>,
}

/// Reads one budget or a list, with at most one of each period.
pub(super) fn budgets<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<GatewayBudget>, D::Error> {
    use serde::de::Error as _;
    let texts = match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(text) => vec![text],
        OneOrMany::Many(texts) => texts,
    };
    let mut budgets: Vec<GatewayBudget> = Vec::new();
    for text in texts {
        let budget: GatewayBudget = text.parse().map_err(D::Error::custom)?;
        if budgets.iter().any(|other| other.per == budget.per) {
            let message = format!("there are two budgets per {}", budget.per.as_str());
            return Err(D::Error::custom(message));
        }
        budgets.push(budget);
    }
    Ok(budgets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_read_strictly() {
        for (text, shown) in [("5/day", "5/day"), ("$0.25/week", "0.25/week"), ("7", "7/total")] {
            assert_eq!(text.parse::<GatewayBudget>().unwrap().to_string(), shown);
        }
        for text in ["", "five/day", "5/year", "-1/day", "5/day/2"] {
            assert!(text.parse::<GatewayBudget>().is_err(), "{text}");
        }
        let read =
            |text: &str| crate::Config::parse(&format!("[gateway.teams.web]\nbudget={text}"));
        let config = read("['5/day','50/month']").unwrap().gateway.unwrap();
        assert_eq!(config.teams["web"].budget.len(), 2);
        let error = read("['5/day','6/day']").unwrap_err().to_string();
        assert!(error.contains("two budgets per day"), "{error}");
    }
}
