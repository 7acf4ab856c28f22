//! Keeps vectors together that can be compared: those of one model, with one length.

use std::path::Path;

use crate::failure::Failure;

/// The model and the length of all vectors of an output.
#[derive(Debug)]
pub(super) struct Space {
    /// The model that is requested.
    requested: String,
    /// The length that is requested.
    wanted: Option<usize>,
    /// The model that made the vectors so far, as its provider names it, and their length.
    known: Option<(String, usize)>,
}

impl Space {
    pub(super) fn new(requested: &str, dimensions: Option<u32>) -> Self {
        let wanted = dimensions.and_then(|dimensions| usize::try_from(dimensions).ok());
        Self { requested: requested.to_owned(), wanted, known: None }
    }

    /// Adds a vector of an earlier process.
    pub(super) fn continue_from(
        &mut self,
        requested: &str,
        model: &str,
        dimensions: usize,
        path: &Path,
    ) -> Result<(), Failure> {
        const HINT: &str =
            "use the same model and --dimensions, or choose another name for --output";
        let path = path.display();
        if !is_same_model(requested, &self.requested) {
            let message = format!(
                "{path} has vectors of {requested}, which cannot be compared with those of {}",
                self.requested
            );
            return Err(Failure::input_with_hint(message, HINT));
        }
        if let Some(wanted) = self.wanted.filter(|wanted| *wanted != dimensions) {
            let message = format!("{path} has vectors of {dimensions} numbers, not {wanted}");
            return Err(Failure::input_with_hint(message, HINT));
        }
        self.add(model, dimensions)
            .map_err(|why| Failure::input_with_hint(format!("{path}: {why}"), HINT))
    }

    /// Adds a vector, and returns what is wrong if it cannot be compared with those before.
    pub(super) fn add(&mut self, model: &str, dimensions: usize) -> Result<(), String> {
        let Some((before, length)) = &self.known else {
            self.known = Some((model.to_owned(), dimensions));
            return Ok(());
        };
        if !is_same_model(before, model) {
            return Err(format!(
                "a vector of {model} cannot be compared with the earlier ones of {before}"
            ));
        }
        if *length != dimensions {
            return Err(format!(
                "{model} returned a vector of {dimensions} numbers, but the earlier ones have {length}"
            ));
        }
        Ok(())
    }
}

/// Returns whether two names, with their providers, mean the same model: `openai/text-embedding-3-small` is also
/// `openrouter/openai/text-embedding-3-small`.
fn is_same_model(one: &str, other: &str) -> bool {
    let name = |model: &str| model.rsplit('/').next().unwrap_or_default().to_ascii_lowercase();
    name(one) == name(other)
}
