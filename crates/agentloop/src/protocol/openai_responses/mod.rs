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
pub(crate) mod models;
mod passages;
pub mod serve;
mod sound;
mod stream;
mod thoughts;
mod usage;
mod whole;
mod wire;

pub(crate) use decode::Decoder;
