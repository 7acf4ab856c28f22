//! Gives every call one result, after its message.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{INTERRUPTED, Turn};
use crate::chat::{ChatMessage, Role, Warning, WarningKind};
use crate::error::{Error, ErrorKind, Result};

/// A message with calls, and where their results stand.
struct Round<'t> {
    turn: usize,
    calls: Vec<Call<'t>>,
    /// How many calls were answered in their order, before any other was.
    answered: usize,
}

struct Call<'t> {
    id: &'t str,
    name: &'t str,
    /// The message of its result.
    result: Option<usize>,
}

/// Something that is not as it should be.
struct Hole {
    at: usize,
    what: String,
    /// What is done about it, where that is allowed.
    mended: &'static str,
}

/// Puts the results of each message behind it, in the order of its calls.
///
/// # Errors
///
/// In strict mode, when a result is missing, is elsewhere or answers nothing; always, when a result does not say
/// what it answers.
pub(super) fn pair<'a>(
    turns: Vec<Turn<'a>>,
    strict: bool,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Turn<'a>>> {
    let mut calls = Calls::default();
    let mut holes: Vec<Hole> = Vec::new();
    let mut speaker = None;
    for (index, turn) in turns.iter().enumerate() {
        if turn.message.role != Role::Tool {
            speaker = Some(index);
            calls.open(index, turn);
            continue;
        }
        let id = turn.message.tool_call_id.as_deref().unwrap_or_default();
        match calls.answer(id, turn.message.name.as_deref(), index) {
            Some(asked) if speaker == Some(asked) => {}
            Some(_) => {
                let what = format!("the result of `{id}` does not stand behind its call");
                holes.push(Hole { at: turn.at, what, mended: "it is moved there" });
            }
            None if turn.message.tool_call_id.is_none() => return Err(nameless(turn.at)),
            None => {
                let what = match calls.is_known(id) {
                    true => format!("a second result of `{id}`"),
                    false => format!("a result of `{id}`, which no turn before it calls"),
                };
                holes.push(Hole { at: turn.at, what, mended: "it is left out" });
            }
        }
    }
    for round in &calls.rounds {
        for call in round.calls.iter().filter(|call| call.result.is_none()) {
            let what = format!("the call `{}` of `{}` has no result", call.id, call.name);
            let mended = "it is sent as interrupted";
            holes.push(Hole { at: turns[round.turn].at, what, mended });
        }
    }
    report(holes, strict, warnings)?;
    let results = calls.results();
    Ok(order(turns, results))
}

/// The calls of a conversation so far.
#[derive(Default)]
struct Calls<'t> {
    rounds: Vec<Round<'t>>,
    /// Made when a result does not answer the next call of the last round, which nearly all do.
    index: Option<Index<'t>>,
}

/// Where the calls stand that have no result yet, by their ids. An id stays known when all its calls are answered.
#[derive(Default)]
struct Index<'t>(HashMap<&'t str, Vec<Open<'t>>>);

/// The calls of one round that share an id and have no result yet.
struct Open<'t> {
    round: usize,
    /// For each call its tool.
    calls: BTreeMap<usize, &'t str>,
    /// Calls without ids can only be distinguished by their tools.
    by_name: HashMap<&'t str, BTreeSet<usize>>,
}

impl<'t> Calls<'t> {
    /// Adds the calls of a message.
    fn open(&mut self, index: usize, turn: &'t Turn<'_>) {
        let calls: Vec<Call<'t>> = turn
            .calls()
            .map(|call| Call { id: &call.id, name: &call.name, result: None })
            .collect();
        if calls.is_empty() {
            return;
        }
        let round = Round { turn: index, calls, answered: 0 };
        if let Some(index) = &mut self.index {
            index.add(self.rounds.len(), &round);
        }
        self.rounds.push(round);
    }

    /// Notes the message of a result with the call that it answers, and returns the message of the call. That is the
    /// latest call of this id without a result, and the first among several in one message.
    fn answer(&mut self, id: &str, name: Option<&str>, result: usize) -> Option<usize> {
        if self.index.is_none()
            && let Some(round) = self.rounds.last_mut()
            && let Some(call) = round.calls.get_mut(round.answered)
            && call.id == id
            && name.is_none_or(|name| name == call.name)
        {
            call.result = Some(result);
            round.answered += 1;
            return Some(round.turn);
        }
        let (at, call) = self.index().take(id, name)?;
        let round = self.rounds.get_mut(at)?;
        round.calls.get_mut(call)?.result = Some(result);
        Some(round.turn)
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

    /// For each round its message and the messages of its results.
    fn results(self) -> Vec<(usize, Vec<Option<usize>>)> {
        let of = |round: Round<'_>| {
            (round.turn, round.calls.into_iter().map(|call| call.result).collect())
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

    /// Takes the call that a result answers out: its round and its number there.
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

fn order(turns: Vec<Turn<'_>>, rounds: Vec<(usize, Vec<Option<usize>>)>) -> Vec<Turn<'_>> {
    let mut ordered = Vec::with_capacity(turns.len());
    let mut turns: Vec<Option<Turn<'_>>> = turns.into_iter().map(Some).collect();
    let mut rounds = rounds.into_iter().peekable();
    for index in 0..turns.len() {
        let Some(turn) = turns[index].take_if(|turn| turn.message.role != Role::Tool) else {
            continue;
        };
        let at = turn.at;
        let round = rounds.next_if(|(turn, _)| *turn == index);
        let results = round.map(|(_, results)| results).unwrap_or_default();
        let mut ids: Vec<String> = match results.iter().all(Option::is_some) {
            true => Vec::new(),
            false => turn.calls().map(|call| call.id.clone()).collect(),
        };
        ordered.push(turn);
        for (number, result) in results.into_iter().enumerate() {
            let result = result.and_then(|result| turns[result].take());
            ordered.push(result.unwrap_or_else(|| {
                let id = ids.get_mut(number).map(std::mem::take).unwrap_or_default();
                Turn { at, message: Cow::Owned(ChatMessage::tool_error(id, INTERRUPTED)) }
            }));
        }
    }
    ordered
}
