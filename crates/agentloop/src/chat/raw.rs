//! The response as the provider sent it.

use std::mem::size_of;

use http::HeaderMap;
use serde::{Deserialize, Serialize};

use super::{Warning, WarningKind, Weight};
use crate::limits::MAX_RAW_BYTES;
use crate::secret::echo::Echo;
use crate::secret::{MASK, mask};

/// The status, the headers and the body as the provider sent them, for a request that sets `include_raw`.
///
/// The values of headers that hold secrets (`set-cookie`, for example) are `***`. The key of the request is `***` wherever the
/// provider repeats it.
///
/// ```
/// use agentloop::transport::{Body, BoxFuture, SendOptions, Transport};
/// use agentloop::{AgentLoop, ChatRequest, Provider};
///
/// #[derive(Debug)]
/// struct Canned;
///
/// impl Transport for Canned {
///     fn send<'a>(
///         &'a self,
///         _: http::Request<bytes::Bytes>,
///         _: SendOptions,
///     ) -> BoxFuture<'a, agentloop::Result<http::Response<Body>>> {
///         let body = r#"{"id":"1","model":"m","choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}"#;
///         let mut response = http::Response::new(Body::whole(body));
///         let left = http::HeaderValue::from_static("149984");
///         response.headers_mut().insert("x-ratelimit-remaining-tokens", left);
///         Box::pin(async { Ok(response) })
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let lab = Provider::openai_compatible("lab", "http://localhost/v1");
/// let ai = AgentLoop::builder().provider(lab).transport(Canned).build()?;
/// let response = ai.chat(ChatRequest::new("lab/m").user("Hello").include_raw()).await?;
/// let raw = response.raw.ok_or("the raw response was requested")?;
/// assert_eq!(raw.status, 200);
/// assert_eq!(raw.header("X-RateLimit-Remaining-Tokens"), Some("149984"));
/// assert!(raw.body.starts_with(r#"{"id":"1""#));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RawResponse {
    /// The HTTP status.
    pub status: u16,
    /// The headers, in lower case, in the order in which they came. A name may occur several times.
    pub headers: Vec<(String, String)>,
    /// The body after decompression; of a stream, all of its text up to its end. Bytes that are not UTF-8 are replaced by `U+FFFD`.
    /// Past [`MAX_RAW_BYTES`] it is cut, with a warning.
    pub body: String,
}

impl RawResponse {
    /// Returns the first value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

impl Weight for RawResponse {
    fn weight(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| header_weight(name, value));
        self.body.len() + headers.sum::<usize>()
    }
}

fn header_weight(name: &str, value: &str) -> usize {
    size_of::<(String, String)>() + name.len() + value.len()
}

/// A raw response while its body arrives.
pub(crate) struct RawParts {
    raw: RawResponse,
    body: Vec<u8>,
    /// The bytes that the body may still have.
    room: usize,
    cut: bool,
    secrets: Vec<Echo>,
}

impl RawParts {
    /// Starts with the head of a response. `secrets` are replaced by `***`.
    pub(crate) fn new(status: u16, headers: &HeaderMap, secrets: Vec<Echo>) -> Self {
        let mut parts = Self {
            raw: RawResponse { status, ..RawResponse::default() },
            body: Vec::new(),
            room: MAX_RAW_BYTES,
            cut: false,
            secrets,
        };
        for (name, value) in headers {
            let mut text = if value.is_sensitive() {
                MASK.to_owned()
            } else {
                shown(name.as_str(), &String::from_utf8_lossy(value.as_bytes()))
            };
            parts.hide(&mut text);
            let weight = header_weight(name.as_str(), &text);
            if weight > parts.room {
                parts.cut = true;
                break;
            }
            parts.room -= weight;
            parts.raw.headers.push((name.as_str().to_owned(), text));
        }
        parts
    }

    /// Adds the next bytes of the body and returns how many of them are kept.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> usize {
        let kept = bytes.len().min(self.room);
        self.cut |= kept < bytes.len();
        self.room -= kept;
        self.body.extend_from_slice(&bytes[..kept]);
        kept
    }

    /// Returns the raw response, and a warning if it was cut.
    pub(crate) fn finish(mut self) -> (RawResponse, Option<Warning>) {
        let most = self.body.len() + self.room;
        if self.cut {
            // The last character may have been cut in the middle.
            let whole = self.body.utf8_chunks().last().map_or(0, |last| last.invalid().len());
            self.body.truncate(self.body.len() - whole);
        }
        let body = String::from_utf8(std::mem::take(&mut self.body))
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.raw.body = body;
        // A byte that is not UTF-8 becomes three.
        if self.raw.body.len() > most {
            self.cut = true;
            self.raw.body.truncate(self.raw.body.floor_char_boundary(most));
        }
        let mut body = std::mem::take(&mut self.raw.body);
        self.hide(&mut body);
        self.raw.body = body;
        let warning = self.cut.then(|| {
            let message = format!("the raw response was cut at {MAX_RAW_BYTES} bytes");
            Warning::new(WarningKind::Dropped, "include_raw", message)
        });
        (self.raw, warning)
    }

    fn hide(&self, text: &mut String) {
        self.secrets.iter().for_each(|secret| secret.remove(text));
    }
}

/// Returns the size of what is kept so far.
impl Weight for RawParts {
    fn weight(&self) -> usize {
        self.raw.weight() + self.body.len()
    }
}

shown! { RawParts: self { body: self.body.len() } }

/// Returns the value of a response's header as it may be shown. Rate limits count tokens, which are not secret.
fn shown(name: &str, value: &str) -> String {
    let about_limits = name.contains("ratelimit") || name.contains("rate-limit");
    let is_number = value.len() <= 20 && value.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if about_limits || is_number || matches!(value, "true" | "false") {
        value.to_owned()
    } else {
        mask::header(name, value)
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn parts(headers: &[(&'static str, &'static str)]) -> RawParts {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (http::HeaderName::from_static(name), HeaderValue::from_static(value))
            })
            .collect();
        RawParts::new(200, &headers, vec![Echo::of("sk-very-secret-key")])
    }

    #[test]
    fn headers_that_hold_secrets_are_masked_and_rate_limits_are_not() {
        let (raw, warning) = parts(&[
            ("set-cookie", "__cf_bm=1"),
            ("x-session-token", "abc"),
            ("anthropic-ratelimit-tokens-reset", "2026-11-15T22:00:00Z"),
            ("x-ratelimit-reset-tokens", "1m7.66s"),
            ("x-input-token-count", "12"),
            ("x-said", "you sent sk-very-secret-key"),
            ("x-ratelimit-key", "sk-very-secret-key"),
            ("openai-processing-ms", "132"),
        ])
        .finish();
        assert_eq!(warning, None);
        let values: Vec<&str> = raw.headers.iter().map(|(_, value)| value.as_str()).collect();
        let times = ["2026-11-15T22:00:00Z", "1m7.66s", "12"];
        assert_eq!(values[..2], ["***", "***"]);
        assert_eq!(values[2..5], times);
        assert_eq!(values[5..], ["you sent ***", "***", "132"]);
    }

    #[test]
    fn a_body_past_the_bound_is_cut_between_two_characters_with_a_warning() {
        let mut parts = parts(&[]);
        assert_eq!(parts.push(b"x"), 1);
        let text = "é".repeat(MAX_RAW_BYTES / 2);
        assert_eq!(parts.push(text.as_bytes()), MAX_RAW_BYTES - 1);
        assert_eq!(parts.push(b"more"), 0);
        assert_eq!(parts.weight(), MAX_RAW_BYTES);
        let (raw, warning) = parts.finish();
        assert_eq!(raw.body.len(), MAX_RAW_BYTES - 1);
        assert!(raw.body.ends_with('é'));
        assert_eq!(warning.unwrap().subject.as_deref(), Some("include_raw"));
    }

    #[test]
    fn bytes_that_are_not_text_stay_within_the_bound() {
        let mut parts = parts(&[]);
        parts.push(&vec![0xff; MAX_RAW_BYTES]);
        let (raw, warning) = parts.finish();
        assert!(raw.body.len() <= MAX_RAW_BYTES && raw.body.starts_with('\u{fffd}'));
        assert!(warning.is_some());
    }

    #[test]
    fn a_body_is_cut_in_the_middle_of_a_key_without_showing_it() {
        let mut parts = parts(&[]);
        parts.push(&vec![b' '; MAX_RAW_BYTES - 10]);
        parts.push(b"sk-very-secret-key");
        assert!(parts.finish().0.body.ends_with(" ***"));
    }
}
