//! How many tokens a request has.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Encoded;
use crate::protocol::output::Shaped;
use crate::provider::Provider;

/// The call.
pub(crate) fn encode(_: &Provider, _: &str, _: &Shaped<'_>) -> Result<Option<Encoded>> {
    Ok(None)
}

/// The number.
pub(crate) fn decode(_: &Provider, _: &[u8]) -> Result<u64> {
    Err(Error::new(ErrorKind::Unsupported, "no such call"))
}
