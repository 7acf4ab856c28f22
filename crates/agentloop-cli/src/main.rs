//! The `agentloop` command: every provider from a terminal.
//!
//! stdout is data, stderr is everything else, and the exit code says who has to act: see [`failure`].

mod args;
mod command;
mod failure;
mod files;
mod input;
mod notes;
mod output;
mod printable;
mod prompt;
mod setup;
mod sim;
#[cfg(feature = "otel")]
mod telemetry;
mod trust;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::Setup;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let notes = Notes::new(cli.quiet);
    match run(cli, notes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(notes),
    }
}

fn run(cli: Cli, notes: Notes) -> Result<(), Failure> {
    // It decides about files, so it must not depend on one.
    if let Command::Trust(args) = &cli.command {
        return command::trust::run(args, notes);
    }
    let setup = Setup::read(cli.config.as_deref(), notes)?;
    #[cfg(feature = "otel")]
    let _telemetry = telemetry::Telemetry::start(notes);
    // For a server Ctrl-C is the way to end, and a run keeps what it has: they listen for it themselves.
    let listens = matches!(cli.command, Command::Sim(_) | Command::Run(_));
    check_open_files()?;
    // One thread is enough for one call, and starts faster than a pool of them.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let result = runtime.block_on(async {
        tokio::select! {
            // The command goes first: while it reads stdin, Ctrl-C still has its usual meaning.
            biased;
            result = command::run(cli.command, &setup) => result,
            Ok(()) = tokio::signal::ctrl_c(), if !listens => Err(Failure::Interrupted),
        }
    });
    // A look-up of a name that still runs must not hold the exit up.
    runtime.shutdown_background();
    result
}

/// How many files the command needs to open at least: the runtime's own, those of signals, a connection and the look-up of a name.
const OPEN_FILES: usize = 12;

/// Checks that enough files can be opened. The runtime panics if it cannot open its own.
fn check_open_files() -> Result<(), Failure> {
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let mut open = Vec::with_capacity(OPEN_FILES);
    for _ in 0..OPEN_FILES {
        match std::fs::File::open(null) {
            Ok(file) => open.push(file),
            // 24: this process has too many open files; 23: the system has.
            Err(error) if matches!(error.raw_os_error(), Some(23 | 24)) => {
                return Err(Failure::OpenFiles { can: open.len(), needs: OPEN_FILES, error });
            }
            // Where there is no such file, the runtime finds out by itself.
            Err(_) => break,
        }
    }
    Ok(())
}
