//! The simulator through a client in process, and over HTTP.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a panic in a helper fails the test")]

mod behaviours;
mod common;
mod faults;
mod model;
mod providers;
mod recording;
mod requests;
mod scripts;
mod server;
