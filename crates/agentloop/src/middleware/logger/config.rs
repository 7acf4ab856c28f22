//! `[log]` of `agentloop.toml`.

use serde::Deserialize;

use super::Logger;

/// The table as it is in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogTable {
    /// Whether prompts and responses are written too. Default: false.
    content: bool,
}

impl LogTable {
    pub(crate) fn logger(&self) -> Logger {
        let logger = Logger::new();
        if self.content { logger.with_content() } else { logger }
    }
}
