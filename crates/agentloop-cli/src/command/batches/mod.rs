//! `agentloop batches`: batches that a provider processes.

mod args;
mod fetch;
mod state;

use std::path::{Path, PathBuf};

use agentloop::{AgentLoop, BatchStatus};

use self::args::Action;
pub(crate) use self::args::Args;
pub(in crate::command) use self::args::wait_options;
pub(in crate::command) use self::fetch::{fetch, wait};
pub(in crate::command) use self::state::{Part, SentRow, State};
use crate::failure::Failure;
use crate::files::Lock;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;
use crate::time;

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    match &args.action {
        Action::List { provider, json } => list(&client, provider, *json).await,
        Action::Status { file } => show(&client, file).await,
        Action::Watch { file, interval } => {
            let (mut opened, output) = open(&client, file).await?;
            wait(&client, &opened.state, wait_options(*interval), setup.notes).await?;
            fetch(&client, &mut opened.state, &opened.path, &output, false, setup.notes).await
        }
        Action::Fetch { file } => {
            let (mut opened, output) = open(&client, file).await?;
            fetch(&client, &mut opened.state, &opened.path, &output, false, setup.notes).await
        }
        Action::Cancel { file } => cancel(&client, file).await,
    }
}

/// A state file that is in use.
struct Opened {
    state: State,
    path: PathBuf,
    _lock: Lock,
}

/// Opens a state file to write results. Returns it with the path of the output.
async fn open(client: &AgentLoop, typed: &Path) -> Result<(Opened, PathBuf), Failure> {
    let (output, path) = State::paths(typed);
    if !path.exists() {
        return Err(State::missing(&path));
    }
    let lock = Lock::take(&path).map_err(|error| Failure::file(&path, error))?;
    let Some(lock) = lock else {
        return Err(Failure::file(&path, "another process is using this batch"));
    };
    let mut state = State::read(&path)?;
    find_lost(client, &mut state, &path).await?;
    check_submitted(&state)?;
    Ok((Opened { state, path, _lock: lock }, output))
}

/// Reads a state file that another process may be using.
async fn look_at(client: &AgentLoop, typed: &Path) -> Result<State, Failure> {
    let (_, path) = State::paths(typed);
    if !path.exists() {
        return Err(State::missing(&path));
    }
    let mut state = State::read(&path)?;
    for part in state.parts.iter_mut().filter(|part| part.batch.id.is_none()) {
        if let Some(found) = client.batches().find(&part.batch).await? {
            part.batch = found;
        }
    }
    check_submitted(&state)?;
    Ok(state)
}

fn check_submitted(state: &State) -> Result<(), Failure> {
    if state.parts.iter().all(|part| part.batch.id.is_some()) {
        Ok(())
    } else {
        Err(Failure::input_with_hint(
            "some rows were not submitted",
            "repeat the command `agentloop batch` with --resume, which submits them",
        ))
    }
}

/// Looks for batches that were submitted, but whose ids were not saved.
pub(in crate::command) async fn find_lost(
    client: &AgentLoop,
    state: &mut State,
    path: &Path,
) -> Result<(), Failure> {
    let mut has_changed = false;
    for part in state.parts.iter_mut().filter(|part| part.batch.id.is_none()) {
        if let Some(found) = client.batches().find(&part.batch).await? {
            part.batch = found;
            has_changed = true;
        }
    }
    if has_changed { state.write(path) } else { Ok(()) }
}

async fn list(client: &AgentLoop, provider: &str, json: bool) -> Result<(), Failure> {
    let batches = client.batches().list(provider).await?;
    let mut output = Output::new();
    if json {
        output.write_document(&batches)?;
        return Ok(output.flush()?);
    }
    let mut table = Table::new(["BATCH", "STATE", "DONE", "FAILED", "ROWS", "CREATED"]);
    for batch in &batches {
        let count = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
        table.push(vec![
            batch.id.clone(),
            batch.state.as_str().to_owned(),
            count(batch.counts.succeeded),
            count(batch.counts.failed),
            count(batch.counts.total),
            format_moment(batch.created),
        ]);
    }
    table.write(&mut output)?;
    Ok(output.flush()?)
}

/// Formats seconds since 1970.
pub(in crate::command) fn format_moment(seconds: Option<i64>) -> String {
    match seconds.and_then(|seconds| seconds.checked_mul(1_000)) {
        // Beyond the year 9999 there is nothing to format.
        Some(moment) if (0..253_402_300_800_000).contains(&moment) => time::format_utc(moment),
        _ => "-".to_owned(),
    }
}

async fn show(client: &AgentLoop, typed: &Path) -> Result<(), Failure> {
    let state = look_at(client, typed).await?;
    let mut output = Output::new();
    for part in &state.parts {
        output.write_document(&client.batches().status(&part.batch).await?)?;
    }
    Ok(output.flush()?)
}

async fn cancel(client: &AgentLoop, typed: &Path) -> Result<(), Failure> {
    let state = look_at(client, typed).await?;
    let mut output = Output::new();
    for part in &state.parts {
        let status = client.batches().status(&part.batch).await?;
        let status: BatchStatus = if status.state.is_final() {
            status
        } else {
            client.batches().cancel(&part.batch).await?
        };
        output.write_document(&status)?;
    }
    Ok(output.flush()?)
}
