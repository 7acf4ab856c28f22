//! Hours of the week.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::calendar::{self, SECONDS_PER_DAY};

/// Hours on some days of the week, by universal time: `12345/01:00-04:00` is from one to four on Monday (1) to Friday.
///
/// ```
/// use agentloop::models::Hours;
///
/// let nights: Hours = "67/22:00-00:00".parse()?;
/// assert_eq!(nights.to_string(), "67/22:00-00:00");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hours {
    /// One bit per day; Monday is the lowest.
    days: u8,
    /// Minutes of the day: the first, and the first that is not included any more.
    from: u16,
    until: u16,
}

const MINUTES_A_DAY: u16 = 24 * 60;

impl Hours {
    /// Returns whether the hours contain a moment.
    pub fn contain(&self, moment: SystemTime) -> bool {
        let seconds = calendar::seconds_since_1970(moment);
        // The first of January 1970 was a Thursday.
        let day = (seconds / SECONDS_PER_DAY + 3) % 7;
        let minute = seconds % SECONDS_PER_DAY / 60;
        self.days >> day & 1 == 1 && (u64::from(self.from)..u64::from(self.until)).contains(&minute)
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for day in (0..7).filter(|day| self.days >> day & 1 == 1) {
            write!(f, "{}", day + 1)?;
        }
        let until = self.until % MINUTES_A_DAY;
        let (from_hour, from_minute) = (self.from / 60, self.from % 60);
        write!(f, "/{from_hour:02}:{from_minute:02}-{:02}:{:02}", until / 60, until % 60)
    }
}

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let minutes = |text: &str| {
            let (hour, minute) = text.split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let read = || {
            let (weekdays, span) = text.split_once('/')?;
            let mut days = 0;
            for day in weekdays.chars() {
                let day = day.to_digit(10).filter(|day| (1..=7).contains(day))?;
                days |= 1u8 << (day - 1);
            }
            let (from, until) = span.split_once('-')?;
            let (from, until) = (minutes(from)?, minutes(until)?);
            let until = if until == 0 { MINUTES_A_DAY } else { until };
            (days > 0 && from < until).then_some(Self { days, from, until })
        };
        read().ok_or_else(|| {
            format!("`{text}` are no hours: they are written 12345/01:00-04:00, Monday being 1")
        })
    }
}

impl Serialize for Hours {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hours {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
