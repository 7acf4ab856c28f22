//! The file of a recording.

use std::path::Path;

use agentloop::internal::files::read_regular;
use agentloop::{Error, ErrorKind, Result};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MAX_EXCHANGES, MAX_RECORDING_BYTES, RECORD_VARIABLE};

/// The version of the format.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct File<T> {
    /// The version of the format.
    agentloop_recording: u32,
    exchanges: T,
}

/// A request, and what came back.
#[agentloop_macros::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Exchange {
    pub(super) request: Sent,
    /// Absent if the connection failed before there was a response.
    pub(super) response: Option<Received>,
    /// How the connection failed: before the response, or after what was received of it.
    pub(super) failure: Option<Failure>,
}

/// A request.
#[agentloop_macros::skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) headers: Vec<(String, String)>,
    /// JSON as such, so that it can be read and compared.
    pub(super) json: Option<Value>,
    /// Any other body.
    pub(super) body: Option<Piece>,
}

/// A response.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    /// The body, in the pieces in which it arrived.
    #[serde(default)]
    pub(super) body: Vec<Piece>,
}

/// Some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Piece {
    Text(String),
    Binary { base64: String },
}

/// How a connection failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
}

impl Sent {
    /// Returns the method and the URL.
    pub(super) fn line(&self) -> String {
        format!("{} {}", self.method, self.url)
    }
}

impl Piece {
    pub(super) fn of(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Binary { base64: BASE64_STANDARD.encode(bytes) },
        }
    }

    /// Returns the bytes; `None` if they are not base64.
    pub(super) fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
            Self::Binary { base64 } => BASE64_STANDARD.decode(base64).ok().map(Bytes::from),
        }
    }
}

/// Reads a recording.
pub(super) fn read(path: &Path) -> Result<Vec<Exchange>> {
    let failed = |what: String| {
        Error::new(ErrorKind::Config, format!("{}: {what}", path.display())).with_hint(format!(
            "set {RECORD_VARIABLE}=1 to record it, with the keys of the providers"
        ))
    };
    let unread = |error: std::io::Error| failed(format!("the recording cannot be read: {error}"));
    let bytes = read_regular(path, MAX_RECORDING_BYTES).map_err(unread)?;
    let file: File<Vec<Exchange>> = serde_json::from_slice(&bytes)
        .map_err(|error| failed(format!("it is not a recording: {error}")))?;
    if file.agentloop_recording != VERSION {
        let version = file.agentloop_recording;
        return Err(failed(format!("its format has version {version}, and this is {VERSION}")));
    }
    if file.exchanges.len() > MAX_EXCHANGES {
        return Err(failed(format!("it has more than {MAX_EXCHANGES} requests")));
    }
    let pieces = file.exchanges.iter().filter_map(|exchange| exchange.response.as_ref());
    if pieces.flat_map(|response| &response.body).any(|piece| piece.bytes().is_none()) {
        return Err(failed("a body has base64 that cannot be decoded".to_owned()));
    }
    Ok(file.exchanges)
}

/// Writes a recording in place of the one that is there. A reader sees the old file or the new one.
pub(super) fn write(path: &Path, exchanges: &[Exchange]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("the recording {} cannot be written: {error}", path.display());
        Error::new(ErrorKind::Config, message)
    };
    let file = File { agentloop_recording: VERSION, exchanges };
    let mut text = serde_json::to_string_pretty(&file).map_err(|error| failed(&error))?;
    text.push('\n');
    if text.len() > MAX_RECORDING_BYTES {
        return Err(failed(&format!("it would have more than {MAX_RECORDING_BYTES} bytes")));
    }
    agentloop::internal::files::replace(path, text.as_bytes()).map_err(|error| failed(&error))
}
