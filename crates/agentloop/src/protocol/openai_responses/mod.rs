//! OpenAI's responses, and everyone who speaks them.

mod calls;
pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod heard;
mod hosted;
mod item;
mod items;
mod message;
pub(crate) mod models;
mod params;
mod parts;
mod passages;
mod places;
mod replay;
mod results;
#[cfg(feature = "serve")]
pub(in crate::protocol) mod serve;
mod sound;
mod stream;
mod thinking;
mod thoughts;
mod tools;
mod usage;
mod whole;
mod wire;

pub(crate) use decode::Decoder;
pub(in crate::protocol) use params::place;
pub(crate) use replay::is_item;
