//! Reads how long a provider requests to wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use serde_json::Value;

use crate::calendar;

/// Reads `retry-after-ms`, then `retry-after` in seconds or as a date.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(wait);
    }
    let text = text("retry-after")?;
    seconds(text, 1.0).or_else(|| until(text, SystemTime::now()))
}

/// Reads a `RetryInfo` among the details of an error: `"46s"`, `"0.5s"`.
pub(crate) fn from_details(details: Option<&Value>) -> Option<Duration> {
    details?
        .as_array()?
        .iter()
        .filter_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))
        .find_map(|text| seconds(text, 1.0))
}

/// Reads the time at which a rate limit is reset, if nothing else states how long to wait. Of several limits (of
/// requests, of tokens), only exhausted ones count, and of those the last one to be reset.
pub(crate) fn from_resets(headers: &HeaderMap) -> Option<Duration> {
    resets(SystemTime::now(), |name| headers.get(name)?.to_str().ok())
}

/// Reads reset times from headers that a proxy repeats inside of a body.
pub(crate) fn from_listed_resets(listed: Option<&Value>) -> Option<Duration> {
    let listed = listed?.as_object()?;
    resets(SystemTime::now(), |name| {
        let mut all = listed.iter();
        all.find(|(key, _)| key.eq_ignore_ascii_case(name)).and_then(|(_, value)| value.as_str())
    })
}

fn resets<'a>(now: SystemTime, get: impl Fn(&str) -> Option<&'a str>) -> Option<Duration> {
    ["", "-requests", "-tokens"]
        .into_iter()
        .filter(|kind| {
            get(&format!("x-ratelimit-remaining{kind}")).is_some_and(|n| n.trim() == "0")
        })
        .filter_map(|kind| reset(get(&format!("x-ratelimit-reset{kind}"))?.trim(), now))
        .max()
}

/// Returns a time with units (`6m0s`, `2m59.5s`, `120ms`), in seconds, or as a date in seconds or milliseconds since
/// 1970.
fn reset(text: &str, now: SystemTime) -> Option<Duration> {
    if let Ok(number) = text.parse::<f64>() {
        // No limit is reset later than thirty years from now, and no date lies before 2001.
        let since_1970 = match number {
            ..1e9 => return Duration::try_from_secs_f64(number).ok(),
            1e9..1e12 => Duration::try_from_secs_f64(number).ok()?,
            _ => Duration::try_from_secs_f64(number / 1e3).ok()?,
        };
        let at = UNIX_EPOCH.checked_add(since_1970)?;
        return Some(at.duration_since(now).unwrap_or_default());
    }
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let (number, after) = rest.split_at(rest.find(|c: char| c.is_ascii_alphabetic())?);
        let (unit, after) =
            after.split_at(after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len()));
        let unit = match unit {
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        sum += number.parse::<f64>().ok()? * unit;
        rest = after;
    }
    Duration::try_from_secs_f64(sum).ok().filter(|_| !text.is_empty())
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// Returns the time until a date as HTTP headers write it. A date in the past is a wait of zero.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let at = UNIX_EPOCH.checked_add(Duration::from_secs(calendar::read_http_date(text)?))?;
    Some(at.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::HeaderName::from_static(name), value.parse().unwrap())])
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let wait = |name, value| from_headers(&headers(name, value));
        assert_eq!(wait("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(wait("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(wait("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(wait("retry-after", "-1"), None);
        assert_eq!(wait("retry-after", "soon"), None);
        assert_eq!(wait("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), Some(Duration::ZERO));
        let details = serde_json::json!([{"@type": "x"}, {"retryDelay": "46s"}]);
        assert_eq!(from_details(Some(&details)), Some(Duration::from_secs(46)));
    }

    #[test]
    fn an_exhausted_limit_determines_the_wait() {
        let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for (text, wait) in [
            ("1s", Some(1_000)),
            ("6m0s", Some(360_000)),
            ("2m59.5s", Some(179_500)),
            ("120ms", Some(120)),
            ("1h0m1s", Some(3_601_000)),
            ("30", Some(30_000)),
            ("1800000012", Some(12_000)),
            ("1800000012500", Some(12_500)),
            ("1700000000", Some(0)),
            ("", None),
            ("soon", None),
            ("5 parsecs", None),
            ("-1s", None),
            ("1e300", None),
        ] {
            assert_eq!(reset(text, now), wait.map(Duration::from_millis), "{text}");
        }
        let mut all = headers("x-ratelimit-remaining-requests", "0");
        all.extend(headers("x-ratelimit-reset-requests", "2s"));
        all.extend(headers("x-ratelimit-remaining-tokens", "17"));
        all.extend(headers("x-ratelimit-reset-tokens", "9s"));
        assert_eq!(from_resets(&all), Some(Duration::from_secs(2)));
        all.insert("x-ratelimit-remaining-tokens", "0".parse().unwrap());
        assert_eq!(from_resets(&all), Some(Duration::from_secs(9)));
        assert_eq!(from_resets(&headers("x-ratelimit-reset", "2s")), None);
        let listed =
            serde_json::json!({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1744230360000"});
        assert_eq!(from_listed_resets(Some(&listed)), Some(Duration::ZERO));
    }

    #[test]
    fn a_date_with_numbers_that_no_date_has_is_ignored() {
        let long = "9300000000000000000";
        for part in ["day", "year", "hour", "minute", "second"] {
            let at = |name: &str, usual: &str| if name == part { long } else { usual }.to_owned();
            let (day, year) = (at("day", "06"), at("year", "1994"));
            let (hour, minute, second) = (at("hour", "08"), at("minute", "49"), at("second", "37"));
            let text = format!("Sun, {day} Nov {year} {hour}:{minute}:{second} GMT");
            assert_eq!(until(&text, UNIX_EPOCH), None, "{text}");
            assert_eq!(from_headers(&headers("retry-after", &text)), None);
        }
        assert_eq!(until("Sun, 06 Nov 1994 08:49:61 GMT", UNIX_EPOCH), None);
    }

    proptest::proptest! {
        #[test]
        fn no_header_makes_reading_a_wait_panic(
            name in proptest::sample::select(vec![
                "retry-after", "retry-after-ms", "x-ratelimit-reset", "x-ratelimit-reset-tokens",
            ]),
            text in "[ -~]{0,40}|[A-Z][a-z]{2}, [0-9]{1,20} (Jan|Feb|Nov) [0-9]{1,20} [0-9]{1,20}:[0-9]{1,20}:[0-9]{1,20} GMT|-?[0-9.e+]{1,30}(ms|s|m|h|d)?",
        ) {
            let mut all = headers(name, &text);
            all.extend(headers("x-ratelimit-remaining", "0"));
            all.extend(headers("x-ratelimit-remaining-tokens", "0"));
            let _ = (from_headers(&all), from_resets(&all));
        }
    }

    #[test]
    fn a_date_is_counted_from_now() {
        // 784111777 is the date of the HTTP standard's own example.
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777 - 60);
        assert_eq!(until("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(60)));
        let leap = UNIX_EPOCH + Duration::from_secs(951_782_400);
        assert_eq!(until("Tue, 29 Feb 2000 00:00:01 GMT", leap), Some(Duration::from_secs(1)));
    }
}
