//! Times as people write and read them, in UTC.

use std::time::Duration;

/// The milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// Formats a time in milliseconds of Unix time as RFC 3339.
pub(crate) fn format_utc(time: i64) -> String {
    let seconds = time.rem_euclid(DAY_MS) / 1_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", format_day(time))
}

/// Formats the day of a time in milliseconds of Unix time.
pub(crate) fn format_day(time: i64) -> String {
    let days = time.div_euclid(DAY_MS);
    // The civil date of a day number, by Howard Hinnant's `civil_from_days`.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    format!("{year:04}-{month:02}-{day:02}")
}

/// Reads a day such as 2026-11-16. Returns its first millisecond in Unix time.
pub(crate) fn parse_day(text: &str) -> Result<i64, String> {
    let wrong = || "write a day as 2026-11-16".to_owned();
    let numbers: Vec<i64> = text
        .split('-')
        .zip([4, 2, 2])
        .filter(|(part, digits)| part.len() == *digits && part.bytes().all(|b| b.is_ascii_digit()))
        .filter_map(|(part, _)| part.parse().ok())
        .collect();
    let &[year, month, day] = numbers.as_slice() else { return Err(wrong()) };
    if text.len() != "2026-11-16".len() || !(1970..=9_999).contains(&year) {
        return Err(wrong());
    }
    // The day number of a civil date, by Howard Hinnant's `days_from_civil`. Years begin in March.
    let (shifted_year, shifted_month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = 365 * shifted_year + leap_days + (153 * shifted_month + 2) / 5 + day - 1 - 719_468;
    let time = days * DAY_MS;
    // A day that does not exist, such as February 30, becomes another one.
    match format_day(time) == text {
        true => Ok(time),
        false => Err(format!("there is no day {text}")),
    }
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

/// A moment as it is typed: an age such as 7d, or a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// This long ago.
    Ago(Duration),
    /// In milliseconds of Unix time.
    At(i64),
}

impl Moment {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
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
        for wrong in ["yesterday", "", "2026-11-31", "7"] {
            assert!(resolve(wrong).is_err(), "{wrong}");
        }
    }
}
