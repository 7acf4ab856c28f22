//! Hides secrets in URLs and headers, which no type marks as secret.

use super::MASK;

/// Parts of names whose values are secret, by their first letter.
fn secret_words(first: u8) -> &'static [&'static str] {
    match first {
        b'a' => &["assertion", "auth"],
        b'b' => &["bearer"],
        b'c' => &["code", "cookie", "cred"],
        b'h' => &["hmac"],
        b'j' => &["jwt"],
        b'k' => &["key"],
        b'p' => &["pass", "private", "pwd"],
        b's' => &["secret", "session", "sig"],
        b't' => &["token"],
        _ => &[],
    }
}

/// Letters and digits in a row of this length are not a word or number that a person would write.
const LONGEST_WORD: usize = 16;

/// Returns whether a header or a parameter of that name is secret. Headers are checked at every call, so nothing is allocated.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.as_bytes();
    name.iter().enumerate().any(|(at, first)| {
        let second = name.get(at + 1).map(u8::to_ascii_lowercase);
        let begins = |word: &&str| {
            let part = || name.get(at..at + word.len());
            // Two letters are compared first, because hardly any word begins with them.
            word.as_bytes().get(1).copied() == second
                && part().is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
        };
        secret_words(first.to_ascii_lowercase()).iter().any(begins)
    })
}

/// Returns whether a value looks generated: a long run of letters and digits, or a UUID. It may be a secret, whatever its name.
fn looks_secret(value: &str) -> bool {
    let is_mixed = |run: &str| {
        let any = |kind: fn(&u8) -> bool| run.as_bytes().iter().any(kind);
        let letters = any(u8::is_ascii_lowercase) || any(u8::is_ascii_uppercase);
        let cases = any(u8::is_ascii_lowercase) && any(u8::is_ascii_uppercase);
        (letters && any(u8::is_ascii_digit)) || cases
    };
    let hexadecimal = |run: &str| run.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts: Vec<&str> = value.split('-').collect();
    let uuid = parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| hexadecimal(part));
    let mut runs = value.split(|c: char| !c.is_ascii_alphanumeric() && !"%+=".contains(c));
    uuid || runs.any(|run| run.len() >= LONGEST_WORD && is_mixed(run))
}

/// Returns whether a query parameter is hidden.
fn is_hidden(name: &str, value: &str) -> bool {
    is_secret(name) || looks_secret(value)
}

/// Returns the value of a header with secrets hidden.
pub(crate) fn header(name: &str, value: &str) -> String {
    if is_secret(name) { MASK.to_owned() } else { value.to_owned() }
}

/// Returns a URL without its password and the secrets of its query.
///
/// ```
/// use agentloop::inspect::shown_url;
///
/// assert!(!shown_url("https://me:password@example.com/v1?key=secret").contains("secret"));
/// ```
pub fn url(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let host_end = place.find('/').unwrap_or(place.len());
    let place = match place[..host_end].rfind('@') {
        Some(at) => format!("{MASK}{}", &place[at..]),
        None => place.to_owned(),
    };
    let Some(query) = query else {
        return format!("{scheme}{place}");
    };
    let parameters: Vec<String> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, value)) if is_hidden(name, value) => format!("{name}={MASK}"),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{scheme}{place}?{}", parameters.join("&"))
}

/// Returns what is hidden in a URL: its password and the secrets of its query.
pub(crate) fn secrets(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.split('/').next().unwrap_or_default();
    let user = host.rfind('@').map(|at| &host[..at]);
    let password = user.map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let parameters = query.split('&').filter_map(|parameter| parameter.split_once('='));
    let values = parameters.filter(|(name, value)| is_hidden(name, value)).map(|(_, value)| value);
    password.into_iter().chain(values).map(str::to_owned).collect()
}

/// Returns the URL of a medium without its query, which may contain signatures.
pub(crate) fn media_url(url: &str) -> String {
    match url.split_once('?') {
        Some((place, _)) => format!("{}?{MASK}", self::url(place)),
        None => self::url(url),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_medium_is_shown_without_its_query() {
        let signed = "https://me:pw@cdn.example/a.png?X-Signature=abc&width=2";
        assert_eq!(media_url(signed), "https://***@cdn.example/a.png?***");
    }

    #[test]
    fn urls_lose_their_secrets_and_nothing_else() {
        for (given, shown) in [
            ("https://api.example/v1", "https://api.example/v1"),
            ("https://me:pw@api.example/v1", "https://***@api.example/v1"),
            ("https://api.example/v1/a@b", "https://api.example/v1/a@b"),
            ("https://a.example/?api-version=1&key=x", "https://a.example/?api-version=1&key=***"),
            ("https://${RESOURCE}.example/v1", "https://${RESOURCE}.example/v1"),
            ("nonsense", "nonsense"),
            ("me:pw@api.example/v1", "***@api.example/v1"),
        ] {
            assert_eq!(url(given), shown);
        }
    }

    #[test]
    fn a_parameter_is_hidden_for_its_name_or_for_its_value() {
        let at = |query: &str| url(&format!("https://a.example/v1?{query}"));
        for name in ["sig", "code", "X-Amz-Signature", "access_token", "Key", "pwd", "sessionId"] {
            assert_eq!(at(&format!("{name}=abc")), format!("https://a.example/v1?{name}=***"));
        }
        for value in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln",
            "AbCdEfGhIjKlMnOpQr",
        ] {
            assert_eq!(at(&format!("x={value}")), "https://a.example/v1?x=***");
        }
        for query in [
            "api-version=2025-04-01-preview",
            "model=claude-sonnet-4-5-20250929",
            "limit=1000&alt=sse&order=created_at",
            "region=eu-central-1",
        ] {
            assert_eq!(at(query), format!("https://a.example/v1?{query}"));
        }
    }

    #[test]
    fn the_secrets_of_a_url_are_found() {
        let url = "https://me:pw@a.example/v1?api-version=1&key=x&token=y";
        assert_eq!(secrets(url), ["pw", "x", "y"]);
        assert!(secrets("https://a.example/v1?limit=2").is_empty());
    }

    #[test]
    fn headers_with_secret_names_are_hidden() {
        assert_eq!(header("x-lab-token", "abc"), "***");
        assert_eq!(header("authorization", "Bearer abc"), "***");
        assert_eq!(header("accept", "application/json"), "application/json");
        assert_eq!(header("anthropic-version", "2023-06-01"), "2023-06-01");
        for name in
            ["X-Client-Assertion", "PWD", "jwt", "x-hmac", "a-Private-b", "auto-auth", "keto"]
        {
            let is_hidden = name != "keto";
            assert_eq!(is_secret(name), is_hidden, "{name}");
        }
    }
}
