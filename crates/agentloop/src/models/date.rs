//! A day.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

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
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    /// Returns the day of that year, month (1 to 12) and day (1 to 31), if it exists.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = match month {
            2 if leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        (1..=days).contains(&day).then_some(Self { year, month, day })
    }

    /// Returns the day of a moment. Moments before 1970 count as 1970-01-01.
    pub fn of(moment: SystemTime) -> Self {
        let days = calendar::seconds_since_1970(moment) / calendar::SECONDS_PER_DAY;
        let (year, month, day) = calendar::date_of_day(days);
        Self {
            year: u16::try_from(year).unwrap_or(u16::MAX),
            month: u8::try_from(month).unwrap_or(12),
            day: u8::try_from(day).unwrap_or(31),
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
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
        let read = || {
            let digits = text.bytes().filter(u8::is_ascii_digit).count();
            if (text.len(), digits) != (10, 8) {
                return None;
            }
            let mut parts = text.split('-');
            let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
            let month = parts.next().filter(|month| month.len() == 2)?.parse().ok()?;
            Self::new(year, month, parts.next()?.parse().ok()?)
        };
        read().ok_or_else(|| ParseDateError(text.to_owned()))
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
