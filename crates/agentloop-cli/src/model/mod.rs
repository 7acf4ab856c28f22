//! Chooses the model of a call.

mod default;
mod servers;

use std::io::IsTerminal as _;

pub(crate) use self::servers::is_listening;
use agentloop::models::ModelKind;
use agentloop::{AgentLoop, Provider};

use crate::argv::distance;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::setup::Setup;
use crate::simulator;

/// How many letters may be wrong in the name of a model that is suggested.
const MAX_TYPING_ERRORS: usize = 2;

/// The environment variable that names the default model.
pub(crate) const VARIABLE: &str = "AGENTLOOP_MODEL";

/// Chooses the model: the one on the command line, else the one of the environment, else the one of the configuration. The name may
/// be that of a provider, or of a model without its provider.
///
/// If none is named and exactly one provider is configured, returns that provider's default model. If none is configured, returns a
/// model of a local server, a model in the folders of `[local]` or the simulator's model with a note, but only at a terminal: a script without its key must fail.
pub(crate) async fn choose_model(
    typed: Option<&str>,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<String, Failure> {
    let named = typed.map(str::to_owned).or_else(|| default_name(setup));
    if let Some(name) = named {
        return complete_name(&name, client, setup).await;
    }
    let ready = ready_providers(client, setup);
    match ready.as_slice() {
        [] => choose_without_key(client, setup).await,
        [only] => {
            let model = default::of_provider(only, client).await?;
            setup.notes.print_note(&format!(
                "no model is given, so {model} is used; `agentloop use MODEL` sets a default"
            ));
            Ok(model)
        }
        [first, ..] => Err(Failure::input_with_hint(
            format!("no model is given; these providers are ready: {}", ready.join(", ")),
            format!(
                "name a model with -m, for example -m {first} for its default model, or set a default with `agentloop use \
                 MODEL`; `agentloop models {first}` lists the models"
            ),
        )),
    }
}

/// Returns a model that clients of a gateway can name, found without asking a provider: the simulator's if the gateway has it, else the
/// default model, else that of a provider with a key.
pub(crate) fn example(client: &AgentLoop, setup: &Setup) -> Option<String> {
    let is_known = |name: &String| {
        let provider = name.split_once('/').map(|(provider, _)| provider);
        client.providers().any(|it| Some(it.name.as_ref()) == provider)
    };
    let of_provider = |name: &String| Some(format!("{name}/{}", default::known(name.as_str())?));
    let simulated = Some(simulator::ECHO.to_owned());
    let found = simulated.filter(is_known).or_else(|| default_name(setup).filter(is_known));
    found.or_else(|| ready_providers(client, setup).iter().find_map(of_provider))
}

/// Returns the default model of the environment or the configuration.
pub(crate) fn default_name(setup: &Setup) -> Option<String> {
    let variable = std::env::var(VARIABLE).ok().filter(|name| !name.trim().is_empty());
    variable.or_else(|| setup.config.default_model.clone())
}

/// Completes the name of a model: `groq` is the default model of groq, and `gpt-4o` a model of the only configured provider that is
/// known to have it. All other names are returned as they are.
pub(crate) async fn complete_name(
    name: &str,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<String, Failure> {
    let is_provider = |name: &str| client.providers().any(|provider| provider.name == name);
    let is_complete = name.split_once('/').is_some_and(|(first, _)| is_provider(first));
    if is_complete || setup.config.aliases.contains_key(name) {
        return Ok(name.to_owned());
    }
    if is_provider(name) {
        return default::of_provider(name, client).await;
    }
    // The library sends a name without a provider to the default provider.
    if setup.config.default_provider.is_some() {
        return Ok(name.to_owned());
    }
    let catalog = client.catalog();
    let known: Vec<&Provider> = client
        .providers()
        .filter(|provider| catalog.lookup(&provider.name, name).is_some())
        .collect();
    let ready: Vec<String> = known
        .iter()
        .filter(|provider| setup.is_configured(provider))
        .map(|provider| format!("{}/{name}", provider.name))
        .collect();
    match (ready.as_slice(), known.as_slice()) {
        ([only], _) => Ok(only.clone()),
        ([], []) => match nearest(name, client, setup) {
            Some(near) => Err(Failure::input_with_hint(
                format!("no known model is named {name}"),
                format!("did you mean `{near}`? `agentloop models` lists the known ones"),
            )),
            None => Ok(name.to_owned()),
        },
        ([], known) => Err(describe_missing_key(name, known)),
        (ready, _) => Err(Failure::input_with_hint(
            format!("several configured providers have the model {name}"),
            format!("name one of them: {}", ready.join(", ")),
        )),
    }
}

/// Returns the known model whose name is most like `name`, preferably one of a configured provider. A name with a slash is left to the
/// library, which knows names of providers.
fn nearest(name: &str, client: &AgentLoop, setup: &Setup) -> Option<String> {
    if name.contains('/') {
        return None;
    }
    let catalog = client.catalog();
    let models = client.providers().flat_map(|provider| {
        let is_ready = setup.is_configured(provider);
        catalog.of_provider(&provider.name).into_iter().map(move |model| (is_ready, model.id))
    });
    let near = models.filter_map(|(is_ready, id)| {
        let (_, model) = id.split_once('/')?;
        // Most names are far longer or shorter: they need not be compared.
        let is_close = model.len().abs_diff(name.len()) <= MAX_TYPING_ERRORS;
        let errors =
            is_close.then(|| distance(name, model)).filter(|it| *it <= MAX_TYPING_ERRORS)?;
        Some((!is_ready, errors, id))
    });
    // The first of several, in the order of the documentation.
    near.min_by_key(|(is_unready, errors, _)| (*is_unready, *errors)).map(|(_, _, id)| id)
}

/// Completes the name of an embedding model. If only a provider is named, it must have exactly one known embedding model.
pub(crate) async fn choose_embedding_model(
    name: &str,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<String, Failure> {
    let is_provider = client.providers().any(|provider| provider.name == name);
    if !is_provider || setup.config.aliases.contains_key(name) {
        return complete_name(name, client, setup).await;
    }
    let known: Vec<String> = client
        .catalog()
        .of_provider(name)
        .into_iter()
        .filter(|model| model.kind == Some(ModelKind::Embedding) || model.dimensions.is_some())
        .map(|model| model.id)
        .collect();
    match known.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::input_with_hint(
            format!("no embedding model of {name} is known"),
            format!(
                "name the model, for example -m {name}/MODEL; `agentloop models {name}` lists the models"
            ),
        )),
        several => Err(Failure::input_with_hint(
            format!("{name} has several embedding models"),
            format!("name one of them: {}", several.join(", ")),
        )),
    }
}

/// Completes the name of a model for images, audio, reranking or moderation. The name of a provider alone is not enough, because
/// the model data does not say which of its models can do that.
pub(crate) async fn choose_task_model(
    name: &str,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<String, Failure> {
    let is_provider = client.providers().any(|provider| provider.name == name);
    if !is_provider || setup.config.aliases.contains_key(name) {
        return complete_name(name, client, setup).await;
    }
    Err(Failure::input_with_hint(
        format!("{name} is a provider, not a model"),
        format!(
            "name the model, for example -m {name}/MODEL; `agentloop models {name}` lists the models"
        ),
    ))
}

fn describe_missing_key(name: &str, known: &[&Provider]) -> Failure {
    let names: Vec<&str> = known.iter().map(|provider| provider.name.as_ref()).collect();
    let keys: Vec<&str> = known
        .iter()
        .filter_map(|provider| provider.key.variables().first())
        .map(AsRef::as_ref)
        .collect();
    Failure::input_with_hint(
        format!("{name} is a model of {}, but no such provider has a key", names.join(", ")),
        if keys.is_empty() {
            format!("name the provider, for example -m PROVIDER/{name}")
        } else {
            format!("set {}, or store a key with `agentloop setup`", keys.join(" or "))
        },
    )
}

/// Returns the names of the configured providers.
fn ready_providers(client: &AgentLoop, setup: &Setup) -> Vec<String> {
    let ready = client.providers().filter(|provider| setup.is_configured(provider));
    ready.map(|provider| provider.name.to_string()).collect()
}

/// Chooses a model if no provider is configured.
async fn choose_without_key(client: &AgentLoop, setup: &Setup) -> Result<String, Failure> {
    let variables: Vec<&str> = client
        .providers()
        .flat_map(|provider| provider.key.variables().first())
        .map(AsRef::as_ref)
        .take(3)
        .collect();
    let keys = variables.join(", ");
    let found = crate::local::find_model(setup.config.local.as_ref());
    if !is_interactive(setup.notes) {
        let found = found.map(|model| format!(", use the local model with -m {model}"));
        return Err(Failure::input_with_hint(
            "no model is given and no provider has a key",
            format!(
                "store a key with `agentloop setup`, or set a variable such as {keys} (`agentloop providers` lists all){}; to test \
                 without a key, use the simulator with -m {}, or take the tour with `agentloop demo`",
                found.unwrap_or_default(),
                simulator::ECHO,
            ),
        ));
    }
    if let Some(model) = servers::find_model(client).await {
        setup.notes.print_note(&format!(
            "no key is set, so the local server is used ({model}); `agentloop use {model}` makes it the default"
        ));
        return Ok(model);
    }
    if let Some(model) = found {
        setup.notes.print_note(&format!(
            "no key is set, so the local model {model} is used; `agentloop use {model}` makes it the default"
        ));
        return Ok(model);
    }
    setup.notes.print_note(&format!(
        "no key is set, so this response is simulated ({}); to use a real model, run `agentloop setup`, or set a key such as \
         {keys} and name a model with -m",
        simulator::ECHO,
    ));
    Ok(simulator::ECHO.to_owned())
}

/// Returns whether a person is at the terminal.
fn is_interactive(notes: Notes) -> bool {
    std::io::stdin().is_terminal() && notes.is_terminal()
}
