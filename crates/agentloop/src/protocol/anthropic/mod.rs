//! Anthropic's messages, and everyone who speaks them.

mod beta;
mod block;
mod citations;
pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod markers;
mod message;
pub(crate) mod models;
mod params;
mod parts;
mod results;
#[cfg(feature = "serve")]
pub(in crate::protocol) mod serve;
mod stream;
mod thinking;
mod tools;
mod usage;
mod wire;

pub(crate) use decode::Decoder;
pub(in crate::protocol) use params::place;
pub(crate) use tools::may_force;
