//! Keeps secrets out of recordings.

use http::{HeaderMap, HeaderValue, Uri};
use serde_json::Value;

use super::secret::{Secret, decoded};

/// What is written in place of a secret.
pub(super) const MASK: &str = "***";

/// The headers of requests that are recorded. All others may have credentials, or describe the machine.
const OF_REQUEST: [&str; 5] =
    ["accept", "anthropic-beta", "anthropic-version", "content-type", "openai-beta"];

/// The headers of responses that are recorded: those that decide how a response is read or retried, and the id of the request. Others can
/// name an account, or set a cookie.
const OF_RESPONSE: [&str; 9] = [
    "content-type",
    "request-id",
    "retry-after",
    "retry-after-ms",
    "x-amzn-errortype",
    "x-amzn-requestid",
    "x-goog-request-id",
    "x-request-id",
    "x-should-retry",
];

/// How the names of headers begin that describe limits. They are recorded too.
const LIMITS: [&str; 2] = ["anthropic-ratelimit-", "x-ratelimit-"];

/// The headers that carry credentials.
const CREDENTIALS: [&str; 6] = [
    "authorization",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "x-amz-security-token",
    "proxy-authorization",
];

/// The parameters of a query that carry credentials. Others are compared, such as the token of a page.
const PARAMETERS: [&str; 14] = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "subscription-key",
    "access_token",
    "token",
    "secret",
    "password",
    "sig",
    "signature",
    "x-amz-signature",
    "x-amz-security-token",
    "x-goog-signature",
];

fn is_secret(name: &str) -> bool {
    PARAMETERS.contains(&&*name.to_ascii_lowercase())
}

/// The secrets of requests, the longest first, because one may contain another.
#[derive(Clone, Debug, Default)]
pub(super) struct Secrets(Vec<Secret>);

impl Secrets {
    /// Finds the secrets of a request.
    pub(super) fn of(headers: &HeaderMap, uri: &Uri) -> Self {
        let mut found = Vec::new();
        for name in CREDENTIALS {
            for value in headers.get_all(name) {
                let text = String::from_utf8_lossy(value.as_bytes());
                let secret = text.split_once(' ').map_or(&*text, |(_, secret)| secret);
                found.push(secret.trim().to_owned());
            }
        }
        // A header of a provider's own may carry a key: what is marked as sensitive is one.
        for value in headers.values().filter(|value| value.is_sensitive()) {
            let text = String::from_utf8_lossy(value.as_bytes());
            found.push(text.trim_start_matches("Bearer ").trim().to_owned());
        }
        for pair in uri.query().unwrap_or_default().split('&') {
            if let Some((name, value)) = pair.split_once('=')
                && is_secret(name)
            {
                found.push(decoded(value));
            }
        }
        // The user and the password of a URL.
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        found.extend(user.into_iter().flat_map(|user| user.split(':')).map(decoded));
        let mut secrets = Self::default();
        secrets.extend(Self(found.iter().map(|secret| Secret::new(secret)).collect()));
        secrets
    }

    /// Adds the secrets of another request.
    pub(super) fn extend(&mut self, more: Self) {
        let is_new = |secret: &Secret| !self.0.contains(secret);
        let new: Vec<Secret> = more.0.into_iter().filter(is_new).collect();
        self.0.extend(new);
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.length()));
    }

    /// Returns a text without the secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| secret.hide(text))
    }

    /// Removes the secrets from all texts of a JSON value, also from the names of fields.
    pub(super) fn hide_in(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hide(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.hide_in(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| (self.hide(&name), self.hide_in(value)));
                Value::Object(fields.collect())
            }
            other => other,
        }
    }

    /// Replaces the secrets in bytes by as many other ones, so lengths inside of them stay right. Returns whether there were any.
    pub(super) fn overwrite(&self, bytes: &mut [u8]) -> bool {
        let mut has_found = false;
        for secret in &self.0 {
            has_found |= secret.overwrite(bytes);
        }
        has_found
    }

    /// Returns whether bytes contain a secret.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|secret| secret.is_in(bytes))
    }

    /// Returns a URL without the secrets, and without its user.
    pub(super) fn url(&self, uri: &Uri) -> String {
        let url = uri.to_string();
        let url = match uri.authority().and_then(|it| it.as_str().rsplit_once('@')) {
            Some((user, _)) => url.replacen(&format!("{user}@"), "", 1),
            None => url,
        };
        let Some((start, query)) = url.split_once('?') else { return self.hide(&url) };
        let pairs: Vec<String> = query
            .split('&')
            .map(|pair| match pair.split_once('=') {
                Some((name, _)) if is_secret(name) => format!("{name}={MASK}"),
                _ => self.hide(pair),
            })
            .collect();
        format!("{}?{}", self.hide(start), pairs.join("&"))
    }

    /// Returns the headers of a request that are recorded.
    pub(super) fn request_headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        self.headers(headers, |name| OF_REQUEST.contains(&name))
    }

    /// Returns the headers of a response that are recorded.
    pub(super) fn response_headers(&self, headers: &HeaderMap) -> Vec<(String, String)> {
        self.headers(headers, |name| {
            OF_RESPONSE.contains(&name) || LIMITS.iter().any(|start| name.starts_with(start))
        })
    }

    fn headers(
        &self,
        headers: &HeaderMap,
        is_kept: impl Fn(&str) -> bool,
    ) -> Vec<(String, String)> {
        let kept = headers.iter().filter(|(name, _)| is_kept(name.as_str()));
        let text = |value: &HeaderValue| self.hide(&String::from_utf8_lossy(value.as_bytes()));
        kept.map(|(name, value)| (name.to_string(), text(value))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_headers_and_queries_are_hidden_everywhere() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer sk-abcdefgh"));
        headers.insert("content-type", HeaderValue::from_static("text/sk-abcdefgh"));
        headers.insert("cookie", HeaderValue::from_static("session=1"));
        let mut own = HeaderValue::from_static("zork-12345678");
        own.set_sensitive(true);
        headers.insert("x-zork-key", own);
        let uri: Uri = "https://a/v1?key=AIza-secret&alt=sse&x=sk-abcdefgh".parse().unwrap();
        let secrets = Secrets::of(&headers, &uri);
        assert_eq!(secrets.url(&uri), "https://a/v1?key=***&alt=sse&x=***");
        assert_eq!(
            secrets.hide("a sk-abcdefgh b AIza-secret c zork-12345678"),
            "a *** b *** c ***"
        );
        assert_eq!(
            secrets.request_headers(&headers),
            [("content-type".to_owned(), "text/***".to_owned())]
        );
        headers.insert("x-request-id", HeaderValue::from_static("r"));
        headers.insert("x-ratelimit-reset-tokens", HeaderValue::from_static("2s"));
        headers.insert("set-cookie", HeaderValue::from_static("a=b"));
        headers.insert("openai-organization", HeaderValue::from_static("mine"));
        let names: Vec<_> = secrets.response_headers(&headers).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["content-type", "x-request-id", "x-ratelimit-reset-tokens"]);
        assert!(secrets.are_in(b"..AIza-secret..") && !secrets.are_in(b"AIza-secre"));
    }

    #[test]
    fn a_short_value_is_not_searched_for() {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static("a"));
        let secrets = Secrets::of(&headers, &"https://a/?key=b".parse().unwrap());
        assert_eq!(secrets.hide("a banana"), "a banana");
        assert!(!secrets.are_in(b""));
    }
}
