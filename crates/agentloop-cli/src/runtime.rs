//! Runs a command on a tokio runtime, and ends it on Ctrl-C.

use crate::args::Command;
use crate::command;
use crate::failure::Failure;
use crate::setup::Setup;

/// How many files the command must be able to open: those of the runtime and of signals, a connection and a DNS lookup.
const OPEN_FILES: usize = 12;

/// Runs the command to its end, or until Ctrl-C.
pub(crate) fn block_on(command: Command, setup: &Setup) -> Result<(), Failure> {
    // A server ends with Ctrl-C; a run, a batch and embeddings keep what they have.
    let handles_interrupt = match &command {
        Command::Batch(_) | Command::Serve(_) | Command::Sim(_) | Command::Run(_) => true,
        Command::Chat(args) => args.is_run(setup) || args.is_interactive(),
        Command::Embed(args) => args.handles_interrupt(),
        _ => false,
    };
    check_open_files()?;
    // A single thread is enough for one call, and starts faster than a pool. A server uses all processors.
    let mut builder = match &command {
        Command::Serve(_) => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    let runtime = builder.enable_all().build().map_err(Failure::Runtime)?;
    let result = runtime.block_on(async {
        tokio::select! {
            // The command is polled first, so Ctrl-C keeps its usual meaning while the command reads stdin.
            biased;
            result = command::run(command, setup) => result,
            Ok(()) = tokio::signal::ctrl_c(), if !handles_interrupt => Err(Failure::Interrupted),
        }
    });
    // A DNS lookup that is still running must not delay the exit.
    runtime.shutdown_background();
    result
}

/// Checks that enough files can be opened, because the runtime panics if it cannot open its own.
fn check_open_files() -> Result<(), Failure> {
    let null = if cfg!(windows) { "NUL" } else { "/dev/null" };
    let mut open = Vec::with_capacity(OPEN_FILES);
    for _ in 0..OPEN_FILES {
        match std::fs::File::open(null) {
            Ok(file) => open.push(file),
            // 24 (EMFILE): this process has too many open files. 23 (ENFILE): the system has.
            Err(error) if matches!(error.raw_os_error(), Some(23 | 24)) => {
                return Err(Failure::OpenFiles { can: open.len(), needs: OPEN_FILES, error });
            }
            // The null device does not exist here, so nothing can be checked.
            Err(_) => break,
        }
    }
    Ok(())
}
