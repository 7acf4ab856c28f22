//! OpenAI's responses, and everyone who speaks them.

pub(crate) mod count;
pub(crate) mod decode;
pub(crate) mod embed;
pub(crate) mod encode;
pub(crate) mod error;
mod message;
pub(crate) mod models;
mod parts;
mod replay;
mod results;
pub mod serve;
mod stream;
mod thinking;
mod tools;

pub(crate) use decode::Decoder;
pub(crate) use replay::is_item;
