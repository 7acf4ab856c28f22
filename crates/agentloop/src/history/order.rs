//! Puts messages into an order that the provider accepts.

use std::borrow::Cow;

use super::Entry;
use crate::chat::{ChatMessage, Role, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};

/// The message of the assistant that is inserted between the result of a tool and the next message.
const BETWEEN: &str = "OK.";

/// Inserts a message of the assistant wherever a message of another role follows the result of a tool.
///
/// # Errors
///
/// Fails in strict mode if such a message is needed.
pub(super) fn separate<'a>(
    entries: Vec<Entry<'a>>,
    reason: &str,
    strict: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Entry<'a>>> {
    let breaks = |before: &Entry<'_>, after: &Entry<'_>| {
        before.message.role == Role::Tool
            && !matches!(after.message.role, Role::Tool | Role::Assistant)
    };
    if !entries.windows(2).any(|pair| breaks(&pair[0], &pair[1])) {
        return Ok(entries);
    }
    let mut separated: Vec<Entry<'a>> = Vec::with_capacity(entries.len() + 1);
    for entry in entries {
        if let Some(before) = separated.last()
            && breaks(before, &entry)
        {
            let subject = format!("messages[{}]", entry.at);
            if strict {
                return Err(Error::new(ErrorKind::Unsupported, format!("{subject}: {reason}"))
                    .with_hint("add a message of the assistant before it, or unset `strict`"));
            }
            let message = format!("{subject}: {reason}; a message of the assistant is inserted");
            warnings.push(Warning::new(WarningKind::Repaired, subject, message));
            let message = Cow::Owned(ChatMessage::assistant(BETWEEN));
            separated.push(Entry { at: entry.at, message });
        }
        separated.push(entry);
    }
    Ok(separated)
}

/// Warns about ids that are longer than the provider accepts. They are replaced with the others.
pub(super) fn warn_of_long_ids(
    entries: &[Entry<'_>],
    most: usize,
    reason: &str,
    warnings: &mut Vec<Warning>,
) {
    for entry in entries {
        if entry.calls().any(|call| call.id.len() > most) {
            let subject = format!("messages[{}].tool_calls", entry.at);
            let message = format!("{subject}: {reason}; longer ids are shortened");
            warnings.push(Warning::new(WarningKind::Renamed, subject, message));
        }
    }
}
