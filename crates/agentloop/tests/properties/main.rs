//! Laws over generated input.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails"
)]

#[path = "../support/mod.rs"]
mod support;

mod anthropic;
mod bytes;
mod calls;
mod encoding;
mod folding;
mod gemini;
mod media;
mod mutation;
mod responses;
