//! Sends HTTP requests. All I/O of the library happens here.
//!
//! [`Transport`] is a small trait, so a test or a program can replace it: with a recorder, a simulated provider, or an HTTP client of its
//! own. [`HttpTransport`] is the default.

mod http;

pub use self::http::{HttpTransport, HttpTransportBuilder};
pub use crate::provider::body::Body;
pub use crate::provider::transport::{BoxFuture, SendOptions, Transport};
