//! Laws over generated input.

#[path = "../support/mod.rs"]
mod support;

mod bytes;
mod calls;
mod encoding;
mod folding;
