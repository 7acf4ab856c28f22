//! Laws over generated input.

mod anthropic;
mod bytes;
mod calls;
mod encoding;
mod folding;
mod gemini;
mod media;
mod mutation;
mod responses;
