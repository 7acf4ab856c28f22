//! Calls keep within what an account allows, however they are made and however they end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test that fails, fails"
)]

mod concurrency;
mod config;
mod host;
mod pause;
mod rates;
mod redis;
mod schedules;
mod shared;
mod tokens;
mod waiting;
