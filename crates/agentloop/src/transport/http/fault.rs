//! Errors of connections. They name only hosts and ports, because a URL may contain a key.

use std::error::Error as StdError;
use std::io;

use super::origin::Origin;
use super::reach::Refused;
use crate::error::{Error, ErrorKind};

/// Returns the error of a connection that could not be made.
pub(super) fn connect(
    origin: &Origin,
    error: impl StdError + Send + Sync + 'static,
    through: Option<&Origin>,
) -> Error {
    let place = match through {
        Some(proxy) => format!("the proxy {proxy} on the way to {origin}"),
        None => origin.to_string(),
    };
    if let Some(refused) = innermost(&error).downcast_ref::<Refused>() {
        return self::refused(through.unwrap_or(origin), *refused);
    }
    // The text of the connector names the step, and its innermost source the reason.
    let reason = innermost(&error).to_string();
    if error.to_string().contains("dns") {
        let host = through.unwrap_or(origin).bare_host();
        return Error::new(
            ErrorKind::Connection,
            format!("no IP address found for {place}: {reason}"),
        )
        .with_hint(format!("check the spelling of {host}, and the network"))
        .with_began(false)
        .with_source(error);
    }
    Error::new(ErrorKind::Connection, format!("could not connect to {place}: {reason}"))
        .with_hint("check that the server is running and reachable from this network")
        .with_began(false)
        .with_source(error)
}

/// Returns the error of an address that is not allowed.
pub(super) fn refused(origin: &Origin, refused: Refused) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("{origin} is not allowed: {refused}"))
        .with_hint("set `allow_private` to connect to private addresses")
        .with_source(refused)
}

/// Returns the error of a failed TLS handshake.
pub(super) fn handshake(origin: &Origin, error: io::Error) -> Error {
    let failed = match tls_cause(&error) {
        Some(cause) => tls(origin, &cause.clone()),
        None => Error::new(
            ErrorKind::Connection,
            format!("the connection to {origin} broke in the TLS handshake: {error}"),
        ),
    };
    failed.with_began(false).with_source(error)
}

/// Returns the error of an open connection that broke.
pub(super) fn broken(
    origin: &Origin,
    doing: &str,
    error: impl StdError + Send + Sync + 'static,
) -> Error {
    if let Some(cause) = tls_cause(&error) {
        return tls(origin, &cause.clone()).with_source(error);
    }
    let reason = innermost(&error).to_string();
    Error::new(
        ErrorKind::Connection,
        format!("the connection to {origin} broke while {doing}: {reason}"),
    )
    .with_source(error)
}

/// Returns the error of a response that is not HTTP.
pub(super) fn not_http(origin: &Origin, error: impl StdError + Send + Sync + 'static) -> Error {
    let reason = innermost(&error).to_string();
    Error::new(ErrorKind::Protocol, format!("the response of {origin} is not HTTP: {reason}"))
        .with_source(error)
}

fn tls(origin: &Origin, cause: &rustls::Error) -> Error {
    let (message, hint) = match cause {
        rustls::Error::InvalidCertificate(_) => (
            format!("the certificate of {origin} cannot be trusted: {cause}"),
            "if a company proxy or a private authority signs it, set SSL_CERT_FILE to a file with its certificate, or AGENTLOOP_NATIVE_ROOTS=1 \
             to trust the certificates of the operating system",
        ),
        rustls::Error::InvalidMessage(_) => (
            format!("TLS with {origin} failed: {cause}"),
            "the server may use plain http at this port",
        ),
        _ => (
            format!("TLS with {origin} failed: {cause}"),
            "the server and this program have no TLS version or cipher in common; check the URL",
        ),
    };
    Error::new(ErrorKind::Tls, message).with_hint(hint)
}

/// Returns the TLS error among the sources of an error.
fn tls_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let mut current: Option<&'a (dyn StdError + 'static)> = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        // The source of an `io::Error` is that of the error it wraps, not the wrapped error.
        current = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    None
}

fn innermost<'a>(error: &'a (dyn StdError + 'static)) -> &'a (dyn StdError + 'static) {
    let mut current = error;
    while let Some(source) = current.source() {
        current = source;
    }
    current
}
