//! OpenAI's chat completions, and everyone who speaks them.

pub(in crate::protocol) mod annotations;
mod choice;
mod content;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod executed;
mod image_output;
mod message;
pub(crate) mod models;
mod params;
pub(super) mod parts;
#[cfg(feature = "serve")]
pub(in crate::protocol) mod serve;
mod stream;
pub(super) mod thinking;
pub(in crate::protocol) mod tools;
mod unknown_calls;
pub(in crate::protocol) mod usage;
mod wire;

pub(crate) use decode::Decoder;
pub(in crate::protocol) use params::place;
