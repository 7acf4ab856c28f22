//! The tool `fetch_page` returns the text of a web page.

use std::sync::Arc;

use agentloop::agent::{Policy, Tool, ToolError};
use agentloop::transport::HttpTransport;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::context::page::{self, Page};
use crate::failure::Failure;

/// The largest page, in bytes after decompression.
const MAX_PAGE_BYTES: usize = 8 << 20;

/// How many characters of a page one call returns.
const MAX_CHARACTERS: usize = 40_000;

#[derive(Debug, Deserialize)]
struct Asked {
    url: String,
    #[serde(default)]
    skip_characters: usize,
}

/// Builds the tool. Unless private addresses are allowed, it connects to the public internet only.
pub(super) fn tool(allows_private: bool) -> Result<Tool, Failure> {
    let transport = Arc::new(if allows_private {
        HttpTransport::new()
    } else {
        HttpTransport::builder().only_public_addresses().build()?
    });
    let parameters = json!({
        "type": "object",
        "properties": {
            "url": {
                "type": "string",
                "description": "The URL of the page, with https:// or http://",
                "examples": ["https://example.com/"],
            },
            "skip_characters": {
                "type": "integer", "minimum": 0,
                "description": "How many characters of the page to skip, to continue a long page. Default: 0.",
            },
        },
        "required": ["url"],
    });
    let about = "Fetches a web page or a text file from the internet and returns its text. Links are numbered and listed at the end.";
    Ok(Tool::dynamic("fetch_page", about, parameters, move |arguments: Value, _| {
        let transport = Arc::clone(&transport);
        async move {
            let asked: Asked = serde_json::from_value(arguments)?;
            fetch(&transport, &asked).await
        }
    })
    // The URL is sent to its server, and the page may contain instructions to the model.
    .policy(Policy::Ask)
    .status(|arguments| Some(format!("Fetching {}", arguments.get("url")?.as_str()?))))
}

async fn fetch(transport: &HttpTransport, asked: &Asked) -> Result<String, ToolError> {
    check_url(&asked.url)?;
    let page = page::fetch_with(&asked.url, transport, MAX_PAGE_BYTES).await;
    let page = page.map_err(|why| explain(&why))?;
    let text = to_text(page)?;
    select(&text, asked.skip_characters)
}

/// Refuses what is not a plain URL of a page. A user name and password in a URL could be meant for another server.
fn check_url(url: &str) -> Result<(), ToolError> {
    let fail = |why: &str| Err(ToolError::new(format!("`{url}`: {why}")));
    if !page::is_url(url) {
        return fail("only URLs with https:// or http:// can be fetched");
    }
    match url.parse::<http::Uri>().ok().as_ref().and_then(http::Uri::authority) {
        None => fail("this is not a URL"),
        Some(authority) if authority.as_str().contains('@') => {
            fail("a URL with a user name or password is not fetched")
        }
        Some(_) => Ok(()),
    }
}

/// Adds what the user can do about an address that is not public.
fn explain(why: &str) -> ToolError {
    if why.contains("not a public address") {
        ToolError::new(format!(
            "{why}; only addresses of the public internet are fetched, unless the user sets allow_private in [fetch_page] of the \
         configuration"
        ))
    } else {
        ToolError::new(why)
    }
}

/// Returns the text of a page; fails if it is something else.
fn to_text(page: Page) -> Result<String, ToolError> {
    if let Some(text) = page.text {
        return Ok(text);
    }
    let mime = page.mime.as_deref().unwrap_or_default();
    let is_text = mime.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "toml"].iter().any(|kind| mime.ends_with(kind));
    match std::str::from_utf8(&page.bytes) {
        Ok(text) if (is_text || mime.is_empty()) && !text.contains('\0') => Ok(text.to_owned()),
        // Old pages in other encodings are mostly readable.
        Err(_) if is_text => Ok(String::from_utf8_lossy(&page.bytes).into_owned()),
        _ => {
            let kind = if mime.is_empty() { "it" } else { mime };
            Err(ToolError::new(format!("this is not a page: {kind} is not text")))
        }
    }
}

/// Returns the characters after `skip`, with their place if there are more.
fn select(text: &str, skip: usize) -> Result<String, ToolError> {
    let text = text.trim();
    let count = text.chars().count();
    if count == 0 {
        return Ok("[the page has no text]".to_owned());
    }
    if skip >= count {
        return Err(ToolError::new(format!("the page has {count} characters")));
    }
    let part: String = text.chars().skip(skip).take(MAX_CHARACTERS).collect();
    let end = (skip + MAX_CHARACTERS).min(count);
    if skip == 0 && end == count {
        return Ok(part);
    }
    let more = if end < count {
        format!("; continue with skip_characters = {end}")
    } else {
        String::new()
    };
    Ok(format!("{part}\n[characters {} to {end} of {count}{more}]", skip + 1))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a panic fails the test")]

    use bytes::Bytes;

    use super::*;

    #[test]
    fn only_plain_urls_are_fetched() {
        assert!(check_url("https://example.com/a?b=c").is_ok());
        for url in [
            "file:///etc/passwd",
            "ftp://example.com",
            "gopher://127.0.0.1:6379/_x",
            "/etc/passwd",
            "https://",
            "https://me:secret@example.com/",
            "https://example.com@127.0.0.1/",
            "https://exa mple.com/",
            "http://[::1",
            "",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn private_addresses_are_refused_in_every_spelling() {
        let transport = HttpTransport::builder().only_public_addresses().build().unwrap();
        for host in [
            "127.0.0.1",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "localhost",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "0.0.0.0",
            "10.0.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "[fd00::1]",
            "[fe80::1]",
        ] {
            let asked = Asked { url: format!("http://{host}:9/"), skip_characters: 0 };
            let error = fetch(&transport, &asked).await.unwrap_err();
            assert!(error.message().contains("not a public address"), "{host}: {error}");
        }
    }

    fn page(mime: Option<&str>, bytes: &'static [u8]) -> Page {
        Page { bytes: Bytes::from_static(bytes), text: None, mime: mime.map(str::to_owned) }
    }

    #[test]
    fn only_text_is_returned() {
        assert_eq!(to_text(page(Some("text/plain"), b"hello")).unwrap(), "hello");
        assert_eq!(to_text(page(Some("application/ld+json"), b"{}")).unwrap(), "{}");
        assert_eq!(to_text(page(None, b"hello")).unwrap(), "hello");
        assert_eq!(to_text(page(Some("text/plain"), b"caf\xe9")).unwrap(), "caf\u{fffd}");
        for (mime, bytes) in [
            (Some("image/png"), &b"\x89PNG"[..]),
            (Some("image/png"), b"text"),
            (Some("application/octet-stream"), b"MZ"),
            (None, b"a\0b"),
            (None, b"\xff\xfe"),
        ] {
            assert!(to_text(page(mime, bytes)).is_err(), "{mime:?}");
        }
    }

    #[test]
    fn a_long_page_is_returned_in_parts() {
        let text = "ä".repeat(MAX_CHARACTERS + 10);
        let first = select(&text, 0).unwrap();
        assert!(
            first.ends_with(
                "[characters 1 to 40000 of 40010; continue with skip_characters = 40000]"
            )
        );
        let rest = select(&text, MAX_CHARACTERS).unwrap();
        assert!(rest.ends_with("[characters 40001 to 40010 of 40010]"), "{rest}");
        assert!(select(&text, usize::MAX).is_err());
        assert_eq!(select(" \n", 0).unwrap(), "[the page has no text]");
    }
}
