//! The cost that a provider names in its response.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::lenient::Int;
use crate::chat::{Cost, Usd, Warning};

/// How many characters of a cost that is not one are quoted.
const MAX_QUOTED: usize = 40;

/// The cost that a provider reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReportedCost {
    /// Nothing.
    #[default]
    Absent,
    /// An amount.
    Known(Cost),
    /// Something that cannot be a cost: below zero, not finite, not a number. It is quoted in a warning.
    Invalid(String),
}

impl ReportedCost {
    /// Reads a number, a number in a string, or an object with the total of several. The digits are read as they are
    /// written, never through a float.
    pub(crate) fn read(raw: Option<&RawValue>) -> Self {
        #[derive(Deserialize)]
        struct Total<'a> {
            #[serde(borrow)]
            total_cost: &'a RawValue,
        }
        let Some(raw) = raw.map(RawValue::get) else { return Self::Absent };
        let text = if raw.starts_with('{') {
            match serde_json::from_str::<Total<'_>>(raw) {
                Ok(total) => total.total_cost.get(),
                Err(_) => return Self::Absent,
            }
        } else {
            raw
        };
        match text.trim_matches('"') {
            "" | "null" => Self::Absent,
            text => match text.parse::<Usd>() {
                Ok(usd) if usd >= Usd::default() => Self::Known(Cost::from_provider(usd)),
                _ => Self::Invalid(text.chars().take(MAX_QUOTED).collect()),
            },
        }
    }

    /// Reads a cost in ten-thousand-millionths of a dollar. Zero means that the cost is not known: no call is free
    /// there.
    pub(crate) fn of_ticks(ticks: Int) -> Self {
        match ticks.0 {
            None | Some(0) => Self::Absent,
            Some(ticks) if ticks > 0 => {
                Self::Known(Cost::from_provider(Usd::from_picos(i128::from(ticks) * 100)))
            }
            Some(ticks) => Self::Invalid(ticks.to_string()),
        }
    }

    /// Returns this cost, or `other` if this one is absent.
    pub(crate) fn or(self, other: Self) -> Self {
        if self == Self::Absent { other } else { self }
    }

    /// Returns the amount, or the warning about a value that is not an amount.
    pub(crate) fn split(self) -> (Option<Cost>, Option<Warning>) {
        match self {
            Self::Absent => (None, None),
            Self::Known(cost) => (Some(cost), None),
            Self::Invalid(text) => {
                let text = format!("the provider reports a cost of {text}, which was ignored");
                (None, Some(Warning::about_response(text)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> ReportedCost {
        ReportedCost::read(Some(serde_json::from_str(json).unwrap()))
    }

    #[test]
    fn a_cost_is_read_in_every_form() {
        for json in ["0.25", "\"0.25\"", "2.5e-1", r#"{"total_cost":0.25,"request_cost":0.1}"#] {
            assert_eq!(read(json).split().0.unwrap().usd.to_string(), "0.25", "{json}");
        }
        for json in ["null", "\"\"", "{}", r#"{"total_cost":null}"#] {
            assert_eq!(read(json), ReportedCost::Absent, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_a_cost_is_not_one() {
        for json in
            ["-0.25", "\"NaN\"", "\"-Infinity\"", "1e999", "true", "[1]", r#"{"total_cost":-1}"#]
        {
            assert!(matches!(read(json), ReportedCost::Invalid(_)), "{json}");
        }
        assert_eq!(ReportedCost::of_ticks(Int(Some(-5))), ReportedCost::Invalid("-5".to_owned()));
        assert_eq!(ReportedCost::of_ticks(Int(Some(0))), ReportedCost::Absent);
    }
}
