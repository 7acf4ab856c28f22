//! Moves media out of the results of tools, for providers that take only text there.

use std::borrow::Cow;

use super::Entry;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role, Warning, WarningKind};
use crate::protocol::Shown;

/// How a provider takes the parts of tool results.
pub(crate) type Shows<'a> = &'a dyn Fn(&ContentPart) -> Shown;

/// Moves media that the provider does not take in results into a message of the user after the results of their round.
/// Media that it takes nowhere become a text. This is not an error: a tool returns media during a run, when the caller
/// cannot change the request any more.
pub(super) fn place<'a>(
    entries: Vec<Entry<'a>>,
    shows: Shows<'_>,
    warnings: &mut Vec<Warning>,
) -> Vec<Entry<'a>> {
    let elsewhere = |part: &ContentPart| part.is_medium() && shows(part) != Shown::InResult;
    let of_tool = |entry: &Entry<'_>| entry.message.role == Role::Tool;
    if !entries.iter().any(|entry| of_tool(entry) && entry.message.parts().iter().any(elsewhere)) {
        return entries;
    }
    let mut placed = Vec::with_capacity(entries.len() + 1);
    // The media of the results of the round, and the position of the last result.
    let mut shown: Vec<ContentPart> = Vec::new();
    let mut last = 0;
    for mut entry in entries {
        if !of_tool(&entry) {
            flush(&mut shown, last, &mut placed);
        } else if entry.message.parts().iter().any(elsewhere) {
            last = entry.at;
            split(&mut entry, shows, &mut shown, warnings);
        }
        placed.push(entry);
    }
    flush(&mut shown, last, &mut placed);
    placed
}

fn flush<'a>(shown: &mut Vec<ContentPart>, at: usize, entries: &mut Vec<Entry<'a>>) {
    if !shown.is_empty() {
        let message = Cow::Owned(ChatMessage::user(std::mem::take(shown)));
        entries.push(Entry { at, message });
    }
}

fn split(
    entry: &mut Entry<'_>,
    shows: Shows<'_>,
    shown: &mut Vec<ContentPart>,
    warnings: &mut Vec<Warning>,
) {
    let at = entry.at;
    let tool = entry.message.name.clone();
    let Some(MessageContent::Parts(parts)) = &mut entry.message.to_mut().content else { return };
    for (part_at, part) in parts.iter_mut().enumerate() {
        let place = if part.is_medium() { shows(part) } else { Shown::InResult };
        let subject = format!("messages[{at}].content[{part_at}]");
        let kind = part.kind();
        match place {
            Shown::InResult => {}
            Shown::InMessage => {
                let number = shown.len() / 2 + 1;
                let whose = tool.as_ref().map_or(String::new(), |tool| format!(" of `{tool}`"));
                let note = ContentPart::text(format!("[{number}: see the next message]"));
                let medium = std::mem::replace(part, note);
                shown.push(ContentPart::text(format!("[{number}: from the result{whose}]")));
                shown.push(medium);
                let message = format!(
                    "{subject}: the `{kind}` of a tool's result is sent in a message after it"
                );
                warnings.push(Warning::new(WarningKind::Converted, subject, message));
            }
            Shown::Nowhere => {
                *part = ContentPart::text(format!(
                    "[a part of the kind `{kind}`, which the provider does not support]"
                ));
                let message = format!(
                    "{subject}: the provider does not support `{kind}`; a note is sent instead"
                );
                warnings.push(Warning::new(WarningKind::Dropped, subject, message));
            }
        }
    }
}
