//! Puts messages into an order that the model takes.

use std::borrow::Cow;

use super::Turn;
use crate::chat::{ChatMessage, Role, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};

/// What the assistant says between the result of a tool and the next message, where it must say something.
const BETWEEN: &str = "OK.";

/// Inserts a message of the assistant wherever another than it speaks after the result of a tool.
///
/// # Errors
///
/// In strict mode, when there is such a place.
pub(super) fn separate<'a>(
    turns: Vec<Turn<'a>>,
    reason: &str,
    strict: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Turn<'a>>> {
    let breaks = |before: &Turn<'_>, after: &Turn<'_>| {
        before.message.role == Role::Tool
            && !matches!(after.message.role, Role::Tool | Role::Assistant)
    };
    if !turns.windows(2).any(|pair| breaks(&pair[0], &pair[1])) {
        return Ok(turns);
    }
    let mut separated: Vec<Turn<'a>> = Vec::with_capacity(turns.len() + 1);
    for turn in turns {
        if let Some(before) = separated.last()
            && breaks(before, &turn)
        {
            let subject = format!("messages[{}]", turn.at);
            if strict {
                return Err(Error::new(ErrorKind::Unsupported, format!("{subject}: {reason}"))
                    .with_hint(
                        "add a message of the assistant before it, or leave `strict` unset",
                    ));
            }
            let message = format!("{subject}: {reason}; a message of the assistant is inserted");
            warnings.push(Warning::new(WarningKind::Repaired, subject, message));
            let message = Cow::Owned(ChatMessage::assistant(BETWEEN));
            separated.push(Turn { at: turn.at, message });
        }
        separated.push(turn);
    }
    Ok(separated)
}

/// Warns of ids that are longer than the target takes. They are mapped with the others.
pub(super) fn warn_of_long_ids(
    turns: &[Turn<'_>],
    most: usize,
    reason: &str,
    warnings: &mut Vec<Warning>,
) {
    for turn in turns {
        if turn.calls().any(|call| call.id.len() > most) {
            let subject = format!("messages[{}].tool_calls", turn.at);
            let message = format!("{subject}: {reason}; longer ones are sent shortened");
            warnings.push(Warning::new(WarningKind::Renamed, subject, message));
        }
    }
}
