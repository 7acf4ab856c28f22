//! Where log entries go, beside `tracing`.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use super::entry::LogEntry;

use crate::lock::lock;

/// Receives the entry of every call.
#[derive(Clone, Default)]
pub(super) enum Sink {
    /// Standard error, as one line of JSON, if the process has no `tracing` subscriber.
    #[default]
    Unheard,
    /// A function of the caller.
    Function(Arc<dyn Fn(&LogEntry) + Send + Sync>),
    /// A writer of the caller, which gets one line of JSON.
    Writer(Arc<Mutex<dyn Write + Send>>),
}

impl Sink {
    /// Returns whether it needs the entry.
    pub(super) fn is_used(&self) -> bool {
        match self {
            // A subscriber that filters these events out does so on purpose.
            Self::Unheard => !tracing::dispatcher::has_been_set(),
            Self::Function(_) | Self::Writer(_) => true,
        }
    }

    /// Passes the entry to the sink. An entry that cannot be written is dropped: a log does not fail a call.
    pub(super) fn write(&self, entry: &LogEntry) {
        match self {
            Self::Unheard if self.is_used() => drop(write_line(&mut io::stderr(), entry)),
            Self::Unheard => {}
            Self::Function(function) => function(entry),
            Self::Writer(writer) => {
                let mut writer = lock(writer);
                drop(write_line(&mut *writer, entry));
            }
        }
    }
}

/// Writes the entry and its line break at once, so that lines of several processes do not mix in one file.
fn write_line(writer: &mut dyn Write, entry: &LogEntry) -> io::Result<()> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    writer.write_all(&line)?;
    writer.flush()
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unheard => "tracing or stderr",
            Self::Function(_) => "function",
            Self::Writer(_) => "writer",
        })
    }
}
