//! The commands for Redis and their results, without I/O.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use redis::{Cmd, Script};

use super::amount::to_nanos;
use super::table::Batch;
use crate::bucket::MINUTE;
use crate::cluster::Window;

/// What all keys begin with. The braces put them on one node of a cluster, because a step uses keys and teams at once.
const PREFIX: &str = "{agentloop}:gateway";

/// A process that was not heard of for this long does not count.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// The size of the buckets: an unused limit allows as much at once as in a minute.
pub(super) const BURST: Duration = MINUTE;

/// How long a window is kept after its end.
const KEEP: Duration = Duration::from_secs(2 * 86_400);

/// How long the window of a budget in total is kept after its last use. The ledger has its sum.
const KEEP_TOTAL: Duration = Duration::from_secs(400 * 86_400);

pub(super) static STEP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("step.lua")));
pub(super) static RESTORE: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("restore.lua")));

/// A command that runs a script by its hash, and one that sends the script too, for a server that does not have it.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) by_hash: Cmd,
    pub(super) whole: Cmd,
}

impl Command {
    fn new(script: &Script, code: &str, keys: &[String], arguments: &[String]) -> Self {
        let build = |name: &str, script: &str| {
            let mut command = redis::cmd(name);
            command.arg(script).arg(keys.len()).arg(keys).arg(arguments);
            command
        };
        Self { by_hash: build("EVALSHA", script.get_hash()), whole: build("EVAL", code) }
    }
}

/// Returns the key of a window.
pub(super) fn window_key(window: &Window) -> String {
    let Window { scope, per, start_ms, .. } = window;
    // The name is last because it can have any characters.
    format!("{PREFIX}:window:{}:{start_ms}:{scope}", per.as_str())
}

fn scope_keys(scope: &str) -> [String; 3] {
    ["requests", "tokens", "running"].map(|what| format!("{PREFIX}:{what}:{scope}"))
}

fn life(window: &Window, now_ms: i64) -> String {
    let life = match window.end_ms {
        None => KEEP_TOTAL,
        Some(end) => {
            KEEP + Duration::from_millis(u64::try_from(end.saturating_sub(now_ms)).unwrap_or(0))
        }
    };
    life.as_millis().to_string()
}

/// Who sends a step.
#[derive(Debug)]
pub(super) struct Sender<'a> {
    pub(super) node: &'a str,
    pub(super) epoch: &'a str,
    pub(super) now_ms: i64,
}

/// Encodes a step.
pub(super) fn step(sender: &Sender<'_>, batch: &Batch, generation: &str) -> Command {
    let mut keys = vec![format!("{PREFIX}:generation"), format!("{PREFIX}:nodes")];
    let mut arguments = vec![
        sender.node.to_owned(),
        sender.epoch.to_owned(),
        batch.number.to_string(),
        u8::from(batch.introduces).to_string(),
        generation.to_owned(),
        LEASE.as_millis().to_string(),
        BURST.as_micros().to_string(),
        batch.windows.len().to_string(),
        batch.scopes.len().to_string(),
        batch.claims.len().to_string(),
        batch.entries.len().to_string(),
    ];
    let flag = |is: bool| u8::from(is).to_string();
    for report in &batch.windows {
        keys.push(window_key(&report.window));
        arguments.extend([
            report.window.start_ms.to_string(),
            flag(report.own.is_some()),
            to_nanos(report.own.unwrap_or(0)).to_string(),
            flag(report.is_known),
            life(&report.window, sender.now_ms),
        ]);
    }
    for report in &batch.scopes {
        keys.extend(scope_keys(&report.rates.scope));
        let rates = [
            report.rates.requests_per_minute,
            report.rates.tokens_per_minute,
            report.rates.concurrency,
        ];
        // A limit of 0 allows nothing; the script reads 0 as no limit, so the slowest rate is sent, which `enter` refuses before.
        arguments.extend(rates.map(|rate| rate.map_or(0, |rate| rate.max(1)).to_string()));
        arguments.extend([report.correction.to_string(), report.running.to_string()]);
    }
    for claim in &batch.claims {
        arguments.extend([to_nanos(claim.amount).to_string(), claim.places.len().to_string()]);
        for (place, limit) in &claim.places {
            arguments.extend([(place + 1).to_string(), limit_nanos(*limit).to_string()]);
        }
    }
    for entry in &batch.entries {
        arguments.extend([entry.tokens.to_string(), entry.places.len().to_string()]);
        arguments.extend(entry.places.iter().map(|place| (place + 1).to_string()));
    }
    Command::new(&STEP, include_str!("step.lua"), &keys, &arguments)
}

/// Encodes what the ledger has of a window.
pub(super) fn restore(
    window: &Window,
    generation: &str,
    grace: Duration,
    now_ms: i64,
    columns: &[(String, i128)],
) -> Command {
    let keys = [format!("{PREFIX}:generation"), window_key(window)];
    let mut arguments =
        vec![generation.to_owned(), grace.as_millis().to_string(), life(window, now_ms)];
    for (node, amount) in columns {
        arguments.extend([node.clone(), to_nanos(*amount).to_string()]);
    }
    Command::new(&RESTORE, include_str!("restore.lua"), &keys, &arguments)
}

/// Rounds a limit down, so that amounts that are rounded up do not exceed it.
fn limit_nanos(picos: i128) -> i64 {
    to_nanos(picos - 999)
}

/// The results of a step.
#[derive(Debug, PartialEq)]
pub(super) enum Answer {
    /// The step was made.
    Done(Results),
    /// The node must introduce itself: Redis has lost its data, or another process has the name of this node.
    Unknown(String),
    /// Another step was later, or the response is not one of the script.
    Invalid,
}

#[derive(Debug, Default, PartialEq)]
pub(super) struct Results {
    pub(super) generation: Arc<str>,
    /// The step before this one; -1 for none.
    pub(super) before: i64,
    pub(super) nodes: u32,
    /// How long Redis has had its data.
    pub(super) age: Duration,
    /// How long ago every other node has made a step, at most.
    pub(super) silent: Duration,
    pub(super) windows: Vec<WindowResult>,
    /// For each claim the place of the budget that it exceeds, from 1; 0 if it was granted.
    pub(super) claims: Vec<usize>,
    pub(super) entries: Vec<EntryResult>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowResult {
    pub(super) is_ready: bool,
    /// What the other nodes use, in nanodollars.
    pub(super) others: i64,
    /// What this node used before, in nanodollars.
    pub(super) column: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EntryResult {
    /// 0 granted, 1 requests, 2 tokens, 3 concurrency.
    pub(super) kind: i64,
    pub(super) wait: Duration,
    pub(super) place: usize,
}

/// Decodes the response to a step. It must have exactly the results that the step asked for.
pub(super) fn read(reply: (i64, String, Vec<i64>), batch: &Batch) -> Answer {
    let (code, generation, numbers) = reply;
    match code {
        0 => read_results(generation, &numbers, batch).map_or(Answer::Invalid, Answer::Done),
        1 => Answer::Unknown(generation),
        _ => Answer::Invalid,
    }
}

fn read_results(generation: String, numbers: &[i64], batch: &Batch) -> Option<Results> {
    let mut numbers = numbers.iter().copied();
    let before = numbers.next()?;
    let nodes = u32::try_from(numbers.next()?).ok()?.max(1);
    let age = Duration::from_millis(u64::try_from(numbers.next()?).ok()?);
    let silent = Duration::from_millis(u64::try_from(numbers.next()?).ok()?);
    let generation = generation.into();
    let mut results = Results { generation, before, nodes, age, silent, ..Results::default() };
    for _ in &batch.windows {
        let (ready, others, column) = (numbers.next()?, numbers.next()?, numbers.next()?);
        results.windows.push(WindowResult {
            is_ready: ready == 1,
            others: others.max(0),
            column: (column >= 0).then_some(column),
        });
    }
    for claim in &batch.claims {
        let place = usize::try_from(numbers.next()?).ok()?;
        if place > claim.places.len() {
            return None;
        }
        results.claims.push(place);
    }
    for entry in &batch.entries {
        let (kind, wait, place) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let wait = Duration::from_micros(u64::try_from(wait).ok()?);
        let place = usize::try_from(place).ok().filter(|place| *place <= entry.places.len())?;
        if !(0..=3).contains(&kind) || (kind > 0) != (place > 0) {
            return None;
        }
        results.entries.push(EntryResult { kind, wait, place });
    }
    numbers.next().is_none().then_some(results)
}
