//! Days and hours in UTC, as groups of the ledger.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::Offset;

/// The milliseconds of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;

/// The milliseconds of a day.
pub(crate) const DAY_MS: i64 = 24 * HOUR_MS;

/// Returns a day, counted since 1970. A day that no calendar has is the first or the last one that it has.
pub(crate) fn date_of(day: i64) -> Date {
    let last = if day < 0 { Date::MIN } else { Date::MAX };
    let time = day.checked_mul(24 * 3_600).and_then(|second| Timestamp::from_second(second).ok());
    time.map_or(last, |time| Offset::UTC.to_datetime(time).date())
}

/// Formats a day, counted since 1970, as `YYYY-MM-DD`.
pub(crate) fn format_day(day: i64) -> String {
    date_of(day).to_string()
}

/// Formats an hour, counted since 1970, as `YYYY-MM-DDTHH`.
pub(crate) fn format_hour(hour: i64) -> String {
    format!("{}T{:02}", format_day(hour.div_euclid(24)), hour.rem_euclid(24))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_hours_are_formatted_in_utc() {
        for (day, text) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_773, "2026-11-16"),
        ] {
            assert_eq!(format_day(day), text);
        }
        assert_eq!(format_hour(-1), "1969-12-31T23");
        assert_eq!(format_hour(24 * 20_773 + 5), "2026-11-16T05");
        for extreme in [i64::MIN, i64::MAX] {
            assert!(!format_day(extreme).is_empty());
        }
    }
}
