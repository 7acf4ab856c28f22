//! Reads requests and writes responses as a server of this protocol does.

mod request;
mod response;
mod stream;

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::serve::ServedEmbed;

pub(in crate::protocol) use request::{read_chat, route};
pub(in crate::protocol) use response::{write_body, write_count, write_error, write_models};
pub(in crate::protocol) use stream::StreamWriter;

/// Reads an embeddings request.
///
/// # Errors
///
/// Always: this protocol has none.
pub(in crate::protocol) fn read_embed(_: &str, _: &[u8]) -> Result<ServedEmbed> {
    let message = "this protocol has no embeddings";
    Err(Error::new(ErrorKind::Unsupported, message).with_status(404))
}
