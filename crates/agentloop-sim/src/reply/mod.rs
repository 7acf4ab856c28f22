//! The HTTP response of a simulator, including its faults.

mod pieces;

use agentloop::protocol::serve::{StreamFraming, StreamWriter, framing, write_error};
use agentloop::{ChatStreamEvent, Error, ErrorKind, Protocol};
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, StatusCode};

use pieces::Source;
pub use pieces::{Piece, Pieces};

use crate::fault::Fault;

/// A web page as a proxy sends it.
const PAGE: &[u8] =
    b"<!DOCTYPE html>\n<html><head><title>Simulated</title></head><body>Not a response.</body></html>\n";

/// The `content-length` of a stream with the fault `wrong-length`.
const CLAIMED_LENGTH: u64 = 1 << 30;

/// An HTTP response of a simulator: a status, headers, and a body in pieces.
///
/// [`Simulator::respond`](crate::Simulator::respond) returns it. Use it to serve a simulator over a transport of your own.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Pieces,
}

/// Returns the kind of a simulated error. It determines the type and the code of the error in the words of the protocol.
fn kind_of(status: u16, code: Option<&str>) -> ErrorKind {
    match status {
        401 | 403 => ErrorKind::Auth,
        // The writers of some protocols replace the code of this kind by their own.
        402 if code.is_none() => ErrorKind::Quota,
        404 => ErrorKind::NotFound,
        408 | 504 => ErrorKind::Timeout,
        409 => ErrorKind::Conflict,
        429 => ErrorKind::RateLimit,
        503 | 529 => ErrorKind::Overloaded,
        400..500 => ErrorKind::InvalidRequest,
        500.. => ErrorKind::Server,
        _ => ErrorKind::Other,
    }
}

fn headers(content_type: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers
}

impl Reply {
    /// Creates a complete response with a JSON body.
    pub(crate) fn json(protocol: Protocol, body: Bytes, faults: &[Fault]) -> Self {
        let is_wrong = faults.contains(&Fault::WrongLength);
        let length = body.len() as u64 + if is_wrong { 64 } else { 0 };
        let mut reply = Self {
            status: StatusCode::OK,
            headers: headers("application/json"),
            body: Pieces::new(protocol, Source::Whole(body), faults),
        };
        // A body that a fault changes is sent without its length.
        if faults.is_empty() || is_wrong {
            reply.insert(CONTENT_LENGTH, &length.to_string());
        }
        reply
    }

    /// Creates a response with the content of a file.
    pub(crate) fn content(protocol: Protocol, content: Bytes) -> Self {
        let mut reply = Self::json(protocol, content, &[]);
        reply.insert(CONTENT_TYPE, "application/octet-stream");
        reply
    }

    /// Creates a streamed response.
    pub(crate) fn stream(
        protocol: Protocol,
        asked: StreamFraming,
        events: Vec<ChatStreamEvent>,
        include_usage: bool,
        faults: &[Fault],
    ) -> Self {
        let framing = match asked {
            StreamFraming::Chunks => asked,
            _ => framing(protocol),
        };
        let writer = Box::new(StreamWriter::new(protocol, include_usage).framed(framing));
        let source = Source::Stream(writer, events.into_iter());
        let mut reply = Self {
            status: StatusCode::OK,
            headers: headers(framing.content_type()),
            body: Pieces::new(protocol, source, faults),
        };
        if faults.contains(&Fault::WrongLength) {
            reply.insert(CONTENT_LENGTH, &CLAIMED_LENGTH.to_string());
        }
        reply
    }

    /// Creates an error response with the status of the error, else 500.
    pub(crate) fn error(protocol: Protocol, error: &Error, faults: &[Fault]) -> Self {
        let mut reply = Self::json(protocol, write_error(protocol, error), faults);
        reply.status = error
            .status()
            .and_then(|status| StatusCode::from_u16(status).ok())
            .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        reply
    }

    /// Creates the response that replaces the model's response, if a fault does so.
    pub(crate) fn fault(protocol: Protocol, faults: &[Fault], stream: bool) -> Option<Self> {
        let html = faults.contains(&Fault::Html);
        let rest: Vec<Fault> =
            faults.iter().filter(|fault| !fault.is_replacing()).cloned().collect();
        for fault in faults {
            let reply = match fault {
                Fault::Status { status, retry_after, code, message } => {
                    let message = match message {
                        Some(message) => message.clone(),
                        None => format!("a simulated error with status {status}"),
                    };
                    let kind = kind_of(*status, code.as_deref());
                    let mut error = Error::new(kind, message).with_status(*status);
                    if let Some(code) = code {
                        error = error.with_code(code);
                    }
                    let mut reply = Self::error(protocol, &error, &rest);
                    if let Some(wait) = retry_after {
                        reply.insert(RETRY_AFTER, wait);
                    }
                    if html {
                        reply.headers.remove(CONTENT_LENGTH);
                        reply.insert(CONTENT_TYPE, "text/html");
                        reply.body.source = Source::Whole(Bytes::from_static(PAGE));
                    }
                    reply
                }
                Fault::Body(bytes) => Self {
                    status: StatusCode::OK,
                    headers: headers(if stream {
                        framing(protocol).content_type()
                    } else {
                        "application/json"
                    }),
                    body: Pieces::filler(protocol, *bytes, stream, &rest),
                },
                _ => continue,
            };
            return Some(reply);
        }
        html.then(|| Self {
            status: StatusCode::OK,
            headers: headers("text/html"),
            body: Pieces::new(protocol, Source::Whole(Bytes::from_static(PAGE)), &rest),
        })
    }

    /// Sets a header. A value that is not valid in a header is ignored.
    pub(crate) fn insert(&mut self, name: HeaderName, value: &str) {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
    }
}
