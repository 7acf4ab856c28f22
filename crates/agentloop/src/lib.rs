//! One interface to every LLM provider.

mod client;
mod config;
mod error;
mod event;
mod framing;
pub mod inspect;
pub mod limits;
pub mod middleware;
mod model_info;
pub mod protocol;
pub mod provider;
mod request;
mod response;
mod secret;
mod stream;
mod timeouts;
pub mod transport;

pub use client::{AgentLoop, AgentLoopBuilder, Target};
pub use config::Config;
pub use error::{Error, ErrorKind, Result};
pub use event::{ChatStreamEvent, PartDelta, PartStart};
pub use model_info::ModelInfo;
pub use protocol::Protocol;
pub use provider::Provider;
pub use request::*;
pub use response::*;
pub use secret::Secret;
pub use stream::ChatStream;
pub use timeouts::Timeouts;
pub use transport::BoxFuture;
