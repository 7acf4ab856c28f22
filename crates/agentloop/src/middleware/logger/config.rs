//! `[log]` of `agentloop.toml`.

use serde::Deserialize;

use super::Logger;

/// The table, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogTable {
    /// Whether what is said is written, too.
    content: bool,
}

impl LogTable {
    pub(crate) fn logger(&self) -> Logger {
        let logger = Logger::new();
        if self.content { logger.with_content() } else { logger }
    }
}
