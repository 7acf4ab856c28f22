//! Names in paths, and questions to the ledger.

use std::time::{SystemTime, UNIX_EPOCH};

use super::reply::{Problem, invalid};
use crate::call::percent_decode;
use crate::key::end_of_day;
use crate::store::{By, RowFilter, check_name};

/// The longest value of a parameter, in bytes.
const MAX_VALUE: usize = 512;

/// The milliseconds of a day.
pub(super) const DAY_MS: i64 = 86_400_000;

/// Reads the name of a key or a team in a path.
pub(super) fn name(text: &str) -> Result<String, Problem> {
    let name = percent_decode(text);
    check_name(&name)?;
    Ok(name)
}

/// Reads the parameters of a query. Unknown ones and those without a value are errors.
pub(super) fn pairs(query: &str, known: &[&str]) -> Result<Vec<(String, String)>, Problem> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text: &str| percent_decode(&text.replace('+', " "));
        let (name, value) = (decode(name), decode(value));
        if !known.contains(&name.as_str()) {
            let shown: String = name.chars().take(64).collect();
            let known = known.join("`, `");
            return Err(invalid(format!("unknown parameter `{shown}`; the known ones: `{known}`")));
        }
        if value.is_empty() || value.len() > MAX_VALUE || value.contains(char::is_control) {
            let message = format!("`{name}` must have 1 to {MAX_VALUE} bytes of plain text");
            return Err(invalid(message));
        }
        if pairs.iter().any(|(other, _)| *other == name) {
            return Err(invalid(format!("`{name}` is there twice")));
        }
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// The parameters that choose rows.
pub(super) const FILTER: [&str; 7] = ["since", "until", "key", "team", "model", "provider", "tag"];

/// Takes the parameters that choose rows, and returns the others.
pub(super) fn filter(
    pairs: Vec<(String, String)>,
) -> Result<(RowFilter, Vec<(String, String)>), Problem> {
    let now = now_ms();
    let mut filter = RowFilter::default();
    let mut others = Vec::new();
    for (name, value) in pairs {
        match name.as_str() {
            "since" => filter.since_ms = Some(time("since", &value, now)?),
            "until" => filter.until_ms = Some(time("until", &value, now)?),
            "key" => filter.key = Some(value),
            "team" => filter.team = Some(value),
            "model" => filter.model = Some(value),
            "provider" => filter.provider = Some(value),
            "tag" => filter.tag = Some(value),
            _ => others.push((name, value)),
        }
    }
    Ok((filter, others))
}

/// Reads what sums are grouped by.
pub(super) fn by(text: &str) -> Result<By, Problem> {
    By::of_name(text).ok_or_else(|| {
        let known = By::ALL.map(By::as_str).join("`, `");
        invalid(format!("`by` must be one of `{known}`"))
    })
}

/// Reads a time: a day, milliseconds of Unix time, or how long ago (`90m`, `24h`, `7d`).
fn time(name: &str, text: &str, now: i64) -> Result<i64, Problem> {
    let wrong = || {
        let form = "a day such as 2026-11-16, a time ago such as 90m, 24h or 7d, or milliseconds of Unix time";
        invalid(format!("`{name}` must be {form}"))
    };
    if let Some(end) = end_of_day(text) {
        return i64::try_from(end).map(|end| end * 1000 - DAY_MS).map_err(|_| wrong());
    }
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'm')) => (&text[..at], 60_000),
        Some((at, 'h')) => (&text[..at], 3_600_000),
        Some((at, 'd')) => (&text[..at], DAY_MS),
        _ => (text, 0),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: i64 = digits.parse().map_err(|_| wrong())?;
    match unit {
        0 => Ok(number),
        unit => number.checked_mul(unit).and_then(|ago| now.checked_sub(ago)).ok_or_else(wrong),
    }
}

/// Returns the time in milliseconds of Unix time.
pub(super) fn now_ms() -> i64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_days_moments_or_how_long_ago() {
        let now = 1_800_000_000_000;
        for (text, expected) in [
            ("2026-11-16", Some(1_794_787_200_000)),
            ("1794787200000", Some(1_794_787_200_000)),
            ("90m", Some(now - 5_400_000)),
            ("24h", Some(now - 86_400_000)),
            ("7d", Some(now - 604_800_000)),
            ("", None),
            ("d", None),
            ("-1d", None),
            ("+1d", None),
            ("1y", None),
            ("2026-02-30", None),
            ("99999999999999999999", None),
            ("9223372036854775807d", None),
            ("7ö", None),
        ] {
            assert_eq!(time("since", text, now).ok(), expected, "{text}");
        }
    }

    #[test]
    fn parameters_are_read_strictly() {
        let read = |query: &str| pairs(query, &["by", "key"]);
        assert_eq!(read("by=day&key=a%20b").unwrap()[1].1, "a b");
        assert!(read("").unwrap().is_empty());
        for query in ["bye=day", "by", "by=", "by=day&by=key", "key=%00", "by=%0a"] {
            assert!(read(query).is_err(), "{query}");
        }
        assert!(read(&format!("key={}", "x".repeat(MAX_VALUE + 1))).is_err());
        assert!(by("day").is_ok() && by("nothing").is_err());
    }

    #[test]
    fn names_in_paths_are_names_only() {
        assert_eq!(name("build-server_1.x").unwrap(), "build-server_1.x");
        for text in ["", "a/b", "a%2fb", "%2e%2e%2f", "a b", "%00", "é", &"x".repeat(65)] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
