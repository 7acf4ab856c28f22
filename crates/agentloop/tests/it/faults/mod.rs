//! Faults through real sockets: what each does to a chat, a stream, an embedding and a run of an agent, in every protocol.
//!
//! The tables are in [`table`]. For each line and each call: the kind of error, whether it is tried again, and that
//! nothing is left behind.

mod calls;
mod http1;
mod http2;
mod large;
mod leaks;
pub(crate) mod server;
mod table;
use crate::transport::support::tls;
