//! The simulated provider: the one place that knows where it comes from.

use std::path::Path;

use agentloop_sim::{Model, Script};
pub(crate) use agentloop_sim::{Simulator, provider};

/// The model that answers when no provider is set up.
pub(crate) const ECHO: &str = "sim/echo";

/// The simulator to serve: it follows the script, if there is one.
pub(crate) fn simulator(script: Option<&Path>) -> agentloop::Result<Simulator> {
    let simulator = Simulator::new();
    Ok(match script {
        Some(path) => simulator.with_model(Model::from_script(Script::from_file(path)?)),
        None => simulator,
    })
}
