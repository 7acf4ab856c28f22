//! Ids of tool calls, in the pattern that a target wants: on the call and on its result alike.

use std::collections::HashSet;

use super::{Turn, hash};
use crate::request::{ContentPart, MessageContent};

/// What ids of tool calls must look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdPattern {
    /// Anything.
    Any,
    /// Exactly nine letters or digits.
    NineAlphanumeric,
    /// Letters, digits, `_` and `-`.
    Word,
}

impl IdPattern {
    /// Whether an id can be sent as it is.
    pub(super) fn fits(self, id: &str) -> bool {
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Self::Any => !id.is_empty(),
            Self::NineAlphanumeric => {
                id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())
            }
            Self::Word => !id.is_empty() && id.bytes().all(word),
        }
    }

    /// An id that fits in place of one that does not, or that is taken.
    fn id(self, original: &str, turn: usize) -> String {
        match self {
            Self::NineAlphanumeric => hash::short(original, turn, 9),
            Self::Word => hash::tidy(original, turn, 64, |c| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
            }),
            Self::Any => hash::tidy(original, turn, usize::MAX, |_| true),
        }
    }
}

/// Gives every call an id of its own that fits, and its result the same. Each call must be followed by its results.
///
/// The calls are taken in their order, so that a conversation that grows changes no id that was sent before; an id that
/// a provider used twice is a new one the second time.
pub(super) fn map(turns: &mut [Turn<'_>], pattern: IdPattern) {
    let mut taken: HashSet<String> = HashSet::new();
    let mut at = 0;
    while at < turns.len() {
        let turn = &turns[at];
        let place = turn.at;
        let mut ids = Vec::new();
        for (number, call) in turn.calls().enumerate() {
            let id = choose(&call.id, (place, number), pattern, &taken);
            taken.insert(id.clone());
            ids.push(id);
        }
        if turns[at].calls().zip(&ids).any(|(call, id)| call.id != *id) {
            rename(&mut turns[at], &ids);
        }
        for (result, id) in turns[at + 1..].iter_mut().zip(&ids) {
            if result.message.tool_call_id.as_ref() != Some(id) {
                result.message.to_mut().tool_call_id = Some(id.clone());
            }
        }
        at += 1 + ids.len();
    }
}

fn choose(
    id: &str,
    (place, number): (usize, usize),
    pattern: IdPattern,
    taken: &HashSet<String>,
) -> String {
    if pattern.fits(id) && !taken.contains(id) {
        return id.to_owned();
    }
    // A call that came without an id is known by its place.
    let by_place;
    let seed = if id.is_empty() {
        by_place = format!("call_{place}_{number}");
        if pattern.fits(&by_place) && !taken.contains(&by_place) {
            return by_place;
        }
        &by_place
    } else {
        id
    };
    let mut turn = 0;
    let mut mapped = pattern.id(seed, turn);
    while taken.contains(&mapped) {
        turn += 1;
        mapped = pattern.id(seed, turn);
    }
    mapped
}

fn rename(turn: &mut Turn<'_>, ids: &[String]) {
    let Some(MessageContent::Parts(parts)) = &mut turn.message.to_mut().content else { return };
    let calls = parts.iter_mut().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    });
    for (call, id) in calls.zip(ids) {
        call.id.clone_from(id);
    }
}
