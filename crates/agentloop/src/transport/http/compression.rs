//! Decompresses bodies piece by piece, as they arrive.

use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll};

use ::http::HeaderMap;
use ::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use brotli_decompressor::DecompressorWriter;
use bytes::Bytes;
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use futures_core::Stream;

use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};

/// How many compressed bytes are decompressed at a time: gzip makes at most a thousand times as many of them.
const STEP: usize = 4 << 10;

/// The most that one step may decompress to. Beyond it, the body is made to fill memory.
const MAX_STEP_OUTPUT: usize = 8 << 20;

/// The buffer that the Brotli decoder writes through.
const BROTLI_BUFFER: usize = 16 << 10;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Deflate,
    Brotli,
}

impl Encoding {
    /// Reads how the body is compressed, and takes the headers away that are then no longer true. A body in an
    /// encoding that is not known is handed on as it is, with its header.
    pub(super) fn take(headers: &mut HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let value = values.next()?.to_str().ok()?.trim();
        if values.next().is_some() {
            return None;
        }
        let encoding = match value.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" => Self::Deflate,
            "br" => Self::Brotli,
            _ => return None,
        };
        headers.remove(CONTENT_ENCODING);
        headers.remove(CONTENT_LENGTH);
        Some(encoding)
    }
}

/// A body that is decompressed as it arrives. Holds one compressed piece, and what one step of it became.
pub(super) struct Decompressed {
    wire: Wire,
    decoder: Decoder,
    /// The rest of the piece that arrived last.
    input: Bytes,
    /// Whether anything arrived: an empty body is fine, whatever its header says.
    started: bool,
    ended: bool,
}

enum Decoder {
    Gzip(Box<MultiGzDecoder<Output>>),
    Deflate(Box<ZlibDecoder<Output>>),
    Brotli(Box<DecompressorWriter<Output>>),
}

/// Takes what one step decompressed to.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    too_large: bool,
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + bytes.len() > MAX_STEP_OUTPUT {
            self.too_large = true;
            return Err(io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Decoder {
    fn new(encoding: Encoding) -> Self {
        let output = Output::default();
        match encoding {
            Encoding::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(output))),
            Encoding::Deflate => Self::Deflate(Box::new(ZlibDecoder::new(output))),
            Encoding::Brotli => {
                Self::Brotli(Box::new(DecompressorWriter::new(output, BROTLI_BUFFER)))
            }
        }
    }

    /// Decompresses `bytes`, all that can be known from them: an event must not wait for the next one.
    fn step(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Deflate(decoder) => decoder.write_all(bytes).and_then(|()| decoder.flush()),
            Self::Brotli(decoder) => decoder.write_all(bytes),
        }
    }

    /// Checks that the compressed data came to its end.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Deflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) => decoder.close(),
        }
    }

    fn output(&mut self) -> &mut Output {
        match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

impl Decompressed {
    pub(super) fn new(wire: Wire, encoding: Encoding) -> Self {
        Self {
            wire,
            decoder: Decoder::new(encoding),
            input: Bytes::new(),
            started: false,
            ended: false,
        }
    }

    fn failed(&mut self, error: io::Error) -> Error {
        self.ended = true;
        let origin = self.wire.origin();
        if self.decoder.output().too_large {
            return Error::new(
                ErrorKind::TooLarge,
                format!("the compressed answer of {origin} grows beyond all measure"),
            );
        }
        Error::new(
            ErrorKind::Protocol,
            format!("the compressed answer of {origin} is damaged: {error}"),
        )
        .with_source(error)
    }

    /// What one step makes of the input at hand; `None` if it was not enough to tell anything.
    fn step(&mut self) -> Option<Result<Bytes>> {
        while !self.input.is_empty() {
            let bytes = self.input.split_to(self.input.len().min(STEP));
            if let Err(error) = self.decoder.step(&bytes) {
                return Some(Err(self.failed(error)));
            }
            let output = mem::take(&mut self.decoder.output().bytes);
            if !output.is_empty() {
                return Some(Ok(Bytes::from(output)));
            }
        }
        None
    }

    fn finish(&mut self) -> Option<Result<Bytes>> {
        self.ended = true;
        if self.started
            && let Err(error) = self.decoder.finish()
        {
            return Some(Err(self.failed(error)));
        }
        let output = mem::take(&mut self.decoder.output().bytes);
        (!output.is_empty()).then(|| Ok(Bytes::from(output)))
    }
}

impl Stream for Decompressed {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.ended {
                return Poll::Ready(None);
            }
            if let Some(output) = this.step() {
                return Poll::Ready(Some(output));
            }
            match this.wire.poll_bytes(context) {
                Poll::Ready(Some(Ok(bytes))) => {
                    this.started |= !bytes.is_empty();
                    this.input = bytes;
                }
                Poll::Ready(Some(Err(error))) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => return Poll::Ready(this.finish()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
