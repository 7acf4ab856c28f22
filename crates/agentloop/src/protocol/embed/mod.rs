//! Vectors in every known form, whichever protocol they were asked for in.

mod purpose;
mod read;
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

/// The vectors of one call, as they came.
#[derive(Debug, Default)]
pub(crate) struct Embedded {
    pub(crate) model: Option<String>,
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) usage: Option<EmbedUsage>,
    pub(crate) cost: ReportedCost,
}
