//! One interface to every LLM provider.

mod error;
mod event;
pub mod limits;
mod request;
mod response;
mod timeouts;
pub mod transport;

pub use error::{Error, ErrorKind, Result};
pub use event::{ChatStreamEvent, PartDelta, PartStart};
pub use request::*;
pub use response::*;
pub use timeouts::Timeouts;
