//! Dates and times of the Gregorian calendar, in universal time, as days and seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

pub(crate) const SECONDS_PER_DAY: u64 = 86_400;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Days between 0000-03-01 and 1970-01-01. Years are counted from March here, so a leap day is the last day of its year.
const EPOCH: u64 = 719_468;

/// Returns the seconds since 1970 of a moment. A moment before 1970 counts as its first second.
pub(crate) fn seconds_since_1970(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the year, month (1 to 12) and day (1 to 31) of a day since 1970.
pub(crate) fn date_of_day(days: u64) -> (u64, u64, u64) {
    let days = days.saturating_add(EPOCH);
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// Returns the seconds since 1970 of a date and a time of day, or `None` if a number is out of its range. A leap second counts as
/// the first second of the next minute.
fn seconds_of([year, month, day]: [u64; 3], [hour, minute, second]: [u64; 3]) -> Option<u64> {
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month);
    let is_time = hour < 24 && minute < 60 && second <= 60;
    if !is_date || !(1..=31).contains(&day) || !is_time {
        return None;
    }
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - EPOCH;
    Some(days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second)
}

/// Reads a time as RFC 3339 writes it, such as `2026-05-04T20:01:02.264968Z`, in seconds since 1970. Fractions of a second are
/// ignored. The time must be in universal time, as all providers write it.
pub(crate) fn read_rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('T')?;
    let time = time.strip_suffix('Z').or_else(|| time.strip_suffix("+00:00"))?;
    let seconds = seconds_of(numbers(date, '-')?, numbers(time.split('.').next()?, ':')?)?;
    i64::try_from(seconds).ok()
}

/// Writes seconds since 1970 as RFC 3339 does in universal time, such as `2026-05-04T20:01:02Z`.
pub(crate) fn write_rfc3339(seconds: u64) -> String {
    let (year, month, day) = date_of_day(seconds / SECONDS_PER_DAY);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Reads a date as HTTP headers write it, such as `Sun, 06 Nov 1994 08:49:37 GMT`, in seconds since 1970.
pub(crate) fn read_http_date(text: &str) -> Option<u64> {
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let day = number(words.next()?)?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let year = number(words.next()?)?;
    seconds_of([year, month, day], numbers(words.next()?, ':')?)
}

/// Reads three numbers that `separator` separates.
fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(number);
    let read = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(read)
}

/// Reads a number of at most four digits. `parse` alone accepts a sign.
fn number(text: &str) -> Option<u64> {
    let is_number = text.len() <= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAYS: [(u64, &str, &str); 6] = [
        (0, "1970-01-01", "Thu, 01 Jan 1970"),
        (11_016, "2000-02-29", "Tue, 29 Feb 2000"),
        (11_017, "2000-03-01", "Wed, 01 Mar 2000"),
        (20_772, "2026-11-15", "Sun, 15 Nov 2026"),
        (20_818, "2026-12-31", "Thu, 31 Dec 2026"),
        (47_541, "2100-03-01", "Mon, 01 Mar 2100"),
    ];

    #[test]
    fn days_and_dates_convert_into_each_other() {
        for (days, date, http) in DAYS {
            let seconds = days * SECONDS_PER_DAY + 8 * 3_600 + 49 * 60 + 37;
            let signed = i64::try_from(seconds).unwrap();
            assert_eq!(write_rfc3339(seconds), format!("{date}T08:49:37Z"));
            assert_eq!(read_rfc3339(&format!("{date}T08:49:37Z")), Some(signed), "{date}");
            assert_eq!(read_rfc3339(&format!("{date}T08:49:37.9+00:00")), Some(signed), "{date}");
            assert_eq!(read_http_date(&format!("{http} 08:49:37 GMT")), Some(seconds), "{http}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_is_read_as_it_is_written() {
        for days in 0..146_097_i64 {
            let text = write_rfc3339(days.unsigned_abs() * SECONDS_PER_DAY);
            assert_eq!(read_rfc3339(&text), Some(days * 86_400), "{text}");
        }
    }

    #[test]
    fn text_that_is_not_a_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "2026-11-15",
            "2026-11-15T08:49:37",
            "2026-11-15T08:49:37+02:00",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-32T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00:00Z",
            "+026-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "99999999999999999999-01-01T00:00:00Z",
            "\u{e9}\u{e9}-01-01T00:00:00Z",
        ] {
            assert_eq!(read_rfc3339(text), None, "{text}");
        }
        for text in [
            "Sun, 06 Nov 1994 08:49:9300000000000000000 GMT",
            "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(read_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn the_last_representable_moment_has_a_date() {
        assert!(date_of_day(u64::MAX).0 > 1970);
        assert!(write_rfc3339(u64::MAX).ends_with('Z'));
        assert_eq!(seconds_since_1970(UNIX_EPOCH - std::time::Duration::from_secs(1)), 0);
    }
}
