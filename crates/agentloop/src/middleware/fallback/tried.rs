//! What came of the models that did not answer.

use crate::error::{Error, ErrorKind};
use crate::middleware::settle::in_a_line;
use crate::response::{Warning, WarningKind};

/// The models that were tried or passed over, in order.
#[derive(Debug, Default)]
pub(super) struct Tried(Vec<(String, Error)>);

impl Tried {
    pub(super) fn add(&mut self, model: &str, error: Error) {
        self.0.push((model.to_owned(), error));
    }

    /// One for each of them.
    pub(super) fn warnings(&self) -> Vec<Warning> {
        self.0
            .iter()
            .map(|(model, error)| {
                let message = format!("{model} did not answer: {}", in_a_line(error));
                Warning::new(WarningKind::Fallback, model, message)
            })
            .collect()
    }

    /// The error of a call after which no other model is tried: its own, which those before it stand behind.
    pub(super) fn ended_by(self, error: Error) -> Error {
        if self.0.is_empty() || !error.causes().is_empty() {
            return error;
        }
        error.with_causes(self.0.into_iter().map(|(_, error)| error).collect())
    }

    /// The one error of all; of a single one it is its own.
    pub(super) fn all_failed(mut self) -> Error {
        match self.0.len() {
            0 => return Error::new(ErrorKind::MissingModel, "there is no model to ask"),
            1 => {
                let (_, error) = self.0.remove(0);
                return error;
            }
            _ => {}
        }
        let errors: Vec<Error> = self.0.into_iter().map(|(_, error)| error).collect();
        let retryable = errors.iter().any(Error::is_retryable);
        let wait = errors.iter().filter(|e| e.is_retryable()).filter_map(Error::retry_after).min();
        let hint = errors.iter().find_map(|error| error.hint().map(str::to_owned));
        let error =
            Error::new(ErrorKind::AllFailed, format!("none of {} models answered", errors.len()))
                .with_retryable(retryable)
                .with_retry_after(wait)
                .with_causes(errors);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}
