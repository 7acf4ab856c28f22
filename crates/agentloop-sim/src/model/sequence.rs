//! Responses in the order of the requests.

use std::sync::Mutex;

use agentloop::internal::lock;
use agentloop::{Error, ErrorKind, Result};

use crate::script::Turn;

/// Responses that are returned one after the other.
#[derive(Debug)]
pub(super) struct Sequence {
    turns: Vec<Turn>,
    next: Mutex<usize>,
}

impl Sequence {
    pub(super) fn new(turns: Vec<Turn>) -> Self {
        Self { turns, next: Mutex::new(0) }
    }

    /// Returns the next response. If `is_kept` returns true, the response is returned again for the next request.
    pub(super) fn next(&self, is_kept: impl FnOnce(&Turn) -> bool) -> Result<Turn> {
        let mut next = lock(&self.next);
        let count = self.turns.len();
        let turn = self.turns.get(*next).ok_or_else(|| exhausted(count, *next))?;
        if !is_kept(turn) {
            *next += 1;
        }
        Ok(turn.clone())
    }
}

/// Creates the error for a request after the last scripted response.
pub(super) fn exhausted(count: usize, next: usize) -> Error {
    let message = format!("the script has {count} turns, but turn {} is requested", next + 1);
    Error::new(ErrorKind::InvalidRequest, message).with_status(400).with_code("script_exhausted")
}
