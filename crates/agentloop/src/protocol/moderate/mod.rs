//! Checks content for harm: one form for all providers.

mod conversation;
mod read;
mod write;

pub(super) use read::decode;
pub(super) use write::encode;
