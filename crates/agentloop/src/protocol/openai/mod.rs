//! What OpenAI's two protocols share.

pub(super) mod citations;
pub(super) mod embed;
pub(super) mod images;
pub(super) mod logprobs;
pub(super) mod models;
#[cfg(feature = "serve")]
pub(super) mod serve;
