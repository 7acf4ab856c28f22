//! Request → the body that the host takes.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::protocol::output::Shaped;
use crate::provider::Provider;

/// The chat call.
pub(crate) fn chat(_: &Provider, _: &str, _: &Shaped<'_>, _: bool) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "requests of this protocol are not written yet"))
}
