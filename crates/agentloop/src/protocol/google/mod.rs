//! What Google's two protocols share: errors, instructions, the list of models, media, levels of thinking, and how arguments and schemas are written.

pub(super) mod arguments;
pub(super) mod error;
pub(super) mod instructions;
pub(super) mod media;
pub(super) mod models;
pub(super) mod offsets;
#[cfg(feature = "serve")]
pub(super) mod serve;
pub(super) mod thinking;
pub(super) mod tools;
