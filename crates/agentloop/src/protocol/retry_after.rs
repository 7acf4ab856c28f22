//! How long a provider asks to wait.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use serde_json::Value;

/// From `retry-after-ms`, then `retry-after` in seconds or as a date.
pub(crate) fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| seconds(text, 1e-3)) {
        return Some(wait);
    }
    let text = text("retry-after")?;
    seconds(text, 1.0).or_else(|| until(text, SystemTime::now()))
}

/// From a `RetryInfo` among an error's details: `"46s"`, `"0.5s"`.
pub(crate) fn from_details(details: Option<&Value>) -> Option<Duration> {
    details?
        .as_array()?
        .iter()
        .filter_map(|detail| detail.get("retryDelay")?.as_str()?.strip_suffix('s'))
        .find_map(|text| seconds(text, 1.0))
}

fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// Until a date of the form `Sun, 06 Nov 1994 08:49:37 GMT`; a date in the past is no wait at all.
fn until(text: &str, now: SystemTime) -> Option<Duration> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, date) = text.split_once(", ")?;
    let mut words = date.split(' ');
    let number = |words: &mut std::str::Split<'_, char>| words.next()?.parse::<u64>().ok();
    let day = number(&mut words)?;
    let month = words.next()?;
    let month = MONTHS.iter().position(|known| *known == month)? as u64 + 1;
    let year = number(&mut words)?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if !(1970..10_000).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    // Days since 1970 of a civil date, counting years from March so that leap days come last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    let at = UNIX_EPOCH + Duration::from_secs(days * 86_400 + hour * 3_600 + minute * 60 + second);
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
    fn a_date_is_counted_from_now() {
        // 784111777 is the date of the HTTP standard's own example.
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777 - 60);
        assert_eq!(until("Sun, 06 Nov 1994 08:49:37 GMT", now), Some(Duration::from_secs(60)));
        let leap = UNIX_EPOCH + Duration::from_secs(951_782_400);
        assert_eq!(until("Tue, 29 Feb 2000 00:00:01 GMT", leap), Some(Duration::from_secs(1)));
    }
}
