//! Reads requests and writes responses as a server of this protocol does.

mod request;
mod response;

pub(in crate::protocol) use request::{read_chat, read_embed, route};
pub(in crate::protocol) use response::{
    StreamWriter, write_body, write_count, write_error, write_models,
};
