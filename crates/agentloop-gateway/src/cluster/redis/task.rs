//! The task that talks to Redis. It makes one step at a time.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::Shared;
use super::connection::Connection;
use super::script::{self, Answer, Sender};
use super::table::Batch;

/// How often a gateway reports even if nothing has changed.
pub(super) const BEAT: Duration = Duration::from_secs(1);
/// How long ends of requests wait for others, which are reported in the same step.
const FLUSH: Duration = Duration::from_millis(5);
/// The waits between attempts to reach Redis again: doubled from the first to the longest. The longest, and the time of an attempt that
/// fails, are less than [`REDIS_GRACE`](super::REDIS_GRACE), so that all gateways are back when it ends.
const FIRST_PROBE: Duration = Duration::from_millis(100);
const LAST_PROBE: Duration = Duration::from_secs(1);
/// How long an attempt to reach Redis again may take. No request waits for it.
pub(super) const PROBE_DEADLINE: Duration = Duration::from_secs(1);
/// How often a step introduces the node before it gives up.
const MAX_INTRODUCTIONS: usize = 3;

/// Runs until the cluster is closed.
pub(super) async fn run(shared: Arc<Shared>, mut link: Option<Connection>) {
    let mut wait = FIRST_PROBE;
    let mut next_beat = Instant::now() + BEAT;
    while !shared.lock().is_closed {
        let Some(connection) = &mut link else {
            let until = Instant::now() + wait;
            wait = (wait * 2).min(LAST_PROBE);
            tokio::select! {
                () = sleep_until(until) => {}
                () = shared.closing.notified() => continue,
            }
            link = probe(&shared).await;
            next_beat = Instant::now() + BEAT;
            continue;
        };
        wait = FIRST_PROBE;
        let now = Instant::now();
        let until = match (shared.lock(), next_beat) {
            (table, _) if table.has_waiting() || !table.restores.is_empty() => now,
            (table, beat) => table.dirty_since.map_or(beat, |since| (since + FLUSH).min(beat)),
        };
        if until > now {
            tokio::select! {
                () = sleep_until(until) => {}
                () = shared.wake.notified() => continue,
            }
        }
        if Instant::now() >= next_beat {
            next_beat = Instant::now() + BEAT;
            shared.lock().beat(shared.now_ms());
        }
        let works =
            step(&shared, connection, shared.deadline).await && restore(&shared, connection).await;
        if !works {
            link = None;
        }
    }
    if let Some(mut connection) = link {
        step(&shared, &mut connection, PROBE_DEADLINE).await;
    }
    // Whatever comes now is decided without Redis.
    shared.fail(Batch::default(), "closed");
}

/// Connects, and makes a step. Returns the connection if it is quick enough for requests.
pub(super) async fn probe(shared: &Arc<Shared>) -> Option<Connection> {
    let mut connection = match shared.server.connect(PROBE_DEADLINE).await {
        Ok(connection) => connection,
        Err(why) => {
            shared.fail(Batch::default(), &why);
            return None;
        }
    };
    // The first one may have to send the script.
    for _ in 0..2 {
        let began = Instant::now();
        if !step(shared, &mut connection, PROBE_DEADLINE).await {
            return None;
        }
        if began.elapsed() <= shared.deadline {
            if let Some(time) = shared.lock().note_return() {
                tracing::info!(seconds = time.as_secs(), "Redis is reachable");
            }
            return Some(connection);
        }
    }
    let why = format!("it took longer than {} ms to respond", shared.deadline.as_millis());
    shared.fail(Batch::default(), &why);
    None
}

/// Makes a step. Returns whether Redis responded.
async fn step(shared: &Arc<Shared>, connection: &mut Connection, deadline: Duration) -> bool {
    for _ in 0..MAX_INTRODUCTIONS {
        let batch = shared.lock().next_batch();
        let sender = Sender { node: &shared.node, epoch: &shared.epoch, now_ms: shared.now_ms() };
        let generation = format!("{}-{}", shared.epoch, batch.number);
        let command = script::step(&sender, &batch, &generation);
        let answer = match connection.run(&command, deadline).await {
            Ok(reply) => script::read(reply, &batch),
            Err(why) => {
                shared.fail(batch, &why);
                return false;
            }
        };
        match answer {
            Answer::Done(results) => {
                let decided = shared.lock().apply(batch, &results, shared.grace);
                shared.reply(decided);
                if results.windows.iter().any(|window| !window.is_ready) {
                    shared.look.notify_one();
                }
                return true;
            }
            Answer::Unknown(generation) => {
                let mut table = shared.lock();
                if *table.generation == *generation {
                    table.note_conflict();
                }
                table.must_introduce = true;
                table.put_back(batch);
            }
            Answer::Invalid => {
                shared.fail(batch, "its response is not one of a gateway's script");
                return false;
            }
        }
    }
    let why = format!("another gateway uses the name `{}`: set `node`", shared.node);
    shared.fail(Batch::default(), &why);
    false
}

/// Puts sums of the ledger back, one window at a time. Returns whether Redis responded.
async fn restore(shared: &Arc<Shared>, connection: &mut Connection) -> bool {
    let (window, columns, generation) = {
        let mut table = shared.lock();
        let Some((window, columns)) = table.restores.pop_front() else { return true };
        (window, columns, Arc::clone(&table.generation))
    };
    let command = script::restore(&window, &generation, shared.grace, shared.now_ms(), &columns);
    match connection.run::<i64>(&command, shared.deadline).await {
        Ok(_) => {
            // The next step says whether it is complete.
            shared.lock().touch_window(&window);
            true
        }
        Err(why) => {
            shared.fail(Batch::default(), &why);
            false
        }
    }
}
