//! Times as people write and read them, in UTC.

use std::time::Duration;

use jiff::civil::{Date, DateTime, date};
use jiff::{SignedDuration, Timestamp};

/// The milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// The first day of Unix time.
const EPOCH: Date = date(1970, 1, 1);

/// Formats a time in milliseconds of Unix time as RFC 3339.
pub(crate) fn format_utc(time: i64) -> String {
    civil_time(time).strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats the day of a time in milliseconds of Unix time.
pub(crate) fn format_day(time: i64) -> String {
    civil_time(time).date().to_string()
}

/// Returns a time in milliseconds of Unix time in the calendar, in whole seconds. A time beyond the years of four digits is the last one.
fn civil_time(time: i64) -> DateTime {
    EPOCH.at(0, 0, 0, 0).saturating_add(SignedDuration::from_secs(time.div_euclid(1_000)))
}

/// Reads a day such as 2026-11-16. Returns its first millisecond in Unix time.
pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    let is_typed = |day: &Date| *day >= EPOCH && day.to_string() == text;
    let day = Date::strptime("%Y-%m-%d", text).ok().filter(is_typed);
    let day = day.ok_or_else(|| format!("there is no day {text}; write a day as 2026-11-16"))?;
    Ok(day.duration_since(EPOCH).as_secs() * 1_000)
}

/// Reads an age such as 30d.
pub(crate) fn parse_age(text: &str) -> Result<Duration, String> {
    const HOUR: u64 = 3_600;
    let wrong = || "write a number with a unit: 12h, 30d, 8w or 1y".to_owned();
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        'y' => 365 * 24,
        _ => return Err(wrong()),
    };
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(hours * HOUR).ok_or("this is too long")?;
    Ok(Duration::from_secs(seconds))
}

/// A moment as it is typed: an age such as 7d, a day, or a time with its offset from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// This long ago.
    Ago(Duration),
    /// In milliseconds of Unix time.
    At(i64),
}

impl Moment {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Ok(time) = text.parse::<Timestamp>() {
            return Ok(Self::At(time.as_millisecond()));
        }
        if text.contains('-') {
            return parse_day(text).map(Self::At);
        }
        let wrong = "write a day as 2026-11-16, or an age as 12h, 7d, 8w or 1y";
        parse_age(text).map(Self::Ago).map_err(|_| wrong.to_owned())
    }

    /// Returns it in milliseconds of Unix time.
    pub(crate) fn resolve(self, now: i64) -> i64 {
        match self {
            Self::Ago(age) => {
                now.saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))
            }
            Self::At(time) => time,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(format_utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(format_utc(951_782_399_999), "2000-02-28T23:59:59Z");
        assert_eq!(format_utc(951_782_400_000), "2000-02-29T00:00:00Z");
        assert_eq!(format_utc(1_794_796_859_123), "2026-11-16T02:40:59Z");
        assert_eq!(format_utc(-1), "1969-12-31T23:59:59Z");
        // A damaged file may have any number.
        assert_eq!(format_utc(i64::MAX), "9999-12-31T23:59:59Z");
        assert_eq!(format_day(i64::MIN), "-009999-01-01");
    }

    #[test]
    fn days_are_read_strictly() {
        for day in ["1970-01-01", "2000-02-29", "2024-02-29", "2026-11-16", "9999-12-31"] {
            assert_eq!(format_day(parse_day(day).unwrap()), day);
        }
        for wrong in [
            "",
            "2023-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-00",
            "26-01-01",
            "2026-1-1",
            "2026-01-01-01",
            "1969-12-31",
            "+026-01-01",
            "2026-01-0é",
            "20260101",
            "2026-02-31",
            "2026-01-01T00:00:00Z",
            " 2026-01-01",
            "10000-01-01",
        ] {
            assert!(parse_day(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_have_a_unit() {
        assert_eq!(parse_age("30d"), Ok(Duration::from_secs(30 * 86_400)));
        assert_eq!(parse_age("0h"), Ok(Duration::ZERO));
        for wrong in [
            "",
            "d",
            "30",
            "-1d",
            "1.5d",
            "30 d",
            "99999999999999999999y",
            "9999999999999999y",
            "1ü",
        ] {
            assert!(parse_age(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn moments_are_ages_or_days() {
        let now = parse_day("2026-11-16").unwrap();
        let resolve = |text: &str| Moment::parse(text).map(|moment| moment.resolve(now));
        assert_eq!(resolve("7d"), parse_day("2026-11-09"));
        assert_eq!(resolve("2026-11-01"), parse_day("2026-11-01"));
        assert_eq!(resolve("1000000000y"), Ok(now - i64::MAX));
        assert_eq!(resolve("2026-11-16T02:00:00+02:00"), Ok(now));
        assert_eq!(resolve("2026-11-15T23:59:59.999Z"), Ok(now - 1));
        for wrong in
            ["yesterday", "", "2026-11-31", "2026-11-31T00:00:00Z", "2026-11-16T02:00", "7"]
        {
            assert!(resolve(wrong).is_err(), "{wrong}");
        }
    }
}
