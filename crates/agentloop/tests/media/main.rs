//! Media in and media out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails"
)]

mod constructors;
mod downloads;
mod forms;
mod guard;
mod output;
mod saving;
mod server;
