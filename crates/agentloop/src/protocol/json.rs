//! Writes a JSON object field by field, straight into the bytes that are sent.

use bytes::Bytes;
use serde::Serialize;

use crate::error::{Error, ErrorKind, Result};

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
            Error::new(
                ErrorKind::InvalidRequest,
                "the request cannot be written as JSON",
            )
            .with_source(error)
        })
    }
}
