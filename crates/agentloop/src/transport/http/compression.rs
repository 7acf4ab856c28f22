//! Decompresses bodies piece by piece, as they arrive.

use std::io::{self, Write};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use ::http::HeaderMap;
use ::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use bytes::{Buf, Bytes};
use flate2::write::{MultiGzDecoder, ZlibDecoder};
use futures_core::Stream;

use super::wire::Wire;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_COMPRESSED_WITHOUT_OUTPUT;
use crate::pace::Pace;

/// How many compressed bytes one step reads.
const STEP_INPUT: usize = 16 << 10;

/// How many bytes one step of Brotli returns. The deflate decoders have a buffer of the same size.
const STEP_OUTPUT: usize = 32 << 10;

/// The least work that one step counts as. A gzip member of twenty bytes sets up a new decoder.
const STEP_WORK: usize = 4 << 10;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Gzip,
    Deflate,
    Brotli,
}

impl Encoding {
    /// Reads how the body is compressed, and removes the headers that do not hold after decompression. A body in an unknown encoding is
    /// returned unchanged, with its header.
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

/// A body that is decompressed as it arrives, in steps of bounded size.
///
/// It holds one compressed piece and the output of one step, and returns control to the runtime after a bounded number of steps, also
/// when they produce nothing. Brotli decodes up to one window (at most 16 MiB) before the first step of it returns.
pub(super) struct Decompressed {
    wire: Wire,
    decoder: Decoder,
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

enum Decoder {
    Gzip(Box<MultiGzDecoder<Vec<u8>>>),
    Deflate(Box<ZlibDecoder<Vec<u8>>>),
    Brotli(Box<Brotli>),
}

struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    /// The buffer that one step writes to.
    buffer: Box<[u8]>,
    output: Vec<u8>,
    total: usize,
    finished: bool,
}

/// What one step of a decoder did.
struct Step {
    /// How many compressed bytes it read.
    taken: usize,
    /// Whether it has more output for what it read.
    more: bool,
}

impl Brotli {
    fn new() -> Self {
        let alloc = StandardAlloc::default;
        Self {
            state: BrotliState::new_strict(alloc(), alloc(), alloc()),
            buffer: vec![0; STEP_OUTPUT].into_boxed_slice(),
            output: Vec::new(),
            total: 0,
            finished: false,
        }
    }

    fn step(&mut self, bytes: &[u8]) -> io::Result<Step> {
        if self.finished {
            return Ok(Step { taken: 0, more: false });
        }
        let (mut left, mut taken) = (bytes.len(), 0);
        let (mut room, mut written) = (self.buffer.len(), 0);
        let result = BrotliDecompressStream(
            &mut left,
            &mut taken,
            bytes,
            &mut room,
            &mut written,
            &mut self.buffer,
            &mut self.total,
            &mut self.state,
        );
        self.output.extend_from_slice(&self.buffer[..written]);
        match result {
            BrotliResult::ResultFailure => Err(io::ErrorKind::InvalidData.into()),
            BrotliResult::ResultSuccess => {
                self.finished = true;
                Ok(Step { taken, more: false })
            }
            BrotliResult::NeedsMoreInput => Ok(Step { taken, more: false }),
            BrotliResult::NeedsMoreOutput => Ok(Step { taken, more: true }),
        }
    }
}

impl Decoder {
    fn new(encoding: Encoding) -> Self {
        match encoding {
            Encoding::Gzip => Self::Gzip(Box::new(MultiGzDecoder::new(Vec::new()))),
            Encoding::Deflate => Self::Deflate(Box::new(ZlibDecoder::new(Vec::new()))),
            Encoding::Brotli => Self::Brotli(Box::new(Brotli::new())),
        }
    }

    /// Reads as much of `bytes` as one buffer of output has room for. If all of them are read, the output has everything that they decompress
    /// to: an event must not wait for the next one.
    fn step(&mut self, bytes: &[u8]) -> io::Result<Step> {
        let decoder: &mut dyn Write = match self {
            Self::Brotli(decoder) => return decoder.step(bytes),
            Self::Gzip(decoder) => decoder.as_mut(),
            Self::Deflate(decoder) => decoder.as_mut(),
        };
        let taken = decoder.write(bytes)?;
        if taken == bytes.len() {
            decoder.flush()?;
        }
        Ok(Step { taken, more: false })
    }

    /// Checks that the compressed data is complete.
    fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Gzip(decoder) => decoder.try_finish(),
            Self::Deflate(decoder) => decoder.try_finish(),
            Self::Brotli(decoder) if decoder.finished => Ok(()),
            Self::Brotli(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn take_output(&mut self) -> Vec<u8> {
        mem::take(match self {
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Deflate(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => &mut decoder.output,
        })
    }
}

impl Decompressed {
    pub(super) fn new(wire: Wire, encoding: Encoding) -> Self {
        Self {
            wire,
            decoder: Decoder::new(encoding),
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
        let output = self.decoder.take_output();
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
        let output = self.decoder.take_output();
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
