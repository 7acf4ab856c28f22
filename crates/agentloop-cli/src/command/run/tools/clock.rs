//! The tool `time` returns the current time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentloop::agent::{Tool, ToolError};
use agentloop::models::Date;
use serde_json::{Value, json};

const DAY: i64 = 86_400;
const DAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The largest accepted offset from UTC, in minutes.
const MAX_OFFSET: i64 = 18 * 60;

pub(super) fn tool() -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {
            "offset": {
                "type": "string",
                "description": "An offset from UTC, for example +02:00. If given, the time at this offset is returned too.",
                "examples": ["+02:00"],
            },
        },
    });
    let about = "Returns the current date and time in UTC, and at another offset if one is given.";
    Tool::dynamic("time", about, parameters, |arguments: Value, _| async move {
        let offset = arguments.get("offset").and_then(Value::as_str);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        build_result(now, offset.map(str::trim).filter(|offset| !offset.is_empty()))
    })
}

fn build_result(now: i64, offset: Option<&str>) -> Result<Value, ToolError> {
    let mut result = json!({ "utc": format_time(now, 0), "weekday": weekday(now), "unix": now });
    if let Some(offset) = offset {
        let minutes = parse_offset(offset)
            .ok_or_else(|| ToolError::new(format!("`{offset}` is not an offset such as +02:00")))?;
        let local = now + minutes * 60;
        result["at_offset"] = format_time(local, minutes).into();
        result["weekday_at_offset"] = weekday(local).into();
    }
    Ok(result)
}

/// Parses an offset (`+02:00`, `-0530`, `+2` or `Z`) and returns it in minutes.
fn parse_offset(text: &str) -> Option<i64> {
    if matches!(text, "Z" | "z" | "UTC") {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-" | "−", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some(parts), _) => parts,
        (None, 1 | 2) => (digits, "0"),
        (None, 4) => digits.split_at_checked(2)?,
        _ => return None,
    };
    let number = |text: &str| match text.len() {
        1 | 2 if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse::<i64>().ok(),
        _ => None,
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let all = hours * 60 + minutes;
    (minutes < 60 && all <= MAX_OFFSET).then_some(sign * all)
}

/// Formats a time as in RFC 3339: `2026-11-15T09:58:10+02:00`.
fn format_time(seconds: i64, offset: i64) -> String {
    let since = Duration::from_secs(seconds.try_into().unwrap_or_default());
    let date = Date::of(UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH));
    let rest = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let zone = match offset {
        0 => "Z".to_owned(),
        _ => {
            let sign = if offset < 0 { '-' } else { '+' };
            format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
        }
    };
    format!("{date}T{hour:02}:{minute:02}:{second:02}{zone}")
}

fn weekday(seconds: i64) -> &'static str {
    let at = usize::try_from(seconds.div_euclid(DAY).rem_euclid(7)).unwrap_or_default();
    DAYS.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_date_and_weekday_of_the_calendar() {
        for (seconds, text, day) in [
            (0, "1970-01-01T00:00:00Z", "Thursday"),
            (951_782_400, "2000-02-29T00:00:00Z", "Tuesday"),
            (951_868_799, "2000-02-29T23:59:59Z", "Tuesday"),
            (1_794_736_690, "2026-11-15T09:58:10Z", "Sunday"),
            (4_107_542_400, "2100-03-01T00:00:00Z", "Monday"),
        ] {
            assert_eq!((format_time(seconds, 0).as_str(), weekday(seconds)), (text, day));
        }
    }

    #[test]
    fn an_offset_may_change_the_day() {
        let result = build_result(1_794_736_690, Some("+14:30")).unwrap();
        assert_eq!(result["at_offset"], "2026-11-16T00:28:10+14:30");
        assert_eq!(result["weekday_at_offset"], "Monday");
    }

    #[test]
    fn offsets_are_parsed_in_their_usual_forms_only() {
        for (text, expected) in [
            ("+02:00", Some(120)),
            ("-0530", Some(-330)),
            ("+2", Some(120)),
            ("Z", Some(0)),
            ("+18:00", Some(1080)),
            ("+18:01", None),
            ("+02:60", None),
            ("+-1:00", None),
            ("2", None),
            ("", None),
            ("ä", None),
            ("+ääää", None),
        ] {
            assert_eq!(parse_offset(text), expected, "{text}");
        }
    }
}
