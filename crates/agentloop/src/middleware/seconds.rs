//! Reads times of `agentloop.toml`.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::timeouts;

/// Converts a number of seconds. The error names the key.
pub(super) fn duration(key: &str, seconds: f64) -> Result<Duration> {
    timeouts::seconds(seconds)
        .map_err(|error| Error::new(ErrorKind::Config, format!("{key}: {error}")))
}
