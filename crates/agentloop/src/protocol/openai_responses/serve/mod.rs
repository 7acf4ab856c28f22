//! Reads requests and writes responses as a server of this protocol does.

mod request;
mod response;
mod stream;

pub(in crate::protocol) use crate::protocol::openai_chat::serve::{
    read_embed, write_error, write_models,
};

pub(in crate::protocol) use request::{read_chat, route};
pub(in crate::protocol) use response::{write_body, write_count};
pub(in crate::protocol) use stream::StreamWriter;
