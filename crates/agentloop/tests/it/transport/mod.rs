//! The HTTP transport against servers on this machine.

mod compression;
mod connecting;
mod environment;
mod http1;
mod http2;
mod proxies;
mod redirects;
pub(crate) mod support;
mod trust;
