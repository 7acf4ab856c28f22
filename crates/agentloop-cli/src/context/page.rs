//! Fetches a URL for a prompt.

use std::time::Duration;

use agentloop::inspect;
use agentloop::transport::{HttpTransport, SendOptions, Transport as _};
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};

use super::MAX_MEDIA_BYTES;
use crate::failure::Failure;

/// How long fetching may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest web page, in bytes. A page is parsed into a tree that takes several times its size.
const MAX_HTML_BYTES: usize = 8 << 20;

/// How long converting a page to text may take. Most pages take a few milliseconds.
const MAX_CONVERSION: Duration = Duration::from_secs(5);

/// The width of a web page as text, in characters. Only tables depend on it; models do not need short lines.
const PAGE_WIDTH: usize = 120;

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
        true => Some(to_text(bytes.clone()).await?),
        false => None,
    };
    Ok(Page { bytes, text, mime })
}

/// Converts a web page to text. Links are numbered and listed at the end.
///
/// This runs on a thread of its own with a time limit: tables in tables take time that grows faster than the page.
async fn to_text(html: Bytes) -> Result<String, &'static str> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || sender.send(html2text::from_read(&html[..], PAGE_WIDTH)));
    match tokio::time::timeout(MAX_CONVERSION, receiver).await {
        Ok(Ok(Ok(text))) => Ok(text),
        Ok(_) => Err("the page cannot be read as HTML"),
        Err(_) => Err("the page is too complex to be converted to text"),
    }
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

    fn convert(html: &[u8]) -> Result<String, &'static str> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(to_text(Bytes::copy_from_slice(html)))
    }

    #[test]
    fn a_page_becomes_text_without_scripts() {
        let html =
            b"<html><head><title>T</title><script>alert(1)</script><style>p{}</style></head>\
            <body><h1>Heading</h1><p>One &amp; two</p><ul><li>item</li></ul></body></html>";
        assert_eq!(convert(html), Ok("# Heading\n\nOne & two\n* item\n".to_owned()));
    }

    #[test]
    fn hostile_pages_are_read_without_a_panic() {
        let nested = "<div>".repeat(2_000);
        let tables = "<table><tr><td>".repeat(50);
        let lists = "<ul><li>".repeat(200);
        let wide = format!("<table><tr>{}</tr></table>", "<td colspan=99999999>x</td>".repeat(50));
        for page in [nested, tables, lists, wide, "<".repeat(10_000), "&#x110000;&#0;".into()] {
            let _ = convert(page.as_bytes());
        }
        assert!(convert(&[0xff, 0xfe, 0, b'<', b'a']).is_ok());
    }
}
