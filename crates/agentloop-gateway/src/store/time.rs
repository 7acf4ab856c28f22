//! Days and hours in UTC, as groups of the ledger.

/// The milliseconds of an hour.
pub(crate) const HOUR_MS: i64 = 3_600_000;

/// The milliseconds of a day.
pub(crate) const DAY_MS: i64 = 24 * HOUR_MS;

/// Formats a day, counted since 1970, as `YYYY-MM-DD`.
pub(crate) fn format_day(day: i64) -> String {
    // The civil date of a day number, by Howard Hinnant's `civil_from_days`. Years begin in March, so a leap day is the last day.
    let shifted = i128::from(day) + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", year + era * 400 + next)
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
