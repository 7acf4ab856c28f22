//! Tests of the gateway over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod access;
mod admin;
mod cache;
mod common;
mod faults;
mod hostile;
mod laws;
mod ledger;
#[cfg(all(feature = "postgres", feature = "redis"))]
mod limits;
mod money;
#[cfg(feature = "postgres")]
mod nodes;
mod recordings;
mod relay;
mod responses;
mod routes;
mod server;
mod state;
mod tasks;

#[path = "../servers/mod.rs"]
mod servers;
