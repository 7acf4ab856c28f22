//! The tool `time` returns the current time.

use agentloop::agent::{Tool, ToolError};
use jiff::Timestamp;
use jiff::fmt::temporal::DateTimeParser;
use jiff::tz::Offset;
use serde_json::{Value, json};

/// The largest accepted offset from UTC, in seconds.
const MAX_OFFSET: i32 = 18 * 3_600;

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
        build_result(Timestamp::now(), offset.map(str::trim).filter(|offset| !offset.is_empty()))
    })
}

fn build_result(now: Timestamp, offset: Option<&str>) -> Result<Value, ToolError> {
    let (utc, weekday) = describe(now, Offset::UTC);
    let mut result = json!({ "utc": utc, "weekday": weekday, "unix": now.as_second() });
    if let Some(offset) = offset {
        let offset = parse_offset(offset)
            .ok_or_else(|| ToolError::new(format!("`{offset}` is not an offset such as +02:00")))?;
        let (local, weekday) = describe(now, offset);
        result["at_offset"] = local.into();
        result["weekday_at_offset"] = weekday.into();
    }
    Ok(result)
}

/// Returns a time as in RFC 3339 (`2026-11-15T09:58:10+02:00`) and its day of the week.
fn describe(now: Timestamp, offset: Offset) -> (String, String) {
    let local = now.to_zoned(offset.to_time_zone());
    let format = if offset == Offset::UTC { "%Y-%m-%dT%H:%M:%SZ" } else { "%Y-%m-%dT%H:%M:%S%:z" };
    (local.strftime(format).to_string(), local.strftime("%A").to_string())
}

/// Parses an offset: `+02:00`, `-0530`, `+2` or `Z`.
fn parse_offset(text: &str) -> Option<Offset> {
    let text = text.replace('−', "-");
    let text = match text.strip_prefix(['+', '-']) {
        Some(hours) if hours.len() == 1 => format!("{}0{hours}", &text[..1]),
        _ if matches!(text.as_str(), "Z" | "z" | "UTC") => return Some(Offset::UTC),
        Some(_) => text,
        None => return None,
    };
    let offset = DateTimeParser::new().parse_time_zone(&text).ok()?.to_fixed_offset().ok()?;
    (offset.seconds().abs() <= MAX_OFFSET).then_some(offset)
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
            let time = Timestamp::from_second(seconds).unwrap();
            assert_eq!(describe(time, Offset::UTC), (text.to_owned(), day.to_owned()));
        }
    }

    #[test]
    fn an_offset_may_change_the_day() {
        let time = Timestamp::from_second(1_794_736_690).unwrap();
        let result = build_result(time, Some("+14:30")).unwrap();
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
            ("−03:30", Some(-210)),
            ("+ä", None),
            ("Europe/Oslo", None),
            ("EST5EDT", None),
            ("+02:00:00.5", None),
            ("+ääää", None),
        ] {
            let minutes = parse_offset(text).map(|offset| offset.seconds() / 60);
            assert_eq!(minutes, expected, "{text}");
        }
    }
}
