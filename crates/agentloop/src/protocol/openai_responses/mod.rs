//! OpenAI's responses, and everyone who speaks them.

pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
pub(crate) mod models;
pub mod serve;
mod stream;

pub(crate) use decode::Decoder;
