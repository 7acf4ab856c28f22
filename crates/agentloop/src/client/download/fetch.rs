//! Downloads one medium.

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, USER_AGENT};
use http::{Request, Response};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::find::Wanted;
use crate::error::{Error, ErrorKind, Result};
use crate::media::name::essence;
use crate::media::{MediaOptions, settle};
use crate::secret::mask;
use crate::transport::{Body, SendOptions, Transport};

/// The value of `User-Agent`. Some servers refuse requests without one.
const USER_AGENT_VALUE: &str = concat!("agentloop/", env!("CARGO_PKG_VERSION"));

/// A medium that was downloaded.
#[derive(Clone, Debug)]
pub(super) struct Fetched {
    pub(super) mime: String,
    pub(super) base64: String,
    pub(super) size: usize,
}

/// Downloads a medium of at most `limit` bytes.
pub(super) async fn one(
    transport: &dyn Transport,
    wanted: &Wanted,
    options: &MediaOptions,
    limit: usize,
) -> Result<Fetched> {
    let fetched = tokio::time::timeout(options.timeout, get(transport, wanted, limit)).await;
    let fetched = fetched.unwrap_or_else(|_| {
        let seconds = options.timeout.as_secs_f64();
        Err(Error::new(ErrorKind::Timeout, format!("no complete response within {seconds} s")))
    });
    fetched.map_err(|error| about(wanted, &error))
}

/// Adds the part and the URL to an error of the download. The error does not name the provider, which was not involved.
pub(super) fn about(wanted: &Wanted, error: &Error) -> Error {
    let place = mask::media_url(&wanted.url);
    let text = format!("{}: cannot download {place}: {}", wanted.subject(), error.message());
    let mut about = Error::new(error.kind(), text).with_retryable(error.is_retryable());
    if let Some(hint) = error.hint() {
        about = about.with_hint(hint);
    }
    about.with_source(error.clone())
}

async fn get(transport: &dyn Transport, wanted: &Wanted, limit: usize) -> Result<Fetched> {
    // No key and no cookie: these two headers are all that is sent. The transport removes a password in the URL.
    let request = Request::get(&wanted.url)
        .header(ACCEPT, "*/*")
        .header(USER_AGENT, USER_AGENT_VALUE)
        .body(Bytes::new())
        .map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, "this is not a URL").with_source(error)
        })?;
    let response = transport.send(request, SendOptions::default()).await?;
    let status = response.status();
    if !status.is_success() {
        let kind = match status.as_u16() {
            404 | 410 => ErrorKind::NotFound,
            408 | 429 | 500.. => ErrorKind::Server,
            _ => ErrorKind::InvalidRequest,
        };
        return Err(Error::new(kind, format!("the server returned status {status}")));
    }
    let declared = header(&response, CONTENT_TYPE);
    let length = header(&response, CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    let too_large = || {
        Error::new(ErrorKind::TooLarge, format!("the file is larger than {limit} bytes"))
            .with_hint("raise `max_bytes` of the media options, or send a smaller file")
    };
    if length.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    let bytes = response.into_body().collect(limit).await.map_err(|error| match error.kind() {
        ErrorKind::TooLarge => too_large(),
        _ => error,
    })?;
    if bytes.is_empty() {
        return Err(Error::new(ErrorKind::InvalidRequest, "the file is empty"));
    }
    let declared = wanted.mime.as_deref().or(declared.as_deref().map(essence));
    let mime = settle(wanted.kind, &bytes, declared, Some(&wanted.url)).map_err(|mime| {
        Error::new(
            ErrorKind::InvalidRequest,
            format!("the file is {mime}, not {}", wanted.kind.named()),
        )
    })?;
    let mime = mime.ok_or_else(|| {
        Error::new(
            ErrorKind::Unsupported,
            "its media type is unknown: the server did not report it and its bytes do not show it",
        )
        .with_hint("send it as a `file` part with a `mime_type`")
    })?;
    Ok(Fetched { mime, size: bytes.len(), base64: STANDARD.encode(&bytes) })
}

fn header(response: &Response<Body>, name: http::HeaderName) -> Option<String> {
    response.headers().get(name)?.to_str().ok().map(str::to_owned)
}
