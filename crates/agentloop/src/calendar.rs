//! Dates and times in universal time, as seconds since 1970.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::fmt::rfc2822::DateTimeParser;
use jiff::tz::Offset;

pub(crate) const SECONDS_PER_DAY: u64 = 86_400;

/// Returns the seconds since 1970 of a moment. A moment before 1970 counts as its first second.
pub(crate) fn seconds_since_1970(moment: SystemTime) -> u64 {
    moment.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Returns the day of a moment in seconds since 1970. After the year 9999 it is the last day of that year.
pub(crate) fn date_of(seconds: u64) -> Date {
    Offset::UTC.to_datetime(timestamp(seconds)).date()
}

fn timestamp(seconds: u64) -> Timestamp {
    let last = Timestamp::MAX.as_second();
    let seconds = i64::try_from(seconds).map_or(last, |seconds| seconds.min(last));
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Reads a time as RFC 3339 writes it, such as `2026-05-04T20:01:02.264968Z`, in seconds since 1970. Fractions of a second are
/// ignored. A time before 1970 is one that was never set: Go writes `0001-01-01T00:00:00Z` for it.
pub(crate) fn read_rfc3339(text: &str) -> Option<i64> {
    let time: Timestamp = text.parse().ok()?;
    Some(time.as_second()).filter(|seconds| *seconds >= 0)
}

/// Writes seconds since 1970 as RFC 3339 does in universal time, such as `2026-05-04T20:01:02Z`.
pub(crate) fn write_rfc3339(seconds: u64) -> String {
    timestamp(seconds).to_string()
}

/// Reads a date of an HTTP header, in seconds since 1970.
///
/// RFC 9110 has three forms that must be read: `Sun, 06 Nov 1994 08:49:37 GMT`, and the obsolete
/// `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`. The day of the week is not needed, so it is not read.
pub(crate) fn read_http_date(text: &str) -> Option<u64> {
    let date = match text.split_once(", ") {
        Some((_, date)) => {
            let (day, time) = date.split_once(' ')?;
            format!("{} {time}", day.replace('-', " "))
        }
        None => {
            let mut words = text.split_ascii_whitespace().skip(1);
            let (month, day, time, year) =
                (words.next()?, words.next()?, words.next()?, words.next()?);
            format!("{day} {month} {year} {time} GMT")
        }
    };
    let time = DateTimeParser::new().parse_timestamp(date).ok()?;
    u64::try_from(time.as_second()).ok()
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
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-32T00:00:00Z",
            "2026-02-31T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00:00Z",
            "+026-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "0001-01-01T00:00:00Z",
            "99999999999999999999-01-01T00:00:00Z",
            "\u{e9}\u{e9}-01-01T00:00:00Z",
        ] {
            assert_eq!(read_rfc3339(text), None, "{text}");
        }
        for text in [
            "Sun, 06 Nov 1994 08:49:9300000000000000000 GMT",
            "Sun, 06 Foo 1994 08:49:37 GMT",
            "Sun, 32 Nov 1994 08:49:37 GMT",
            "Sun, 31 Nov 1994 08:49:37 GMT",
            "06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94",
            "Sunday, 31-Feb-94 08:49:37 GMT",
            "Sun Nov  6 1994",
            "Sun Feb 31 08:49:37 1994",
            "Sun Nov  6 08:49:37 94000",
            "Mon, 01 Jan 1900 00:00:00 GMT",
            ", ",
            "\u{e9}, \u{e9} \u{e9}",
        ] {
            assert_eq!(read_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_with_an_offset_is_converted() {
        for text in [
            "2026-11-15T10:49:37+02:00",
            "2026-11-15T00:19:37.5-08:30",
            "2026-11-15T08:49:37.000+00:00",
        ] {
            assert_eq!(read_rfc3339(text), read_rfc3339("2026-11-15T08:49:37Z"), "{text}");
        }
    }

    #[test]
    fn every_form_of_http_is_read() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Wed, 06 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(read_http_date(text), Some(784_111_777), "{text}");
        }
        assert_eq!(read_http_date("Monday, 16-Nov-26 00:00:00 GMT"), Some(1_794_787_200));
    }

    #[test]
    fn the_last_representable_moment_has_a_date() {
        assert!(date_of(u64::MAX).year() > 1970);
        assert!(write_rfc3339(u64::MAX).starts_with("9999-12-30T"));
        assert_eq!(seconds_since_1970(UNIX_EPOCH - std::time::Duration::from_secs(1)), 0);
    }
}
