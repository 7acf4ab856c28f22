//! Makes sure that every tool call is followed by exactly one result.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Entry, INTERRUPTED};
use crate::chat::{ChatMessage, Role, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};

/// A message with calls, and the positions of their results.
struct Round<'t> {
    entry: usize,
    calls: Vec<Call<'t>>,
    /// How many calls have their results in order, from the first call on.
    in_order: usize,
}

struct Call<'t> {
    id: &'t str,
    name: &'t str,
    /// The message of its result.
    result: Option<usize>,
}

/// A defect of the conversation.
struct Defect {
    at: usize,
    what: String,
    /// What is done about it, if that is allowed.
    repair: &'static str,
}

/// Moves the results of each message directly behind it, in the order of its calls.
///
/// # Errors
///
/// Fails if a result does not name its call. In strict mode, also fails if a result is missing, is at the wrong place
/// or belongs to no call.
pub(super) fn pair<'a>(
    entries: Vec<Entry<'a>>,
    strict: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Entry<'a>>> {
    let mut calls = Calls::default();
    let mut defects: Vec<Defect> = Vec::new();
    let mut speaker = None;
    for (index, entry) in entries.iter().enumerate() {
        if entry.message.role != Role::Tool {
            speaker = Some(index);
            calls.open(index, entry);
            continue;
        }
        let id = entry.message.tool_call_id.as_deref().unwrap_or_default();
        match calls.add_result(id, entry.message.name.as_deref(), index) {
            Some(asked) if speaker == Some(asked) => {}
            Some(_) => {
                let what = format!("the result of `{id}` is not directly after its call");
                defects.push(Defect { at: entry.at, what, repair: "it is moved" });
            }
            None if entry.message.tool_call_id.is_none() => return Err(missing_call_id(entry.at)),
            None => {
                let what = if calls.is_known(id) {
                    format!("a second result of `{id}`")
                } else {
                    format!("a result of `{id}`, which no earlier message calls")
                };
                defects.push(Defect { at: entry.at, what, repair: "it is left out" });
            }
        }
    }
    for round in &calls.rounds {
        for call in round.calls.iter().filter(|call| call.result.is_none()) {
            let what = format!("the call `{}` of `{}` has no result", call.id, call.name);
            let repair = "it is sent as interrupted";
            defects.push(Defect { at: entries[round.entry].at, what, repair });
        }
    }
    report(defects, strict, warnings)?;
    let results = calls.results();
    Ok(order(entries, results))
}

/// The calls of a conversation so far.
#[derive(Default)]
struct Calls<'t> {
    rounds: Vec<Round<'t>>,
    /// Created when a result does not belong to the next call of the last round. Nearly all do.
    index: Option<Index<'t>>,
}

/// The positions of the calls without a result, by id. An id stays known when all its calls have results.
#[derive(Default)]
struct Index<'t>(HashMap<&'t str, Vec<Open<'t>>>);

/// The calls of one round that share an id and have no result yet.
struct Open<'t> {
    round: usize,
    /// The tool of each call.
    calls: BTreeMap<usize, &'t str>,
    /// Calls without ids can only be distinguished by their tools.
    by_name: HashMap<&'t str, BTreeSet<usize>>,
}

impl<'t> Calls<'t> {
    /// Adds the calls of a message.
    fn open(&mut self, index: usize, entry: &'t Entry<'_>) {
        let calls: Vec<Call<'t>> = entry
            .calls()
            .map(|call| Call { id: &call.id, name: &call.name, result: None })
            .collect();
        if calls.is_empty() {
            return;
        }
        let round = Round { entry: index, calls, in_order: 0 };
        if let Some(index) = &mut self.index {
            index.add(self.rounds.len(), &round);
        }
        self.rounds.push(round);
    }

    /// Records the message of a result at its call, and returns the message of the call. That is the latest call of
    /// this id without a result, or the first of several in one message.
    fn add_result(&mut self, id: &str, name: Option<&str>, result: usize) -> Option<usize> {
        if self.index.is_none()
            && let Some(round) = self.rounds.last_mut()
            && let Some(call) = round.calls.get_mut(round.in_order)
            && call.id == id
            && name.is_none_or(|name| name == call.name)
        {
            call.result = Some(result);
            round.in_order += 1;
            return Some(round.entry);
        }
        let (at, call) = self.index().take(id, name)?;
        let round = self.rounds.get_mut(at)?;
        round.calls.get_mut(call)?.result = Some(result);
        Some(round.entry)
    }

    /// Returns whether any message calls this id.
    fn is_known(&mut self, id: &str) -> bool {
        self.index().0.contains_key(id)
    }

    fn index(&mut self) -> &mut Index<'t> {
        let rounds = &self.rounds;
        self.index.get_or_insert_with(|| {
            let mut index = Index::default();
            rounds.iter().enumerate().for_each(|(at, round)| index.add(at, round));
            index
        })
    }

    /// Returns the message of each round and the messages of its results.
    fn results(self) -> Vec<(usize, Vec<Option<usize>>)> {
        let of = |round: Round<'_>| {
            (round.entry, round.calls.into_iter().map(|call| call.result).collect())
        };
        self.rounds.into_iter().map(of).collect()
    }
}

impl<'t> Index<'t> {
    fn add(&mut self, at: usize, round: &Round<'t>) {
        for (number, call) in round.calls.iter().enumerate() {
            let rounds = self.0.entry(call.id).or_default();
            if call.result.is_some() {
                continue;
            }
            if rounds.last().is_none_or(|open| open.round != at) {
                rounds.push(Open { round: at, calls: BTreeMap::new(), by_name: HashMap::new() });
            }
            if let Some(open) = rounds.last_mut() {
                open.calls.insert(number, call.name);
                open.by_name.entry(call.name).or_default().insert(number);
            }
        }
    }

    /// Removes the call that a result belongs to, and returns its round and its index there.
    fn take(&mut self, id: &str, name: Option<&str>) -> Option<(usize, usize)> {
        let rounds = self.0.get_mut(id)?;
        let open = rounds.last_mut()?;
        let named = name.and_then(|name| open.by_name.get(name)?.first());
        let call = *named.or(open.calls.keys().next())?;
        let tool = open.calls.remove(&call)?;
        open.by_name.get_mut(tool)?.remove(&call);
        let found = (open.round, call);
        if open.calls.is_empty() {
            rounds.pop();
        }
        Some(found)
    }
}

fn missing_call_id(at: usize) -> Error {
    Error::new(
        ErrorKind::InvalidRequest,
        format!("messages[{at}] has the role `tool` but no `tool_call_id`"),
    )
    .with_hint("create it with `ChatMessage::tool(call.id, result)`")
}

fn report(mut defects: Vec<Defect>, strict: bool, warnings: &mut Vec<Warning>) -> Result<()> {
    defects.sort_by_key(|hole| hole.at);
    if strict && let Some(Defect { at, what, .. }) = defects.first() {
        return Err(Error::new(ErrorKind::InvalidRequest, format!("messages[{at}]: {what}"))
            .with_hint(
                "put one result for each tool call after the message with the calls, or unset `strict` to have it repaired",
            ));
    }
    warnings.extend(defects.into_iter().map(|Defect { at, what, repair }| {
        let subject = format!("messages[{at}]");
        let message = format!("{subject}: {what}; {repair}");
        Warning::new(WarningKind::Repaired, subject, message)
    }));
    Ok(())
}

fn order(entries: Vec<Entry<'_>>, rounds: Vec<(usize, Vec<Option<usize>>)>) -> Vec<Entry<'_>> {
    let mut ordered = Vec::with_capacity(entries.len());
    let mut entries: Vec<Option<Entry<'_>>> = entries.into_iter().map(Some).collect();
    let mut rounds = rounds.into_iter().peekable();
    for index in 0..entries.len() {
        let Some(entry) = entries[index].take_if(|entry| entry.message.role != Role::Tool) else {
            continue;
        };
        let at = entry.at;
        let round = rounds.next_if(|(entry, _)| *entry == index);
        let results = round.map(|(_, results)| results).unwrap_or_default();
        let mut ids: Vec<String> = if results.iter().all(Option::is_some) {
            Vec::new()
        } else {
            entry.calls().map(|call| call.id.clone()).collect()
        };
        ordered.push(entry);
        for (number, result) in results.into_iter().enumerate() {
            let result = result.and_then(|result| entries[result].take());
            ordered.push(result.unwrap_or_else(|| {
                let id = ids.get_mut(number).map(std::mem::take).unwrap_or_default();
                Entry { at, message: Cow::Owned(ChatMessage::tool_error(id, INTERRUPTED)) }
            }));
        }
    }
    ordered
}
