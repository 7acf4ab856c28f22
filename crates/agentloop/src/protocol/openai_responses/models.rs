//! The list of models, which is the chat protocol's.

pub(crate) use crate::protocol::openai_chat::models::{decode, encode};
