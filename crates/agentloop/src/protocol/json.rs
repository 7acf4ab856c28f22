//! JSON in, and JSON out straight into the bytes that are sent.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};

/// Reads JSON that is there as a whole; what cannot be read is an error that holds the bytes.
pub(crate) fn read_json<'a, T: Deserialize<'a>>(data: &'a [u8]) -> Result<T> {
    serde_json::from_slice(data).map_err(|error| unreadable(ErrorKind::Protocol, data, error))
}

/// The same for a body, which may also have been cut off on its way.
pub(crate) fn read_json_body<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body).map_err(|error| {
        let lines = body.iter().filter(|byte| **byte == b'\n').count() + 1;
        let last_line = body.split(|byte| *byte == b'\n').next_back().map_or(0, <[u8]>::len);
        let at_end = error.line() == lines && error.column() >= last_line;
        // A number that is cut off is wrong at the very end of the bytes.
        let cut = error.is_eof() || (at_end && body.starts_with(b"{") && !body.ends_with(b"}"));
        let kind = if cut { ErrorKind::IncompleteStream } else { ErrorKind::Protocol };
        unreadable(kind, body, error)
    })
}

fn unreadable(kind: ErrorKind, data: &[u8], error: serde_json::Error) -> Error {
    if data.starts_with(b"<") {
        return Error::new(kind, "the answer is a page for browsers, not the API's")
            .with_hint("check the provider's address, and whether a proxy stands in between")
            .with_raw(data)
            .with_source(error);
    }
    let what = match kind {
        ErrorKind::IncompleteStream => "is cut off",
        _ => "cannot be understood",
    };
    Error::new(kind, format!("the answer {what}: {error}")).with_raw(data).with_source(error)
}

/// Writes an object field by field.
#[derive(Debug)]
pub(crate) struct ObjectWriter {
    out: Vec<u8>,
}

impl ObjectWriter {
    pub(crate) fn new() -> Self {
        let mut out = Vec::with_capacity(512);
        out.push(b'{');
        Self { out }
    }

    pub(crate) fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        self.value(name)?;
        self.out.push(b':');
        self.value(value)
    }

    pub(crate) fn finish(mut self) -> Bytes {
        self.out.push(b'}');
        self.out.into()
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| {
            Error::new(ErrorKind::InvalidRequest, "the request cannot be written as JSON")
                .with_source(error)
        })
    }
}
