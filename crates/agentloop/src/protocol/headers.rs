//! The headers of a request, but for the key.

use std::collections::BTreeMap;

use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::output::Shaped;
use crate::provider::{AUTH_HEADERS, Provider};
use crate::secret::mask;

const AGENT: &str = concat!("agentloop/", env!("CARGO_PKG_VERSION"));

/// Headers that the transport and the body determine, not the caller.
const FIXED: [&str; 4] = ["content-length", "host", "transfer-encoding", "connection"];

/// Returns the headers of a request to `provider`: those of the library, those of the provider, then the caller's
/// `extra` ones, which never replace headers that authenticate.
pub(crate) fn build(
    provider: &Provider,
    extra: &BTreeMap<String, String>,
    warnings: &mut Vec<Warning>,
) -> Result<HeaderMap> {
    let mut headers = without_extra(provider, false)?;
    add_extra(&mut headers, provider, extra, warnings)?;
    Ok(headers)
}

/// Returns the headers of a chat, like [`build`].
pub(crate) fn of_chat(
    provider: &Provider,
    shaped: &Shaped<'_>,
    stream: bool,
    warnings: &mut Vec<Warning>,
) -> Result<HeaderMap> {
    let mut headers = shaped.headers.get(stream, || without_extra(provider, stream))?;
    add_extra(&mut headers, provider, &shaped.request.extra_headers, warnings)?;
    Ok(headers)
}

/// Returns the headers of the library and of the provider.
fn without_extra(provider: &Provider, stream: bool) -> Result<HeaderMap> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    if stream {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    } else {
        // Not for streams: compressors hold bytes back.
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let encodings = if cfg!(feature = "brotli") { "gzip, br" } else { "gzip" };
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static(encodings));
    }
    for (name, value) in &provider.headers {
        headers.insert(header_name(name)?, header_value(name, value)?);
    }
    Ok(headers)
}

fn add_extra(
    headers: &mut HeaderMap,
    provider: &Provider,
    extra: &BTreeMap<String, String>,
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    for (name, value) in extra {
        let parsed = header_name(name)?;
        let refused = AUTH_HEADERS.contains(&parsed.as_str())
            || FIXED.contains(&parsed.as_str())
            || provider.auth.header() == Some(parsed.as_str())
            || provider.env_headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if refused {
            warnings.push(Warning::new(
                WarningKind::Dropped,
                format!("extra_headers.{name}"),
                format!("the header {name} is set by the client and cannot be replaced"),
            ));
            continue;
        }
        headers.insert(parsed, header_value(name, value)?);
    }
    Ok(())
}

/// Adds a value to a header that is a list, unless the list has it.
pub(crate) fn add_to_list(headers: &mut HeaderMap, name: &HeaderName, value: &str) {
    let list = headers.get(name).and_then(|list| list.to_str().ok()).unwrap_or_default();
    if list.split(',').any(|known| known.trim() == value) {
        return;
    }
    let all = if list.is_empty() { value.to_owned() } else { format!("{list},{value}") };
    if let Ok(all) = HeaderValue::from_str(&all) {
        headers.insert(name, all);
    }
}

fn header_name(name: &str) -> Result<HeaderName> {
    HeaderName::from_bytes(name.as_bytes()).map_err(|error| {
        Error::new(ErrorKind::InvalidRequest, format!("`{name}` is not a valid header name"))
            .with_source(error)
    })
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue> {
    let mut parsed = HeaderValue::from_str(value).map_err(|error| {
        // The value itself is not shown: it may be a secret.
        Error::new(
            ErrorKind::InvalidRequest,
            format!("the value of {name} is not valid in a header"),
        )
        .with_source(error)
    })?;
    // Such a header goes to no other provider when this one sends the request on, and into no error.
    parsed.set_sensitive(mask::is_secret(name));
    Ok(parsed)
}
