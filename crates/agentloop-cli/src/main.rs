//! The `agentloop` command: every LLM provider from a terminal.
//!
//! Data goes to stdout and everything else to stderr. The exit code reports who has to act: see [`failure`].

mod args;
mod argv;
mod command;
mod context;
mod extract;
mod failure;
mod files;
#[cfg(test)]
#[path = "../../agentloop/tests/it/support/folder.rs"]
mod folder;
mod gateway_redis;
mod gateway_store;
mod input;
mod keys;
mod local;
mod model;
mod notes;
mod output;
#[cfg(test)]
#[path = "../../agentloop/tests/it/support/patience.rs"]
mod patience;
mod printable;
mod prompt;
mod render;
mod runtime;
mod screen;
mod setup;
mod simulator;
mod store;
mod table;
#[cfg(feature = "otel")]
mod telemetry;
mod template;
mod time;
mod trust;
mod user_config;
mod walk;

use std::process::ExitCode;

#[cfg(all(feature = "jemalloc", not(test), any(target_os = "linux", target_os = "macos")))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

use crate::args::{Cli, Command};
use crate::argv::{Parsed, Refusal};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::Setup;

fn main() -> ExitCode {
    // Parts of the work run in processes of their own.
    if let Some(code) = local::guard().or_else(context::convert_page) {
        return code;
    }
    let Parsed { cli, meant } = match argv::parse(std::env::args_os()) {
        Ok(parsed) => parsed,
        Err(Refusal::Usage(error)) => error.exit(),
        Err(Refusal::Command(failure)) => return failure.report(Notes::new(false)),
    };
    let notes = Notes::new(cli.quiet);
    let result = run(cli, notes);
    screen::status::clear();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.with_guess(meant).report(notes),
    }
}

/// Returns the file of this program, to start it again. It may be replaced while the program runs, which the system's own name of it
/// survives.
fn own_program() -> std::io::Result<std::path::PathBuf> {
    let linux = cfg!(target_os = "linux").then(|| Ok("/proc/self/exe".into()));
    linux.unwrap_or_else(std::env::current_exe)
}

fn run(cli: Cli, notes: Notes) -> Result<(), Failure> {
    // `trust` decides whether configuration files are used, so it runs before one is read. The others need none.
    match &cli.command {
        Command::Trust(args) => return command::trust::run(args, notes),
        Command::Completions(args) => return command::completions::run(args),
        Command::Man(args) => return command::man::run(args, notes),
        // The log can be read whatever the configuration contains.
        Command::Log(args) => return command::log::run(args, notes),
        // A file with an error must be editable.
        Command::Config(args) if args.is_edit() => {
            return command::config_edit::run(cli.config.as_deref(), notes);
        }
        _ => {}
    }
    let setup = Setup::read(cli.config.as_deref(), notes)?;
    #[cfg(feature = "otel")]
    let _telemetry = telemetry::Telemetry::start(notes);
    runtime::block_on(cli.command, &setup)
}
