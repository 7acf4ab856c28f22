//! Waits for the batches of a state file, and writes their results.

use std::path::Path;

use agentloop::{AgentLoop, BatchStatus, WaitOptions};

use super::state::State;
use crate::command::batch::describe;
use crate::command::rows::{Line, Outcome, Progress, Results};
use crate::failure::Failure;
use crate::notes::Notes;

/// Waits until all batches have ended. Ctrl-C stops waiting; the batches continue.
pub(in crate::command) async fn wait(
    client: &AgentLoop,
    state: &State,
    options: WaitOptions,
    notes: Notes,
) -> Result<(), Failure> {
    let batches = client.batches();
    let open = state.parts.iter().filter(|part| !part.fetched);
    for part in open {
        let show = |status: &BatchStatus| notes.set_status(&describe_status(status));
        let waiting = batches.watch(&part.batch, options, show);
        let ended = tokio::select! {
            ended = waiting => ended,
            interrupted = tokio::signal::ctrl_c() => {
                notes.set_status("");
                interrupted.map_err(Failure::Runtime)?;
                return Err(Failure::Interrupted);
            }
        };
        notes.set_status("");
        ended?;
    }
    Ok(())
}

fn describe_status(status: &BatchStatus) -> String {
    let counts = &status.counts;
    let done = counts.succeeded.unwrap_or(0).saturating_add(counts.failed.unwrap_or(0));
    match counts.total {
        Some(total) => format!("{}: {done} of {total}", status.state.as_str()),
        None => status.state.as_str().to_owned(),
    }
}

/// Writes the results of all batches to the output, and removes the state file. Rows that the output already has are not written again.
pub(in crate::command) async fn fetch(
    client: &AgentLoop,
    state: &mut State,
    path: &Path,
    output: &Path,
    in_order: bool,
    notes: Notes,
) -> Result<(), Failure> {
    let (mut results, done) =
        Results::to_file(output, true, in_order, &mut |head| Ok(head.dimensions.is_none()))?;
    let total = state.parts.iter().map(|part| part.rows.len() as u64).sum();
    let mut progress = Progress::new(total, notes);
    if in_order {
        for index in done.keys() {
            results.skip(*index)?;
        }
    }
    let ended = write_parts(client, state, path, &mut results, &done, &mut progress, notes).await;
    results.finish(ended.is_ok())?;
    ended?;
    State::remove(path)?;
    notes.print_note(&progress.summarize());
    match progress.failed {
        0 => Ok(()),
        1 => Err(Failure::Response("1 row failed; --resume sends it again".to_owned())),
        failed => {
            Err(Failure::Response(format!("{failed} rows failed; --resume sends them again")))
        }
    }
}

async fn write_parts(
    client: &AgentLoop,
    state: &mut State,
    path: &Path,
    results: &mut Results,
    done: &crate::command::rows::Done,
    progress: &mut Progress,
    notes: Notes,
) -> Result<(), Failure> {
    let full = state.full;
    for at in 0..state.parts.len() {
        let Some(part) = state.parts.get_mut(at).filter(|part| !part.fetched) else { continue };
        let mut reading = client.batches().read(&part.batch).await?;
        while let Some(result) = reading.next().await {
            let result = result?;
            let Some(row) = part.rows.get(result.index) else { continue };
            if done.get(&row.index).is_some_and(|hash| *hash == row.hash) {
                progress.skipped += 1;
                continue;
            }
            let outcome = match result.response {
                Ok(response) => {
                    progress.done += 1;
                    progress.tokens += response.usage.total_tokens.unwrap_or(0);
                    // The price list has the usual price, which is not that of a batch.
                    let cost = response.cost.as_ref().map(|cost| cost.usd);
                    match cost {
                        Some(cost) => progress.spent = progress.spent + cost,
                        None => progress.unpriced += 1,
                    }
                    Outcome::Result(describe(None, &response, full, cost))
                }
                Err(error) => {
                    progress.failed += 1;
                    Outcome::of_error(&error)
                }
            };
            let line = Line { index: row.index, hash: row.hash.clone(), result: outcome };
            let text = serde_json::to_string(&line)
                .map_err(|error| Failure::Response(format!("cannot write a result: {error}")))?;
            results.write(line.index, text)?;
            progress.show();
        }
        progress.hide();
        notes.print_warnings(reading.warnings());
        // A process that is interrupted later does not download these results again. A part is not marked before all of its results are on
        // disk: they would be lost with the process, or with the power.
        if results.is_on_disk()? {
            part.fetched = true;
            state.write(path)?;
        }
    }
    Ok(())
}
