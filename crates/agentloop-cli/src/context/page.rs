//! Fetches a URL for a prompt.

use std::time::Duration;

use agentloop::inspect;
use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};

use super::{MAX_MEDIA_BYTES, html};
use crate::failure::Failure;

/// How long fetching may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest web page, in bytes. A page is parsed into a tree that takes several times its size.
const MAX_HTML_BYTES: usize = 8 << 20;

/// What a URL returned: its bytes and their type, and its text if it is a web page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) bytes: Bytes,
    pub(crate) text: Option<String>,
    /// The media type without parameters, in lower case.
    pub(crate) mime: Option<String>,
}

pub(crate) fn is_url(source: &str) -> bool {
    let starts = |scheme: &str| {
        source.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

/// Fetches a URL that the user typed, which may be one of this machine.
pub(super) async fn fetch(url: &str) -> Result<Page, Failure> {
    let fetched = fetch_with(url, &HttpTransport::new(), MAX_MEDIA_BYTES).await;
    fetched.map_err(|why| Failure::input(format!("{}: {why}", without_secrets(url))))
}

/// Fetches at most `limit` bytes from a URL. Redirects are followed as the library follows them, and each is checked by the
/// transport; HTML becomes text. The error does not contain the URL.
pub(crate) async fn fetch_with(
    url: &str,
    transport: &HttpTransport,
    limit: usize,
) -> Result<Page, String> {
    let request = http::Request::get(url)
        .header(
            ACCEPT,
            "text/html, text/plain, application/json, image/*, application/pdf, */*;q=0.5",
        )
        .header(USER_AGENT, concat!("agentloop/", env!("CARGO_PKG_VERSION")))
        .body(Bytes::new())
        .map_err(|error| error.to_string())?;
    let fetched = tokio::time::timeout(TIMEOUT, async {
        let response = transport.send(request, SendOptions::default()).await?;
        let (head, body) = response.into_parts();
        Ok::<_, agentloop::Error>((head, body.collect(limit).await?))
    });
    let (head, bytes) = match fetched.await {
        Ok(Ok(fetched)) => fetched,
        Ok(Err(error)) => return Err(error.message().to_owned()),
        Err(_) => return Err(format!("no response within {} s", TIMEOUT.as_secs())),
    };
    if !head.status.is_success() {
        return Err(format!("the server responded with status {}", head.status));
    }
    let mime = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mime =
        mime.map(|mime| mime.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    let is_html = matches!(mime.as_deref(), Some("text/html" | "application/xhtml+xml"));
    let text = match is_html {
        true if bytes.len() > MAX_HTML_BYTES => {
            return Err(format!("the page is larger than {} MiB", MAX_HTML_BYTES >> 20));
        }
        true => Some(html::to_text(bytes.clone()).await?),
        false => None,
    };
    Ok(Page { bytes, text, mime })
}

/// Returns a URL without its password, the secrets of its query and its fragment.
fn without_secrets(url: &str) -> String {
    inspect::shown_url(url.split('#').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use super::*;

    #[test]
    fn an_error_does_not_show_the_secrets_of_a_url() {
        let url = "https://me:secret@example.com/a/b?key=secret#secret";
        assert_eq!(without_secrets(url), "https://***@example.com/a/b?key=***");
        let url = "http://example.com/?q=plain&token=secret#secret";
        assert_eq!(without_secrets(url), "http://example.com/?q=plain&token=***");
    }

    #[test]
    fn only_http_urls_are_fetched() {
        assert!(is_url("https://example.com"));
        assert!(is_url("HTTP://example.com"));
        assert!(!is_url("file:///etc/passwd"));
        assert!(!is_url("notes.md"));
    }
}
