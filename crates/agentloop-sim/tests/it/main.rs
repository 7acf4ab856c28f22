//! The simulator, seen from outside: through a client in process, and over a socket.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what the tests share fails the test that calls it"
)]

mod behaviours;
mod common;
mod faults;
mod model;
mod rows;
mod script;
mod server;
