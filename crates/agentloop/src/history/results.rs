//! Every call has one result, behind its turn.

use std::borrow::Cow;

use super::{INTERRUPTED, Turn};
use crate::error::{Error, ErrorKind, Result};
use crate::request::{ChatMessage, Role};
use crate::response::{Warning, WarningKind};

/// A turn with calls, and where their results stand.
struct Round {
    turn: usize,
    /// For each call its id, its tool, and the turn of its result.
    calls: Vec<(String, String, Option<usize>)>,
}

/// Something that is not as it should be.
struct Hole {
    at: usize,
    what: String,
    /// What is done about it, where that is allowed.
    mended: &'static str,
}

/// Puts the results of each turn behind it, in the order of its calls.
///
/// # Errors
///
/// In strict mode, when a result is missing, stands elsewhere or answers nothing; always, when a result does not say
/// what it answers.
pub(super) fn pair<'a>(
    turns: Vec<Turn<'a>>,
    strict: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Turn<'a>>> {
    let mut rounds: Vec<Round> = Vec::new();
    let mut holes: Vec<Hole> = Vec::new();
    let mut speaker = None;
    for (index, turn) in turns.iter().enumerate() {
        if turn.message.role != Role::Tool {
            speaker = Some(index);
            let calls: Vec<_> =
                turn.calls().map(|call| (call.id.clone(), call.name.clone(), None)).collect();
            if !calls.is_empty() {
                rounds.push(Round { turn: index, calls });
            }
            continue;
        }
        let id = turn.message.tool_call_id.as_deref().unwrap_or_default();
        match find(&rounds, id, turn.message.name.as_deref()) {
            Some((round, call)) => {
                rounds[round].calls[call].2 = Some(index);
                if speaker != Some(rounds[round].turn) {
                    let what = format!("the result of `{id}` does not stand behind its call");
                    holes.push(Hole { at: turn.at, what, mended: "it is moved there" });
                }
            }
            None if turn.message.tool_call_id.is_none() => return Err(nameless(turn.at)),
            None => {
                let twice = rounds.iter().flat_map(|round| &round.calls).any(|call| call.0 == id);
                let what = match twice {
                    true => format!("a second result of `{id}`"),
                    false => format!("a result of `{id}`, which no turn before it calls"),
                };
                holes.push(Hole { at: turn.at, what, mended: "it is left out" });
            }
        }
    }
    for round in &rounds {
        for (id, name, _) in round.calls.iter().filter(|call| call.2.is_none()) {
            let what = format!("the call `{id}` of `{name}` has no result");
            let mended = "it is sent as interrupted";
            holes.push(Hole { at: turns[round.turn].at, what, mended });
        }
    }
    report(holes, strict, warnings)?;
    Ok(order(turns, rounds))
}

/// The call that a result answers: the latest that has none yet, and of several in one turn the first.
fn find(rounds: &[Round], id: &str, name: Option<&str>) -> Option<(usize, usize)> {
    rounds.iter().enumerate().rev().find_map(|(at, round)| {
        let open = || {
            let calls = round.calls.iter().enumerate();
            calls.filter(|(_, call)| call.0 == id && call.2.is_none())
        };
        // Calls without ids can only be told apart by their tools.
        let named = open().find(|(_, call)| Some(call.1.as_str()) == name);
        named.or_else(|| open().next()).map(|(call, _)| (at, call))
    })
}

fn nameless(at: usize) -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!("messages[{at}] is a tool's turn without `tool_call_id`"),
    )
    .with_hint("make it with `ChatMessage::tool(call.id, result)`")
}

fn report(mut holes: Vec<Hole>, strict: bool, warnings: &mut Vec<Warning>) -> Result<()> {
    holes.sort_by_key(|hole| hole.at);
    if strict && let Some(Hole { at, what, .. }) = holes.first() {
        return Err(Error::new(ErrorKind::InvalidRequest, format!("messages[{at}]: {what}"))
            .with_hint(
                "give each tool call one result, behind its turn, or leave `strict` unset to have it mended",
            ));
    }
    warnings.extend(holes.into_iter().map(|Hole { at, what, mended }| {
        let subject = format!("messages[{at}]");
        let message = format!("{subject}: {what}; {mended}");
        Warning::new(WarningKind::Repaired, subject, message)
    }));
    Ok(())
}

fn order(turns: Vec<Turn<'_>>, rounds: Vec<Round>) -> Vec<Turn<'_>> {
    let mut ordered = Vec::with_capacity(turns.len());
    let mut turns: Vec<Option<Turn<'_>>> = turns.into_iter().map(Some).collect();
    let mut rounds = rounds.into_iter().peekable();
    for index in 0..turns.len() {
        let Some(turn) = turns[index].take_if(|turn| turn.message.role != Role::Tool) else {
            continue;
        };
        let at = turn.at;
        ordered.push(turn);
        let Some(round) = rounds.next_if(|round| round.turn == index) else { continue };
        for (id, _, result) in round.calls {
            let result = result.and_then(|result| turns[result].take());
            ordered.push(result.unwrap_or_else(|| Turn {
                at,
                message: Cow::Owned(ChatMessage::tool_error(id, INTERRUPTED)),
            }));
        }
    }
    ordered
}
