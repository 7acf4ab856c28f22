//! The HTTP transport against servers on this machine.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a server or a helper that fails is a failed test"
)]

mod compression;
mod connecting;
mod environment;
mod http1;
mod http2;
mod proxies;
mod redirects;
mod support;
mod trust;
