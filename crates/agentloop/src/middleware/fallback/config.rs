//! `[fallback]` of `agentloop.toml`.

use serde::Deserialize;

use super::{Cooldown, Fallback};
use crate::error::Result;
use crate::middleware::seconds::duration;

/// The table as it is in the file. Times are in seconds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct FallbackTable {
    /// The models that are called one after the other. Required.
    models: Vec<String>,
    /// How long a model that keeps failing is skipped, in seconds; 0 disables it. Default: 30.
    cooldown: Option<f64>,
    /// After how many failures in a row it is skipped. Default: 3.
    cooldown_after: Option<u32>,
    /// One failure that asks for at least this wait is enough, in seconds. Default: 10.
    cooldown_min_retry_after: Option<f64>,
}

impl FallbackTable {
    pub(crate) fn fallback(self) -> Result<Fallback> {
        let mut cooldown = Cooldown::new();
        if let Some(failures) = self.cooldown_after {
            cooldown = cooldown.after(failures);
        }
        if let Some(seconds) = self.cooldown_min_retry_after {
            cooldown =
                cooldown.min_retry_after(duration("fallback.cooldown_min_retry_after", seconds)?);
        }
        match self.cooldown {
            Some(0.0) => cooldown = Cooldown::never(),
            Some(seconds) => {
                cooldown = cooldown.lasting(duration("fallback.cooldown", seconds)?);
            }
            None => {}
        }
        Ok(Fallback::new(self.models).cooldown(cooldown))
    }
}
