//! The built-in simulated provider. No other module of the command imports `agentloop_sim`.

use std::path::Path;

pub(crate) use agentloop_sim::{Faults, Script, Server, Simulator, Turn, provider};

/// The model that responds if no provider is configured.
pub(crate) const ECHO: &str = "sim/echo";

/// Builds the simulator that `agentloop sim` serves. It follows the script, if one is given.
pub(crate) fn build(script: Option<&Path>) -> agentloop::Result<Simulator> {
    let simulator = Simulator::new();
    Ok(match script {
        Some(path) => simulator.with_script(Script::from_file(path)?),
        None => simulator,
    })
}
