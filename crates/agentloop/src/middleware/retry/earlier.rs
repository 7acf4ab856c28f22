//! The tries that failed, and how their call ends.

use std::time::Duration;

use crate::chat::{Warning, WarningKind};
use crate::error::Error;
use crate::limits::MAX_CAUSES;
use crate::middleware::settle::in_a_line;

/// The errors of the tries before, oldest first; the latest are kept.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    errors: Vec<Error>,
    /// The model that was asked, as `provider/model`.
    model: String,
}

/// Why no further try is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// It would not help, or there have been enough.
    Enough,
    /// The provider asks for a longer wait than anyone has patience for.
    Asks { asked: Duration, most: Duration },
    /// The time for all tries would be over.
    Late(Duration),
    /// All calls together have retried too much.
    Spent,
}

impl Earlier {
    pub(super) fn add(&mut self, model: String, error: Error) {
        if self.errors.len() == MAX_CAUSES {
            self.errors.remove(0);
        }
        self.errors.push(error);
        self.model = model;
    }

    /// What the answer of this try, counted from 1, says of those before it.
    pub(super) fn told(&self, attempt: u32) -> Vec<Warning> {
        if self.errors.is_empty() {
            return Vec::new();
        }
        let reasons: Vec<String> = self.errors.iter().map(in_a_line).collect();
        let message =
            format!("{} answered at try {attempt}, after {}", self.model, reasons.join("; "));
        vec![Warning::new(WarningKind::Retried, &self.model, message)]
    }

    /// The error that the call fails with.
    pub(super) fn end(self, error: Error, stop: Stop) -> Error {
        let error = match stop.hint() {
            Some(hint) => error.with_hint(hint),
            None => error,
        };
        // An error of several models holds theirs already.
        if self.errors.is_empty() || !error.causes().is_empty() {
            return error;
        }
        error.with_causes(self.errors)
    }
}

impl Stop {
    fn hint(self) -> Option<String> {
        let seconds = |time: Duration| time.as_secs_f64();
        Some(match self {
            Self::Enough => return None,
            Self::Asks { asked, most } => format!(
                "the provider asks to wait {} s; a retry waits at most {} s",
                seconds(asked),
                seconds(most)
            ),
            Self::Late(total) => {
                format!("no retry begins later than {} s after the call", seconds(total))
            }
            Self::Spent => "too many calls fail: their budget of retries is spent".to_owned(),
        })
    }
}
