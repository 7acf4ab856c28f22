//! `agentloop setup`: asks for a provider and its key, tests the key and sets a default model.

use agentloop::{AgentLoop, ErrorKind, Secret};

use super::keys::check_provider;
use super::use_model::set_default;
use crate::failure::Failure;
use crate::keys::{StoredKeys, parse_key};
use crate::model;
use crate::prompt::{Prompt, read_hidden_line};
use crate::setup::Setup;

/// How many times a key is asked for.
const MAX_KEYS: u32 = 3;

/// Options of `agentloop setup`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The provider, for example groq [default: you are asked]
    #[arg(value_name = "PROVIDER")]
    provider: Option<String>,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let Some(prompt) = Prompt::at_terminal(setup.notes) else {
        return Err(Failure::input_with_hint(
            "setup asks questions, so stdin and stderr must be a terminal",
            "in a script, store a key with `agentloop keys set PROVIDER < FILE` and a model with `agentloop use MODEL`",
        ));
    };
    let client = setup.build_client()?;
    let provider = match &args.provider {
        Some(provider) => provider.clone(),
        None => ask_provider(&client, &prompt)?,
    };
    check_provider(&provider, &client)?;
    let needs_key =
        client.providers().any(|row| row.name == provider && !row.key.variables().is_empty());
    let client = if needs_key { ask_key(&provider, &client, setup).await? } else { client };
    ask_model(&provider, &client, &prompt, setup).await
}

fn ask_provider(client: &AgentLoop, prompt: &Prompt) -> Result<String, Failure> {
    let names: Vec<&str> = client
        .providers()
        .filter(|row| row.transport.is_none())
        .map(|row| row.name.as_ref())
        .collect();
    prompt.show(&prompt.fold_lines([format!("The providers are: {}", names.join(", "))]));
    let reply = prompt.ask_blocking("Provider: ").unwrap_or_default();
    match reply.trim() {
        "" => Err(Failure::input("no provider is given")),
        name => Ok(name.to_owned()),
    }
}

/// Asks for a key until the provider accepts one, stores it, and returns a client that uses it.
///
/// A key is also stored if it cannot be tested, for example without a network.
async fn ask_key(provider: &str, client: &AgentLoop, setup: &Setup) -> Result<AgentLoop, Failure> {
    let row = client.providers().find(|row| row.name == provider);
    if let Some(url) = row.and_then(|row| row.key_url.as_deref()) {
        setup.notes.print_note(&format!("keys of {provider} are created at {url}"));
    }
    for _ in 0..MAX_KEYS {
        let question = format!("Key of {provider} (not shown): ");
        let line = match read_hidden_line(&question, setup.notes).await? {
            Some(line) if !line.trim().is_empty() => line,
            _ => return Err(Failure::input("no key is given; nothing is stored")),
        };
        let key = match parse_key(&line) {
            Ok(key) => key,
            Err(Failure::Input { message, hint }) => {
                setup.notes.print_error(&message, hint.as_deref());
                continue;
            }
            Err(failure) => return Err(failure),
        };
        if let Some(client) = test_key(provider, &key, client, setup).await? {
            let path = StoredKeys::set(provider, &key)?;
            setup.notes.print_note(&format!("the key is stored in {}", path.display()));
            return Ok(client);
        }
    }
    Err(Failure::input("no key was accepted; nothing is stored"))
}

/// Lists the models with the key. Returns `None` if the provider refuses the key.
async fn test_key(
    provider: &str,
    key: &Secret,
    client: &AgentLoop,
    setup: &Setup,
) -> Result<Option<AgentLoop>, Failure> {
    let client = client.with_key(provider, key.clone())?;
    let lists_models = client.providers().any(|row| row.name == provider && row.serves.models);
    if !lists_models {
        setup
            .notes
            .print_note(&format!("{provider} does not list models, so the key is not tested"));
        return Ok(Some(client));
    }
    match client.models(provider).await {
        Ok(models) => {
            setup
                .notes
                .print_note(&format!("the key works: {provider} lists {} models", models.len()));
        }
        Err(error) if error.kind() == ErrorKind::Auth => {
            setup.notes.print_error(&error.to_string(), error.hint());
            return Ok(None);
        }
        Err(error) => setup.notes.print_note(&format!("the key cannot be tested: {error}")),
    }
    Ok(Some(client))
}

async fn ask_model(
    provider: &str,
    client: &AgentLoop,
    prompt: &Prompt,
    setup: &Setup,
) -> Result<(), Failure> {
    let suggested = model::complete_name(provider, client, setup).await.ok();
    let question = match &suggested {
        Some(model) => format!("Default model [Enter for {model}, - for none]: "),
        None => format!("Default model, as {provider}/MODEL [Enter for none]: "),
    };
    let reply = prompt.ask_blocking(&question).unwrap_or_default();
    let model = match (reply.trim(), suggested) {
        ("", Some(model)) => model,
        ("" | "-", _) => return Ok(()),
        (typed, _) => model::complete_name(typed, client, setup).await?,
    };
    client.resolve(&model)?;
    set_default(&model, setup)
}
