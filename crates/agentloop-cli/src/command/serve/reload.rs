//! Reads the configuration again when its files change, or on SIGHUP.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use agentloop_gateway::Gateway;

use super::signals::Hangup;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::Setup;

/// How often the files are looked at.
const EVERY: Duration = Duration::from_secs(2);

/// What a gateway is configured by.
pub(super) struct Files {
    /// The file of `--config`.
    pub(super) named: Option<PathBuf>,
    pub(super) all: Vec<PathBuf>,
    /// Whether the command line asks for the simulator.
    pub(super) has_simulator: bool,
}

/// Reloads the configuration until the task ends. A configuration that is not valid changes nothing.
pub(super) async fn watch(gateway: Gateway, files: Files, mut signal: Hangup, notes: Notes) {
    let mut last = times(&files.all);
    loop {
        let asked = tokio::select! {
            () = tokio::time::sleep(EVERY) => false,
            () = signal.wait() => true,
        };
        let now = times(&files.all);
        if !asked && now == last {
            continue;
        }
        last = now;
        match reload(&gateway, &files, notes) {
            Ok(()) => notes.print_note("the configuration was read again"),
            Err(failure) => {
                notes.print_note("the configuration is not valid, and changes nothing:");
                failure.report(notes);
            }
        }
    }
}

fn reload(gateway: &Gateway, files: &Files, notes: Notes) -> Result<(), Failure> {
    let setup = Setup::read(files.named.as_deref(), notes)?;
    let config = setup.config.gateway.clone().unwrap_or_default();
    let state = super::build_state(&setup.build_gateway_client(files.has_simulator)?, &config)?;
    gateway.reload(state);
    Ok(())
}

/// Returns when each file was changed.
fn times(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    let time = |path: &PathBuf| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    files.iter().map(time).collect()
}
