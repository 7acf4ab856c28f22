//! What OpenAI's two protocols share.

pub(super) mod citations;
pub(super) mod embed;
pub(super) mod encode;
pub(super) mod images;
pub(super) mod logprobs;
pub(super) mod models;
pub(super) mod parts;
#[cfg(feature = "serve")]
pub(super) mod serve;
pub(super) mod tools;
