//! Embeddings, which hosts of this protocol serve as the chat protocol does.

pub(crate) use crate::protocol::openai_chat::embed::encode;
