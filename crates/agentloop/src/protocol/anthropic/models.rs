//! The list of models.

use crate::error::{Error, ErrorKind, Result};
use crate::protocol::{Encoded, ModelPage};
use crate::provider::Provider;

/// The call.
pub(crate) fn encode(_: &Provider, _: Option<&str>) -> Result<Encoded> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}

/// A page of the list.
pub(crate) fn decode(_: &Provider, _: &[u8]) -> Result<ModelPage> {
    Err(Error::new(ErrorKind::Unsupported, "not spoken yet"))
}
