//! Laws over generated input.

mod anthropic;
mod bytes;
mod calls;
mod encoding;
mod folding;
mod gemini;
mod media;
pub(crate) mod mutation;
mod responses;
