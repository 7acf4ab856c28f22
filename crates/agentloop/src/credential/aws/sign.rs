//! Signs requests with version 4 of Amazon's signatures (SigV4).

use std::fmt::Write as _;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue, Request};
use ring::{digest, hmac};

use super::keys::Keys;
use crate::calendar::{seconds_since_1970, write_rfc3339};
use crate::error::{Error, ErrorKind, Result};
use crate::percent::encode_query_value;

const X_AMZ_DATE: HeaderName = HeaderName::from_static("x-amz-date");
const X_AMZ_SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-amz-security-token");

/// What a signature is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) region: &'a str,
    pub(super) service: &'a str,
    pub(super) time: SystemTime,
}

/// Signs a request: adds `x-amz-date`, `x-amz-security-token` if the keys have a token, and `authorization`.
///
/// The host, the type of the content and all headers `x-amz-…` are signed. Others are not, because the transport and
/// proxies may add or change them on the way.
///
/// # Errors
///
/// When a key cannot be sent in a header, or the URL has no host.
pub(super) fn sign(request: &mut Request<Bytes>, keys: &Keys, scope: Scope<'_>) -> Result<()> {
    let is_signed =
        |name: &HeaderName| *name == CONTENT_TYPE || name.as_str().starts_with("x-amz-");
    sign_headers(request, keys, scope, is_signed)
}

fn sign_headers(
    request: &mut Request<Bytes>,
    keys: &Keys,
    scope: Scope<'_>,
    is_signed: impl Fn(&HeaderName) -> bool,
) -> Result<()> {
    let time: String = write_rfc3339(seconds_since_1970(scope.time)).replace(['-', ':'], "");
    let host = host_of(request)?;
    let headers = request.headers_mut();
    headers.remove(AUTHORIZATION);
    headers.insert(X_AMZ_DATE, secret_value(&time, false)?);
    headers.remove(&X_AMZ_SECURITY_TOKEN);
    if let Some(token) = &keys.session_token {
        headers.insert(X_AMZ_SECURITY_TOKEN, secret_value(token.expose(), true)?);
    }
    let (lines, names) = canonical_headers(request.headers(), &host, is_signed);
    let canonical = format!(
        "{}\n{}\n{}\n{lines}\n{names}\n{}",
        request.method(),
        canonical_path(request.uri().path()),
        canonical_query(request.uri().query().unwrap_or_default()),
        sha256(request.body()),
    );
    let date = time.get(..8).unwrap_or_default();
    let Scope { region, service, .. } = scope;
    let place = format!("{date}/{region}/{service}/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{time}\n{place}\n{}", sha256(canonical.as_bytes()));
    let secret = format!("AWS4{}", keys.secret_access_key.expose());
    let mut key = hmac_sha256(secret.as_bytes(), date);
    for step in [region, service, "aws4_request"] {
        key = hmac_sha256(key.as_ref(), step);
    }
    let signature = hex(hmac_sha256(key.as_ref(), &text).as_ref());
    let id = keys.access_key_id.expose();
    let value = format!(
        "AWS4-HMAC-SHA256 Credential={id}/{place}, SignedHeaders={names}, Signature={signature}"
    );
    request.headers_mut().insert(AUTHORIZATION, secret_value(&value, true)?);
    Ok(())
}

/// Returns the host as the transport sends it: with its port, unless that is the usual one of the scheme.
fn host_of(request: &Request<Bytes>) -> Result<String> {
    if let Some(host) = request.headers().get(HOST).and_then(|host| host.to_str().ok()) {
        return Ok(host.to_owned());
    }
    let uri = request.uri();
    let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| {
        Error::new(ErrorKind::Config, "a request without a host cannot be signed")
            .with_hint("write the provider's `base_url` with its scheme and host")
    })?;
    let usual = if uri.scheme_str() == Some("http") { 80 } else { 443 };
    Ok(match uri.port_u16().filter(|port| *port != usual) {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

fn secret_value(text: &str, is_sensitive: bool) -> Result<HeaderValue> {
    let mut value = HeaderValue::try_from(text).map_err(|_| {
        let message = "the AWS credentials have characters that are not allowed in a header";
        Error::new(ErrorKind::MissingKey, message)
            .with_hint("copy the keys again, without quotes and line breaks")
    })?;
    value.set_sensitive(is_sensitive);
    Ok(value)
}

/// Returns the signed headers, one per line, and their names.
fn canonical_headers(
    headers: &HeaderMap,
    host: &str,
    is_signed: impl Fn(&HeaderName) -> bool,
) -> (String, String) {
    let mut signed: Vec<(&str, String)> = headers
        .keys()
        .filter(|name| **name != HOST && is_signed(name))
        .map(|name| {
            let values = headers.get_all(name).iter().map(|value| {
                let text = String::from_utf8_lossy(value.as_bytes());
                text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
            });
            (name.as_str(), values.collect::<Vec<_>>().join(","))
        })
        .collect();
    signed.push((HOST.as_str(), host.to_owned()));
    signed.sort();
    let lines = signed.iter().fold(String::new(), |mut lines, (name, value)| {
        let _ = writeln!(lines, "{name}:{value}");
        lines
    });
    let names: Vec<&str> = signed.iter().map(|(name, _)| *name).collect();
    (lines, names.join(";"))
}

/// Removes empty segments and those of dots, and encodes every other one once more. The path of a URL is encoded already, and all services
/// but S3 sign it normalized and encoded twice (botocore 1.44, `auth.py`, `utils.py`: `remove_dot_segments`).
fn canonical_path(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(encode_query_value(segment)),
        }
    }
    let end = if path.ends_with('/') && !segments.is_empty() { "/" } else { "" };
    format!("/{}{end}", segments.join("/"))
}

/// Sorts the parameters of a query, which is encoded already, by name and value.
fn canonical_query(query: &str) -> String {
    if query.is_empty() {
        return String::new();
    }
    let mut pairs: Vec<(&str, &str)> =
        query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, ""))).collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn hmac_sha256(key: &[u8], text: &str) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes())
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Writes bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
#[path = "sign_tests.rs"]
mod tests;
