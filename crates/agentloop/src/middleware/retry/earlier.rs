//! The failed attempts of a call, and the error that it ends with.

use std::time::Duration;

use crate::chat::{Warning, WarningKind};
use crate::error::Error;
use crate::limits::MAX_CAUSES;
use crate::middleware::settle::one_line;

/// The errors of the earlier attempts, oldest first. The latest are kept.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    errors: Vec<Error>,
    /// The model, as `provider/model`.
    model: String,
}

/// Why there is no further attempt.
#[derive(Clone, Copy, Debug)]
pub(super) enum Stop {
    /// The error is not retryable, or there were enough attempts.
    Enough,
    /// The provider asks for a longer wait than allowed.
    Asks { asked: Duration, most: Duration },
    /// The time for all attempts would be over.
    Late(Duration),
    /// The budget of all calls is used up.
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

    /// Returns the warning of the response to this attempt, counted from 1, about the earlier ones.
    pub(super) fn warnings(&self, attempt: u32) -> Vec<Warning> {
        if self.errors.is_empty() {
            return Vec::new();
        }
        let reasons: Vec<String> = self.errors.iter().map(one_line).collect();
        let message =
            format!("{} responded at attempt {attempt}, after {}", self.model, reasons.join("; "));
        vec![Warning::new(WarningKind::Retried, &self.model, message)]
    }

    /// Returns the error that the call fails with.
    pub(super) fn end(self, error: Error, stop: Stop) -> Error {
        let error = match stop.hint() {
            Some(hint) => error.with_hint(hint),
            None => error,
        };
        // An error of several models has the errors of all of them already.
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
            Self::Spent => "too many calls fail: their retry budget is used up".to_owned(),
        })
    }
}
