//! The agent loop, rule by rule: every protocol, whole and streamed, against the simulator over real HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that fails, fails"
)]

mod approval;
mod broken;
mod cancel;
mod choice;
mod clock;
mod document;
mod events;
mod external;
mod hooks;
mod lab;
mod laws;
mod limits;
mod media;
mod order;
mod repair;
mod reviews;
mod structured;
mod sums;
mod told;
mod waiting;
