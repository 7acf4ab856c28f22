//! Times as `agentloop.toml` writes them.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::timeouts;

/// A number of seconds; the error names the key.
pub(super) fn duration(key: &str, seconds: f64) -> Result<Duration> {
    timeouts::seconds(seconds)
        .map_err(|error| Error::new(ErrorKind::Config, format!("{key}: {error}")))
}
