//! The models that did not respond.

use crate::chat::{Warning, WarningKind};
use crate::error::{Error, ErrorKind};
use crate::limits::MAX_FALLBACKS;
use crate::middleware::settle::one_line;

/// The models that were tried or skipped, in order.
#[derive(Debug, Default)]
pub(super) struct Tried {
    failed: Vec<(String, Error)>,
    /// How many models of the list are not used, because there are too many.
    left_out: usize,
}

impl Tried {
    pub(super) fn new(left_out: usize) -> Self {
        Self { failed: Vec::new(), left_out }
    }

    pub(super) fn add(&mut self, model: &str, error: Error) {
        self.failed.push((model.to_owned(), error));
    }

    /// Returns a warning for each of them, and then `more`.
    pub(super) fn warnings(&self, more: Vec<Warning>) -> Vec<Warning> {
        let failed = self.failed.iter().map(|(model, error)| {
            let message = format!("{model} did not respond: {}", one_line(error));
            Warning::new(WarningKind::Fallback, model, message)
        });
        let mut all: Vec<Warning> = failed.chain(more).collect();
        if self.left_out > 0 {
            let message = format!("only the first {MAX_FALLBACKS} models are used");
            all.push(Warning::new(WarningKind::Dropped, "fallbacks", message));
        }
        all
    }

    /// Returns the error after which no other model is tried, with the earlier ones as its causes.
    pub(super) fn ended_by(self, error: Error) -> Error {
        if self.failed.is_empty() || !error.causes().is_empty() {
            return error;
        }
        error.with_causes(self.failed.into_iter().map(|(_, error)| error).collect())
    }

    /// Returns one error for all models, or the error itself if there is only one.
    pub(super) fn all_failed(mut self) -> Error {
        match self.failed.len() {
            0 => return Error::new(ErrorKind::MissingModel, "the request names no model"),
            1 => {
                let (_, error) = self.failed.remove(0);
                return error;
            }
            _ => {}
        }
        let errors: Vec<Error> = self.failed.into_iter().map(|(_, error)| error).collect();
        let retryable = errors.iter().any(Error::is_retryable);
        let wait = errors.iter().filter(|e| e.is_retryable()).filter_map(Error::retry_after).min();
        let hint = errors.iter().find_map(|error| error.hint().map(str::to_owned));
        let more = match self.left_out {
            0 => String::new(),
            more => format!(", and {more} more are not used"),
        };
        let message = format!("none of {} models responded{more}", errors.len());
        let error = Error::new(ErrorKind::AllFailed, message)
            .with_retryable(retryable)
            .with_retry_after(wait)
            .with_causes(errors);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
