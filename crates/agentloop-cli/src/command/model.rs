//! Which model to ask when none is named.

use agentloop::AgentLoop;

use crate::failure::Failure;
use crate::setup::Setup;
use crate::sim;

/// The variable that names the model.
const VARIABLE: &str = "AGENTLOOP_MODEL";

/// The model that was typed, else that of the environment, else that of the configuration. Without any, and with no
/// provider set up, the simulator's.
pub(crate) fn choose(
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
        .filter(|provider| setup.is_set_up(provider))
        .map(|provider| provider.name.as_ref())
        .collect();
    if let Some(first) = ready.first() {
        return Err(Failure::input_with_hint(
            format!("no model is named; {} could answer", ready.join(", ")),
            format!(
                "name one with -m {first}/MODEL, {VARIABLE} or `default_model` in agentloop.toml; \
                 `agentloop models {first}` lists them"
            ),
        ));
    }
    let variables: Vec<&str> = client
        .providers()
        .flat_map(|provider| provider.key.variables().first())
        .map(AsRef::as_ref)
        .take(3)
        .collect();
    setup.notes.note(&format!(
        "no key is set, so the simulator answers ({}); set {} or another provider's key (`agentloop providers` \
         lists them) and name a model with -m",
        sim::ECHO,
        variables.join(", "),
    ));
    Ok(sim::ECHO.to_owned())
}
