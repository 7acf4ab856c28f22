//! A day.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use jiff::civil;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::calendar;

/// A day of the calendar, `2026-11-15`, by universal time.
///
/// ```
/// use agentloop::models::Date;
///
/// let day: Date = "2026-11-15".parse()?;
/// assert!(day > "2026-02-28".parse()?);
/// assert!("2026-02-30".parse::<Date>().is_err());
/// # Ok::<(), agentloop::models::ParseDateError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(civil::Date);

impl Date {
    /// Returns the day of that year (at most 9999), month (1 to 12) and day (1 to 31), if it exists.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let (year, month, day) =
            (year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?);
        civil::Date::new(year, month, day).ok().map(Self)
    }

    /// Returns the day of a moment. Moments before 1970 count as 1970-01-01.
    pub fn of(moment: SystemTime) -> Self {
        Self(calendar::date_of(calendar::seconds_since_1970(moment)))
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The error of a text that is not a date.
///
/// ```
/// use agentloop::models::Date;
///
/// assert!("tomorrow".parse::<Date>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDateError(String);

impl fmt::Display for ParseDateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not a date; write it like 2026-11-15", self.0)
    }
}

impl std::error::Error for ParseDateError {}

impl FromStr for Date {
    type Err = ParseDateError;

    fn from_str(text: &str) -> Result<Self, ParseDateError> {
        // A text with a time, or without separators, is not a date here.
        let is_date = text.len() == 10 && text.bytes().filter(|byte| *byte == b'-').count() == 2;
        let date = text.parse().ok().filter(|_| is_date);
        date.map(Self).ok_or_else(|| ParseDateError(text.to_owned()))
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
