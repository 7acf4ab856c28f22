//! Replaces ids of tool calls that the provider does not accept, on the call and on its result.

use std::collections::{HashMap, HashSet};

use super::{Entry, hash};
use crate::chat::{ContentPart, MessageContent};
use crate::protocol::IdPattern;

impl IdPattern {
    /// Returns whether an id can be sent unchanged.
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

    /// Returns a valid id in place of one that is invalid or already used.
    fn id(self, original: &str, attempt: usize, longest: Option<usize>) -> String {
        let longest = longest.unwrap_or(usize::MAX);
        match self {
            Self::NineAlphanumeric => hash::short(original, attempt, 9),
            Self::Word => hash::tidy(original, attempt, longest.min(64), |c| {
                c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
            }),
            // Other characters may be longer than a byte.
            Self::Any if longest < usize::MAX => {
                hash::tidy(original, attempt, longest, |c| c.is_ascii_graphic())
            }
            Self::Any => hash::tidy(original, attempt, usize::MAX, |_| true),
        }
    }
}

/// Gives every call a valid id of its own, and its result the same. Each call must be followed by its results.
///
/// The calls are handled in order, so a conversation that grows does not change an id that was sent before. The second
/// use of an id gets a new id.
pub(super) fn map(entries: &mut [Entry<'_>], pattern: IdPattern, longest: Option<usize>) {
    let mut taken = Taken { pattern, longest, ids: HashSet::new(), attempts: HashMap::new() };
    let mut at = 0;
    while at < entries.len() {
        let entry = &entries[at];
        let place = entry.at;
        let ids: Vec<String> = entry
            .calls()
            .enumerate()
            .map(|(number, call)| taken.choose(&call.id, place, number))
            .collect();
        if entries[at].calls().zip(&ids).any(|(call, id)| call.id != *id) {
            rename(&mut entries[at], &ids);
        }
        for (result, id) in entries[at + 1..].iter_mut().zip(&ids) {
            if result.message.tool_call_id.as_ref() != Some(id) {
                result.message.to_mut().tool_call_id = Some(id.clone());
            }
        }
        at += 1 + ids.len();
    }
}

/// The ids of the earlier calls.
struct Taken {
    pattern: IdPattern,
    longest: Option<usize>,
    ids: HashSet<String>,
    /// For each id that was replaced, the number of replacements that were tried. Ids are never released, so the search
    /// for the next replacement continues from there. Starting again each time would take quadratic time.
    attempts: HashMap<String, usize>,
}

impl Taken {
    /// Returns the id to send for the call with this number in the message at `place`.
    fn choose(&mut self, id: &str, place: usize, number: usize) -> String {
        // A call without an id is identified by its position.
        let by_place;
        let wanted = if id.is_empty() {
            by_place = format!("call_{place}_{number}");
            &by_place
        } else {
            id
        };
        let chosen = if self.pattern.fits(wanted, self.longest) && !self.ids.contains(wanted) {
            wanted.to_owned()
        } else {
            self.replace(wanted)
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

fn rename(entry: &mut Entry<'_>, ids: &[String]) {
    let Some(MessageContent::Parts(parts)) = &mut entry.message.to_mut().content else { return };
    let calls = parts.iter_mut().filter_map(|part| match part {
        ContentPart::ToolCall(call) => Some(call),
        _ => None,
    });
    for (call, id) in calls.zip(ids) {
        call.id.clone_from(id);
    }
}
