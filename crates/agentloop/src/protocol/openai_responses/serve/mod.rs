//! The other side of the wire: reads requests and writes answers, as a server of this protocol does.

mod request;
mod response;
mod stream;

pub use crate::protocol::openai_chat::serve::{read_embed, write_error, write_models};

pub use request::{read_chat, route};
pub use response::{write_body, write_count};
pub use stream::StreamWriter;
