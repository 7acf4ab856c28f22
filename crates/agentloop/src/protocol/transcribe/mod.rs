//! Transcripts: OpenAI's form and its variants.

mod read;
mod write;

pub(super) use read::{Wire, decode};
pub(super) use write::encode;
