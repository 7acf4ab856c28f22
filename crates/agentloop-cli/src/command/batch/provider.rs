//! Sends the rows through the batch API of their provider.

use std::path::Path;

use agentloop::{AgentLoop, ChatRequest};

use super::Args;
use super::request::Plan;
use crate::command::batches::{Part, SentRow, State, fetch, find_lost, wait, wait_options};
use crate::command::rows::{Done, Results, Row, Source, hash_row};
use crate::failure::Failure;
use crate::files::Lock;
use crate::setup::Setup;

/// The most rows of one batch of the provider. Anthropic's description of its API allows 10,000 and others more.
const MAX_ROWS: usize = 10_000;

/// The most bytes of one batch, as estimated from the requests. Gemini takes the fewest: 20 MB (ai.google.dev, Batch API).
const MAX_BYTES: usize = 16 << 20;

/// Rows that are sent as one batch.
#[derive(Default)]
struct Group {
    rows: Vec<SentRow>,
    requests: Vec<ChatRequest>,
    bytes: usize,
}

pub(super) async fn run(
    args: &Args,
    setup: &Setup,
    client: &AgentLoop,
    source: &Source,
    plan: &Plan,
) -> Result<(), Failure> {
    let Some(output) = args.output.as_deref() else {
        return Err(Failure::input_with_hint(
            "--provider-batch needs a file for the results",
            "name it with --output FILE",
        ));
    };
    let path = State::path_of(output);
    let lock = Lock::take(&path).map_err(|error| Failure::file(&path, error))?;
    let Some(_lock) = lock else {
        return Err(Failure::file(&path, "another process is using this batch"));
    };
    let mut state = match path.exists() {
        true if !args.resume => {
            return Err(Failure::input_with_hint(
                format!("{} exists: a batch was submitted and not fetched", path.display()),
                "continue it with --resume, or choose another name for --output",
            ));
        }
        true => {
            let mut state = State::read(&path)?;
            find_lost(client, &mut state, &path).await?;
            state
        }
        false => State::new(args.full),
    };
    submit_missing(args, client, source, plan, &mut state, &path, output).await?;
    if state.parts.is_empty() {
        setup.notes.print_note("all rows have a result");
        return Ok(());
    }
    let rows: usize = state.parts.iter().map(|part| part.rows.len()).sum();
    let continues = format!("`agentloop batches watch {}` continues", output.display());
    if args.detach {
        setup.notes.print_note(&format!("{rows} rows are submitted; {continues}"));
        return Ok(());
    }
    setup.notes.print_note(&format!("{rows} rows are submitted; after Ctrl-C, {continues}"));
    wait(client, &state, wait_options(args.interval), setup.notes).await?;
    fetch(client, &mut state, &path, output, args.in_order, setup.notes).await
}

/// Submits the rows that have neither a result nor a batch.
async fn submit_missing(
    args: &Args,
    client: &AgentLoop,
    source: &Source,
    plan: &Plan,
    state: &mut State,
    path: &Path,
    output: &Path,
) -> Result<(), Failure> {
    // A batch without an id was not created, as far as its provider reports.
    state.parts.retain(|part| part.batch.id.is_some());
    let done = {
        let resume = args.resume;
        let check = &mut |head: &crate::command::rows::Head| Ok(head.dimensions.is_none());
        // The file is locked again when the results are written.
        let (_, mut done) = Results::to_file(output, resume, false, check)?;
        let sent = state.parts.iter().flat_map(|part| &part.rows);
        done.extend(sent.map(|row| (row.index, row.hash.clone())));
        done
    };
    let mut group = Group::default();
    for row in source.rows()? {
        let row = row?;
        let Some((sent, request)) = build(&row, plan, &done)? else { continue };
        let bytes = serde_json::to_vec(&request).map_or(0, |json| json.len());
        let is_full = group.rows.len() >= MAX_ROWS || group.bytes + bytes > MAX_BYTES;
        if is_full && !group.rows.is_empty() {
            submit(client, std::mem::take(&mut group), state, path).await?;
        }
        group.bytes += bytes;
        group.rows.push(sent);
        group.requests.push(request);
    }
    if group.rows.is_empty() { Ok(()) } else { submit(client, group, state, path).await }
}

/// Builds the request of a row, unless the row was sent before.
fn build(row: &Row, plan: &Plan, done: &Done) -> Result<Option<(SentRow, ChatRequest)>, Failure> {
    let hash = hash_row(row, "");
    match done.get(&row.index) {
        Some(before) if *before == hash => Ok(None),
        Some(_) => Err(Failure::input_with_hint(
            format!("row {} has changed since the first run", row.index + 1),
            "restore the file and the options, or choose another name for --output",
        )),
        None => Ok(Some((SentRow { index: row.index, hash }, plan.build(row)?))),
    }
}

/// Returns whether a provider that responds with this status has not created the batch. After a timeout it may have, and a conflict can be one
/// with the batch itself.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 408 | 409 | 499)
}

/// Submits rows as one batch. The state is saved before and after, so that the batch is found again if the process ends between the two.
async fn submit(
    client: &AgentLoop,
    group: Group,
    state: &mut State,
    path: &Path,
) -> Result<(), Failure> {
    let batches = client.batches();
    let prepared = batches.prepare(&group.requests).await?;
    let part = Part { batch: prepared.batch().clone(), rows: group.rows, fetched: false };
    state.parts.push(part);
    state.write(path)?;
    match batches.submit(prepared).await {
        Ok(batch) => {
            if let Some(part) = state.parts.last_mut() {
                part.batch = batch;
            }
            state.write(path)
        }
        Err(error) => {
            if error.status().is_some_and(is_refusal) {
                state.parts.pop();
                if state.parts.is_empty() { State::remove(path)? } else { state.write(path)? }
            }
            Err(error.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_that_shows_that_nothing_was_created_is_a_refusal() {
        assert!([400, 401, 403, 404, 413, 422, 429].into_iter().all(is_refusal));
        assert!(![200, 408, 409, 499, 500, 503].into_iter().any(is_refusal));
    }
}
