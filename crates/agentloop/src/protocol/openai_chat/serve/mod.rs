//! The other side of the wire: reads requests and writes answers, as a server of this protocol does.
//!
//! The simulator speaks through this, and so can any server that offers models under the same protocol.

mod request;
mod response;

pub use request::{ServedChat, ServedEmbed, read_chat, read_embed, route};
pub use response::{StreamWriter, write_body, write_error, write_models};
