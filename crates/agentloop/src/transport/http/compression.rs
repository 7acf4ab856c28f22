//! Decompresses bodies piece by piece, as they arrive.

#[cfg(feature = "brotli")]
mod brotli;

use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::HeaderMap;
use ::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use bytes::{Buf, Bytes};
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use futures_core::Stream;

use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_COMPRESSED_WITHOUT_OUTPUT;
use crate::pace::Pace;

/// How many compressed bytes one step reads.
const STEP_INPUT: usize = 16 << 10;

/// The least work that one step counts as. A gzip member of twenty bytes sets up a new decoder.
const STEP_WORK: usize = 4 << 10;

/// Decompresses one body, in steps.
pub(super) trait Decoder: Send {
    /// Reads as much of `bytes` as one buffer of output has room for. If all of them are read, the output has everything that they decompress
    /// to: an event must not wait for the next one.
    fn step(&mut self, bytes: &[u8]) -> io::Result<Step>;

    /// Checks that the compressed data is complete.
    fn finish(&mut self) -> io::Result<()>;

    fn output(&mut self) -> &mut Vec<u8>;
}

/// What one step of a decoder did.
pub(super) struct Step {
    /// How many compressed bytes it read.
    taken: usize,
    /// Whether it has more output for what it read.
    more: bool,
}

/// Returns the decoder of a body, and removes the headers that do not hold after decompression. A body in an unknown encoding is returned
/// unchanged, with its header.
pub(super) fn decoder(headers: &mut HeaderMap) -> Option<Box<dyn Decoder>> {
    // Most responses have none, which this finds out sooner than a search for all of its values.
    let value = headers.get(CONTENT_ENCODING)?.to_str().ok()?.trim();
    if headers.get_all(CONTENT_ENCODING).iter().nth(1).is_some() {
        return None;
    }
    let decoder: Box<dyn Decoder> = match value.to_ascii_lowercase().as_str() {
        "gzip" | "x-gzip" => Box::new(MultiGzDecoder::new(Vec::new())),
        "deflate" => Box::new(ZlibDecoder::new(Vec::new())),
        #[cfg(feature = "brotli")]
        "br" => Box::new(brotli::Brotli::new()),
        _ => return None,
    };
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    Some(decoder)
}

impl Decoder for MultiGzDecoder<Vec<u8>> {
    fn step(&mut self, bytes: &[u8]) -> io::Result<Step> {
        write_step(self, bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

impl Decoder for ZlibDecoder<Vec<u8>> {
    fn step(&mut self, bytes: &[u8]) -> io::Result<Step> {
        write_step(self, bytes)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.try_finish()
    }

    fn output(&mut self) -> &mut Vec<u8> {
        self.get_mut()
    }
}

fn write_step(decoder: &mut dyn Write, bytes: &[u8]) -> io::Result<Step> {
    let taken = decoder.write(bytes)?;
    if taken == bytes.len() {
        decoder.flush()?;
    }
    Ok(Step { taken, more: false })
}

/// A body that is decompressed as it arrives, in steps of bounded size.
///
/// It holds one compressed piece and the output of one step, and returns control to the runtime after a bounded number of steps, also
/// when they produce nothing. Brotli decodes up to one window (at most 16 MiB) before the first step of it returns.
pub(super) struct Decompressed {
    wire: Wire,
    decoder: Box<dyn Decoder>,
    /// The rest of the piece that arrived last.
    input: Bytes,
    /// Whether the decoder has more output for the input that it read.
    more: bool,
    /// How many compressed bytes were read since the last output.
    silent: usize,
    pace: Pace,
    /// Whether anything arrived. An empty body is valid, whatever its header says.
    started: bool,
    ended: bool,
}

impl Decompressed {
    pub(super) fn new(wire: Wire, decoder: Box<dyn Decoder>) -> Self {
        Self {
            wire,
            decoder,
            input: Bytes::new(),
            more: false,
            silent: 0,
            pace: Pace::new(),
            started: false,
            ended: false,
        }
    }

    fn failed(&mut self, error: io::Error) -> Error {
        self.ended = true;
        let origin = self.wire.origin();
        Error::new(
            ErrorKind::Protocol,
            format!("the compressed response of {origin} is damaged: {error}"),
        )
        .with_source(error)
    }

    /// Decompresses one step of the input. Returns `None` if there is no output.
    fn step(&mut self) -> Option<Result<Bytes>> {
        let bytes = &self.input[..self.input.len().min(STEP_INPUT)];
        let step = match self.decoder.step(bytes) {
            // No decoder reads anything after the end of its data.
            Ok(step) if step.taken == 0 && !bytes.is_empty() && !step.more => {
                Err(io::Error::other("bytes follow its end"))
            }
            step => step,
        };
        let step = match step {
            Ok(step) => step,
            Err(error) => return Some(Err(self.failed(error))),
        };
        self.input.advance(step.taken);
        self.more = step.more;
        let output = mem::take(self.decoder.output());
        self.pace.charge(STEP_WORK.max(step.taken + output.len()));
        if !output.is_empty() {
            self.silent = 0;
            return Some(Ok(Bytes::from(output)));
        }
        self.silent += step.taken;
        (self.silent > MAX_COMPRESSED_WITHOUT_OUTPUT).then(|| {
            self.ended = true;
            Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "{MAX_COMPRESSED_WITHOUT_OUTPUT} compressed bytes of {} decompress to nothing",
                    self.wire.origin()
                ),
            ))
        })
    }

    fn finish(&mut self) -> Option<Result<Bytes>> {
        self.ended = true;
        if self.started
            && let Err(error) = self.decoder.finish()
        {
            return Some(Err(self.failed(error)));
        }
        let output = mem::take(self.decoder.output());
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
            ready!(this.pace.poll_work(context));
            if !this.input.is_empty() || this.more {
                match this.step() {
                    Some(output) => return Poll::Ready(Some(output)),
                    None => continue,
                }
            }
            match this.wire.poll_bytes(context) {
                Poll::Ready(Some(Ok(bytes))) => {
                    this.started |= !bytes.is_empty();
                    this.pace.charge(0);
                    this.input = bytes;
                }
                Poll::Ready(Some(Err(error))) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => return Poll::Ready(this.finish()),
                Poll::Pending => {
                    this.pace.restart();
                    return Poll::Pending;
                }
            }
        }
    }
}
