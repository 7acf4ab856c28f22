//! Decompresses Brotli.

use std::io;

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};

use super::{Decoder, Step};

/// How many bytes one step of Brotli returns. The deflate decoders have a buffer of the same size.
const STEP_OUTPUT: usize = 32 << 10;

pub(super) struct Brotli {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    /// The buffer that one step writes to.
    buffer: Box<[u8]>,
    output: Vec<u8>,
    total: usize,
    finished: bool,
}

impl Brotli {
    pub(super) fn new() -> Self {
        let alloc = StandardAlloc::default;
        Self {
            state: BrotliState::new_strict(alloc(), alloc(), alloc()),
            buffer: vec![0; STEP_OUTPUT].into_boxed_slice(),
            output: Vec::new(),
            total: 0,
            finished: false,
        }
    }
}

impl Decoder for Brotli {
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

    fn finish(&mut self) -> io::Result<()> {
        if self.finished { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }
}
