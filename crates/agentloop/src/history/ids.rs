//! Gives tool calls ids that the target takes, on the call and on its result alike.

use std::collections::{HashMap, HashSet};

use super::{Turn, hash};
use crate::chat::{ContentPart, MessageContent};
use crate::protocol::IdPattern;

impl IdPattern {
    /// Returns whether an id can be sent as it is.
    pub(super) fn fits(self, id: &str, longest: Option<usize>) -> bool {
        if longest.is_some_and(|longest| id.len() > longest) {
            return false;
        }
        let word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        match self {
            Self::Any => !id.is_empty(),
            Self::NineAlphanumeric => {
                id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric())
            }
            Self::Word => !id.is_empty() && id.bytes().all(word),
        }
    }

    /// Returns an id that fits in place of one that does not, or that is taken.
    fn id(self, original: &str, turn: usize, longest: Option<usize>) -> String {
        let longest = longest.unwrap_or(usize::MAX);
        match self {
            Self::NineAlphanumeric => hash::short(original, turn, 9),
            Self::Word => hash::tidy(original, turn, longest.min(64), |c| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
            }),
            // Other characters may be longer than a byte.
            Self::Any if longest < usize::MAX => {
                hash::tidy(original, turn, longest, |c| c.is_ascii_graphic())
            }
            Self::Any => hash::tidy(original, turn, usize::MAX, |_| true),
        }
    }
}

/// Gives every call an id of its own that fits, and its result the same. Each call must be followed by its results.
///
/// The calls are taken in their order, so a conversation that grows changes no id that was sent before. The second use
/// of an id becomes a new id.
pub(super) fn map(turns: &mut [Turn<'_>], pattern: IdPattern, longest: Option<usize>) {
    let mut taken = Taken { pattern, longest, ids: HashSet::new(), attempts: HashMap::new() };
    let mut at = 0;
    while at < turns.len() {
        let turn = &turns[at];
        let place = turn.at;
        let ids: Vec<String> = turn
            .calls()
            .enumerate()
            .map(|(number, call)| taken.choose(&call.id, place, number))
            .collect();
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

/// The ids that the calls before have.
struct Taken {
    pattern: IdPattern,
    longest: Option<usize>,
    ids: HashSet<String>,
    /// For each id that was replaced, how many replacements were tried. Ids are never given back, so the search for the
    /// next replacement goes on from there. Starting from the first would cost the square of the number of calls.
    attempts: HashMap<String, usize>,
}

impl Taken {
    /// Returns the id to send for the call with this number in the message at `place`.
    fn choose(&mut self, id: &str, place: usize, number: usize) -> String {
        // A call that came without an id is known by its place.
        let by_place;
        let wanted = if id.is_empty() {
            by_place = format!("call_{place}_{number}");
            &by_place
        } else {
            id
        };
        let chosen = match self.pattern.fits(wanted, self.longest) && !self.ids.contains(wanted) {
            true => wanted.to_owned(),
            false => self.replace(wanted),
        };
        self.ids.insert(chosen.clone());
        chosen
    }

    fn replace(&mut self, wanted: &str) -> String {
        let mut attempt = self.attempts.get(wanted).copied().unwrap_or(0);
        let mut mapped = self.pattern.id(wanted, attempt, self.longest);
        while self.ids.contains(&mapped) {
            attempt += 1;
            mapped = self.pattern.id(wanted, attempt, self.longest);
        }
        match self.attempts.get_mut(wanted) {
            Some(known) => *known = attempt + 1,
            None => {
                self.attempts.insert(wanted.to_owned(), attempt + 1);
            }
        }
        mapped
    }
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
