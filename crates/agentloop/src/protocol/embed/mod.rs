//! Reads vectors in every known form, in any protocol.

mod purpose;
mod read;
#[cfg(any(feature = "bedrock", feature = "cohere"))]
pub(super) mod typed;
mod vector;
#[cfg(feature = "serve")]
mod write;

pub(crate) use purpose::{purpose_in_capitals, purpose_word};
pub(crate) use read::decode;
#[cfg(feature = "serve")]
pub use write::VectorForm;
#[cfg(feature = "serve")]
pub(crate) use write::write;

use super::ReportedCost;
use crate::chat::EmbedUsage;
use crate::error::{Error, ErrorKind, Result};

/// The vectors of one call, as the provider sent them.
#[derive(Debug, Default)]
pub(crate) struct Embedded {
    pub(crate) model: Option<String>,
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) usage: Option<EmbedUsage>,
    pub(crate) cost: ReportedCost,
}

/// Checks that all vectors have the same length: others cannot be compared.
pub(crate) fn check_lengths(vectors: &[Vec<f32>]) -> Result<()> {
    let Some(first) = vectors.first().map(Vec::len) else {
        return Ok(());
    };
    match vectors.iter().position(|vector| vector.len() != first) {
        None => Ok(()),
        Some(at) => Err(Error::new(
            ErrorKind::Protocol,
            format!(
                "the vectors have different lengths: the first has {first} numbers, embeddings[{at}] has {}",
                vectors.get(at).map_or(0, Vec::len)
            ),
        )),
    }
}
