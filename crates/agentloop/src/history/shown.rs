//! Moves media out of the results of tools, for providers that take only text there.

use std::borrow::Cow;

use super::Turn;
use crate::chat::{ChatMessage, ContentPart, MessageContent, Role, Warning, WarningKind};
use crate::protocol::Shown;

/// What a provider does with the parts of tools' results.
pub(crate) type Shows<'a> = &'a dyn Fn(&ContentPart) -> Shown;

/// Media that the provider does not take in results move into a message of the user behind the results of their round;
/// those that it takes nowhere become words. A tool returns what it finds during a run, and the caller could not take it
/// back: it must not end the run.
pub(super) fn place<'a>(
    turns: Vec<Turn<'a>>,
    shows: Shows<'_>,
    warnings: &mut Vec<Warning>,
) -> Vec<Turn<'a>> {
    let elsewhere = |part: &ContentPart| part.is_medium() && shows(part) != Shown::InResult;
    let of_tool = |turn: &Turn<'_>| turn.message.role == Role::Tool;
    if !turns.iter().any(|turn| of_tool(turn) && turn.message.parts().iter().any(elsewhere)) {
        return turns;
    }
    let mut placed = Vec::with_capacity(turns.len() + 1);
    // What the results of the round show, and where the last of them stands.
    let mut shown: Vec<ContentPart> = Vec::new();
    let mut last = 0;
    for mut turn in turns {
        if !of_tool(&turn) {
            flush(&mut shown, last, &mut placed);
        } else if turn.message.parts().iter().any(elsewhere) {
            last = turn.at;
            split(&mut turn, shows, &mut shown, warnings);
        }
        placed.push(turn);
    }
    flush(&mut shown, last, &mut placed);
    placed
}

fn flush<'a>(shown: &mut Vec<ContentPart>, at: usize, turns: &mut Vec<Turn<'a>>) {
    if !shown.is_empty() {
        let message = Cow::Owned(ChatMessage::user(std::mem::take(shown)));
        turns.push(Turn { at, message });
    }
}

fn split(
    turn: &mut Turn<'_>,
    shows: Shows<'_>,
    shown: &mut Vec<ContentPart>,
    warnings: &mut Vec<Warning>,
) {
    let at = turn.at;
    let tool = turn.message.name.clone();
    let Some(MessageContent::Parts(parts)) = &mut turn.message.to_mut().content else { return };
    for (part_at, part) in parts.iter_mut().enumerate() {
        let place = if part.is_medium() { shows(part) } else { Shown::InResult };
        let subject = format!("messages[{at}].content[{part_at}]");
        let kind = part.kind();
        match place {
            Shown::InResult => {}
            Shown::InMessage => {
                let number = shown.len() / 2 + 1;
                let whose = tool.as_ref().map_or(String::new(), |tool| format!(" of `{tool}`"));
                let told = ContentPart::text(format!("[{number}: see the next turn]"));
                let medium = std::mem::replace(part, told);
                shown.push(ContentPart::text(format!("[{number}: from the result{whose}]")));
                shown.push(medium);
                let message = format!(
                    "{subject}: the `{kind}` of a tool's result is sent in a turn behind it"
                );
                warnings.push(Warning::new(WarningKind::Converted, subject, message));
            }
            Shown::Nowhere => {
                *part = ContentPart::text(format!(
                    "[a part of the kind `{kind}`, which cannot be shown here]"
                ));
                let message =
                    format!("{subject}: the host takes no `{kind}`; the model is told so");
                warnings.push(Warning::new(WarningKind::Dropped, subject, message));
            }
        }
    }
}
