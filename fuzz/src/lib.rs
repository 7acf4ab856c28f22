//! Any bytes at all, against everything that reads bytes.
//!
//! A [`Target`] takes an input and panics when a law does not hold. The same targets are driven by a runner of our own, which
//! needs nothing but this crate and repeats itself exactly (`tests/smoke.rs`, and the command of this crate), and by libFuzzer
//! (`fuzz/run`), which sees which code an input reaches.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a law that does not hold ends the run"
)]

pub mod hostile;
mod mutate;
mod rng;
mod seeds;
mod targets;
mod tree;

pub use mutate::Mutator;
pub use rng::Rng;
pub use targets::{TARGETS, Target};
