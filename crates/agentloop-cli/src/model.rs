//! Chooses the model of a call.

use std::io::IsTerminal as _;

use agentloop::AgentLoop;

use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::Setup;
use crate::simulator;

/// The environment variable that names the default model.
const VARIABLE: &str = "AGENTLOOP_MODEL";

/// Chooses the model: the one on the command line, else the one of the environment, else the one of the configuration.
///
/// If none is named and no provider is configured, returns the simulator's model and prints a note, but only at a terminal: a script
/// without its key must fail.
pub(crate) fn choose_model(
    typed: Option<&str>,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<String, Failure> {
    let named = typed
        .map(str::to_owned)
        .or_else(|| std::env::var(VARIABLE).ok().filter(|name| !name.trim().is_empty()))
        .or_else(|| setup.config.default_model.clone());
    if let Some(model) = named {
        return Ok(model);
    }
    let ready: Vec<&str> = client
        .providers()
        .filter(|provider| setup.is_configured(provider))
        .map(|provider| provider.name.as_ref())
        .collect();
    if let Some(first) = ready.first() {
        return Err(Failure::input_with_hint(
            format!("no model is given; these providers are ready: {}", ready.join(", ")),
            format!(
                "name a model with -m {first}/MODEL, with the variable {VARIABLE} or with `default_model` in \
                 agentloop.toml; `agentloop models {first}` lists the models"
            ),
        ));
    }
    let variables: Vec<&str> = client
        .providers()
        .flat_map(|provider| provider.key.variables().first())
        .map(AsRef::as_ref)
        .take(3)
        .collect();
    if !is_interactive(setup.notes) {
        return Err(Failure::input_with_hint(
            "no model is given and no provider has a key",
            format!(
                "set a key such as {} and name a model with -m; `agentloop providers` lists all keys; to test without a key, use \
                 the simulator with -m {}",
                variables.join(", "),
                simulator::ECHO,
            ),
        ));
    }
    setup.notes.print_note(&format!(
        "no key is set, so this response is simulated ({}); to use a real model, set a key such as {} and name a \
         model with -m (`agentloop providers` lists all keys)",
        simulator::ECHO,
        variables.join(", "),
    ));
    Ok(simulator::ECHO.to_owned())
}

/// Returns whether a person is at the terminal.
fn is_interactive(notes: Notes) -> bool {
    std::io::stdin().is_terminal() && notes.is_terminal()
}
