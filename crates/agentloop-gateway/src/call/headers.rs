//! Headers that reach the provider, and those about warnings.

use agentloop::{Protocol, Warning};
use http::{HeaderMap, HeaderName, HeaderValue};

/// The header with what was changed or left out, as JSON.
const WARNINGS: HeaderName = HeaderName::from_static("x-agentloop-warnings");

/// The longest value of that header, in bytes. Further warnings are counted only.
const MAX_WARNING_BYTES: usize = 6 << 10;

/// Headers that reach a provider of the same API.
const KEPT: [(&str, Option<Protocol>); 9] = [
    ("traceparent", None),
    ("tracestate", None),
    ("anthropic-version", Some(Protocol::Anthropic)),
    ("anthropic-beta", Some(Protocol::Anthropic)),
    ("openai-beta", Some(Protocol::OpenAiResponses)),
    ("x-openai-internal-codex-responses-lite", Some(Protocol::OpenAiResponses)),
    ("openai-beta", Some(Protocol::OpenAiChat)),
    ("x-goog-api-client", Some(Protocol::Gemini)),
    ("idempotency-key", None),
];

/// Headers that reach a provider and do not change its response.
const NOT_SHAPING: [&str; 4] =
    ["traceparent", "tracestate", "idempotency-key", "x-goog-api-client"];

/// Returns the headers of a request that can change the response.
pub(crate) fn shaping(headers: &HeaderMap, protocol: Protocol) -> HeaderMap {
    let mut shaping = kept(headers, protocol);
    for name in NOT_SHAPING {
        shaping.remove(name);
    }
    shaping
}

/// Returns the headers of a request that reach a provider of the same API. All others stay here: some identify the
/// client's machine, and no client may choose the provider's authentication.
pub(crate) fn kept(headers: &HeaderMap, protocol: Protocol) -> HeaderMap {
    let mut kept = HeaderMap::new();
    // A request has few headers, and hardly ever one of these.
    for name in headers.keys() {
        let is_kept = |(known, only): &(&str, Option<Protocol>)| {
            *known == name.as_str() && only.is_none_or(|only| only == protocol)
        };
        if !KEPT.iter().any(is_kept) {
            continue;
        }
        // Several lines of one header are one list.
        let all: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        if let Ok(value) = HeaderValue::from_bytes(&all.join(&b","[..])) {
            kept.insert(name.clone(), value);
        }
    }
    kept
}

/// Adds the header about what was changed or left out.
pub(crate) fn warn(headers: &mut HeaderMap, warnings: &[Warning]) {
    if warnings.is_empty() {
        return;
    }
    let mut list = Vec::new();
    let mut bytes = 0;
    for warning in warnings {
        let text = ascii(&serde_json::to_string(warning).unwrap_or_default());
        bytes += text.len() + 1;
        if bytes > MAX_WARNING_BYTES {
            list.push(format!("{{\"more\":{}}}", warnings.len() - list.len()));
            break;
        }
        list.push(text);
    }
    if let Ok(value) = HeaderValue::from_str(&format!("[{}]", list.join(","))) {
        headers.insert(WARNINGS, value);
    }
}

/// Writes JSON with ASCII characters only.
fn ascii(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        if letter.is_ascii() && !letter.is_ascii_control() {
            text.push(letter);
        } else {
            let mut units = [0; 2];
            for unit in letter.encode_utf16(&mut units) {
                text.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use agentloop::WarningKind;

    use super::*;

    #[test]
    fn only_listed_headers_reach_the_provider() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer al-1"),
            ("x-api-key", "al-1"),
            ("x-codex-turn-metadata", "{\"installation_id\":1}"),
            ("accept-encoding", "zstd"),
            ("host", "gateway"),
            ("cookie", "a"),
            ("anthropic-beta", "one"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.append("anthropic-beta", HeaderValue::from_static("two"));
        let sent = kept(&headers, Protocol::Anthropic);
        assert_eq!(sent["anthropic-beta"], "one,two");
        assert_eq!(sent.len(), 2);
        assert_eq!(kept(&headers, Protocol::Gemini).len(), 1);
    }

    #[test]
    fn warnings_are_ascii_and_bounded() {
        let mut headers = HeaderMap::new();
        let one = Warning::new(WarningKind::Dropped, "größe\n😀", "left out");
        warn(&mut headers, &vec![one; 500]);
        let text = headers[WARNINGS].to_str().unwrap();
        assert!(text.len() < MAX_WARNING_BYTES + 100);
        let list: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        assert_eq!(list[0]["subject"], "größe\n😀");
        assert!(list.last().unwrap()["more"].as_u64().unwrap() > 300);
        let mut none = HeaderMap::new();
        warn(&mut none, &[]);
        assert!(none.is_empty());
    }
}
