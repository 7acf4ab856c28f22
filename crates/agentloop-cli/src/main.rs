//! The `agentloop` command: every provider from a terminal.
//!
//! stdout is data, stderr is everything else, and the exit code says who has to act: see [`failure`].

mod args;
mod command;
mod failure;
mod input;
mod notes;
mod output;
mod setup;
mod sim;
#[cfg(feature = "otel")]
mod telemetry;

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
    let setup = Setup::read(cli.config.as_deref(), notes)?;
    #[cfg(feature = "otel")]
    let _telemetry = telemetry::Telemetry::start(notes);
    // For a server Ctrl-C is the way to end, and a run keeps what it has: they listen for it themselves.
    let listens = matches!(cli.command, Command::Sim(_) | Command::Run(_));
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
