//! The function `strftime_now`: the date in UTC, in a format of C's `strftime`.

use std::time::{SystemTime, UNIX_EPOCH};

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// Formats the current time.
pub(super) fn now(format: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    write(format, now.as_secs())
}

/// Formats a time in seconds since 1970. An unknown field is left as it is.
pub(super) fn write(format: &str, seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let name = |names: &[&'static str], index: u64| {
        usize::try_from(index).ok().and_then(|index| names.get(index).copied()).unwrap_or_default()
    };
    let (month_name, day_name) = (name(&MONTHS, month - 1), name(&DAYS, days % 7));
    let (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60);
    let mut written = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            written.push(character);
            continue;
        }
        match characters.next() {
            Some('Y') => written.push_str(&year.to_string()),
            Some('y') => written.push_str(&format!("{:02}", year % 100)),
            Some('m') => written.push_str(&format!("{month:02}")),
            Some('B') => written.push_str(month_name),
            Some('b' | 'h') => written.push_str(&month_name[..3]),
            Some('d') => written.push_str(&format!("{day:02}")),
            Some('e') => written.push_str(&format!("{day:2}")),
            Some('A') => written.push_str(day_name),
            Some('a') => written.push_str(&day_name[..3]),
            Some('H') => written.push_str(&format!("{hour:02}")),
            Some('I') => written.push_str(&format!("{:02}", (hour + 11) % 12 + 1)),
            Some('p') => written.push_str(if hour < 12 { "AM" } else { "PM" }),
            Some('M') => written.push_str(&format!("{minute:02}")),
            Some('S') => written.push_str(&format!("{second:02}")),
            Some('F') => written.push_str(&format!("{year}-{month:02}-{day:02}")),
            Some('T') => written.push_str(&format!("{hour:02}:{minute:02}:{second:02}")),
            Some('Z') => written.push_str("UTC"),
            Some('z') => written.push_str("+0000"),
            Some('%') => written.push('%'),
            Some(other) => written.extend(['%', other]),
            None => written.push('%'),
        }
    }
    written
}

/// Converts days since 1970 to year, month and day. Years begin in March here, so that the day of a leap year is the last one.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}
