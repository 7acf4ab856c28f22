//! What went wrong below an answer, as the one error. Only hosts and ports are named: a URL may carry a key.

use std::error::Error as StdError;
use std::io;

use super::origin::Origin;
use super::reach::Refused;
use crate::error::{Error, ErrorKind};

/// No connection could be made.
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
    // The connector keeps what it was doing in its text, and the reason in its sources.
    let reason = innermost(&error).to_string();
    if error.to_string().contains("dns") {
        let host = through.unwrap_or(origin).bare_host();
        return Error::new(
            ErrorKind::Connection,
            format!("no address found for {place}: {reason}"),
        )
        .with_hint(format!("check the spelling of {host}, and the network"))
        .with_began(false)
        .with_source(error);
    }
    Error::new(ErrorKind::Connection, format!("could not connect to {place}: {reason}"))
        .with_hint("check that the server runs and the network allows it")
        .with_began(false)
        .with_source(error)
}

/// The host is at an address that may not be reached.
pub(super) fn refused(origin: &Origin, refused: Refused) -> Error {
    Error::new(ErrorKind::InvalidRequest, format!("{origin} is not reached: {refused}"))
        .with_hint("private addresses are reached only where that is allowed (`allow_private`)")
        .with_source(refused)
}

/// The TLS handshake failed.
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

/// A connection that stood has broken.
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

/// What the server sent is not HTTP.
pub(super) fn not_http(origin: &Origin, error: impl StdError + Send + Sync + 'static) -> Error {
    let reason = innermost(&error).to_string();
    Error::new(ErrorKind::Protocol, format!("{origin} did not answer in HTTP: {reason}"))
        .with_source(error)
}

fn tls(origin: &Origin, cause: &rustls::Error) -> Error {
    let (message, hint) = match cause {
        rustls::Error::InvalidCertificate(_) => (
            format!("the certificate of {origin} cannot be trusted: {cause}"),
            "if a company proxy or a private authority signs it, name its certificate in SSL_CERT_FILE",
        ),
        rustls::Error::InvalidMessage(_) => (
            format!("TLS with {origin} failed: {cause}"),
            "the server may speak plain http at this port",
        ),
        _ => (
            format!("TLS with {origin} failed: {cause}"),
            "the server and this program share no way to speak TLS; check the URL",
        ),
    };
    Error::new(ErrorKind::Tls, message).with_hint(hint)
}

/// The TLS error somewhere below an I/O error.
fn tls_cause<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    let mut current: Option<&'a (dyn StdError + 'static)> = Some(error);
    while let Some(error) = current {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        // An `io::Error` shows the source of what it wraps, not what it wraps.
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
