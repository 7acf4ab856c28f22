//! The other side of the wire: reads requests and writes answers, as a server of this protocol does.

mod request;
mod response;

pub use request::{read_chat, read_embed, route};
pub use response::{StreamWriter, write_body, write_count, write_error, write_models};
