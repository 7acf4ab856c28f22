//! Lists, stores and removes keys of providers.

use agentloop::provider::KeySource;
use agentloop::{AgentLoop, Provider};
use serde::Serialize;

use crate::failure::Failure;
use crate::keys::{StoredKeys, parse_key};
use crate::notes::Notes;
use crate::prompt::read_hidden_line;
use crate::setup::{Setup, is_set};
use crate::{gateway_store, input};

/// A key that is set.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ProviderKey {
    pub(super) provider: String,
    /// Where the key comes from.
    pub(super) source: String,
}

/// Stores the key of a provider.
pub(super) async fn set(provider: &str, setup: &Setup) -> Result<(), Failure> {
    check_provider(provider, &setup.build_client()?)?;
    let key = parse_key(&read_key(provider, setup.notes).await?)?;
    let path = StoredKeys::set(provider, &key)?;
    let path = path.display();
    setup.notes.print_note(&format!("the key of {provider} is stored in {path}"));
    Ok(())
}

/// Removes the stored key of a provider.
pub(super) async fn remove(provider: &str, setup: &Setup) -> Result<(), Failure> {
    if StoredKeys::remove(provider)? {
        setup.notes.print_note(&format!("the stored key of {provider} is removed"));
        return Ok(());
    }
    let config = setup.config.gateway.clone().unwrap_or_default();
    let keys = match gateway_store::open_existing(&config) {
        Ok(Some(database)) => database.load_keys().await.map(|table| table.keys),
        _ => Ok(Vec::new()),
    };
    // The names of keys of both kinds are in one list.
    let is_client = keys
        .is_ok_and(|keys| keys.iter().any(|key| key.name == provider && key.revoked_ms.is_none()));
    Err(Failure::input_with_hint(
        format!("no key of {provider} is stored"),
        if is_client {
            format!(
                "`{provider}` is a key of the gateway's clients: `agentloop keys revoke {provider}`"
            )
        } else {
            "`agentloop keys` lists the keys and where they come from".to_owned()
        },
    ))
}

/// Returns the usual error if the provider is not known.
pub(crate) fn check_provider(name: &str, client: &AgentLoop) -> Result<(), Failure> {
    if client.providers().any(|provider| provider.name == name) {
        Ok(())
    } else {
        Ok(client.base_url(name).map(drop)?)
    }
}

/// Reads a key from stdin, without showing it at a terminal.
async fn read_key(provider: &str, notes: Notes) -> Result<String, Failure> {
    match read_hidden_line(&format!("Key of {provider} (not shown): "), notes).await? {
        Some(line) => Ok(line),
        None => input::read_text(),
    }
}

/// Returns the keys that are set.
pub(super) fn list(setup: &Setup) -> Result<Vec<ProviderKey>, Failure> {
    let client = setup.build_client()?;
    let mut keys = Vec::new();
    for provider in client.providers() {
        let source = find_source(provider, setup);
        keys.extend(
            source.map(|source| ProviderKey { provider: provider.name.to_string(), source }),
        );
    }
    Ok(keys)
}

/// Describes where the key of a provider comes from; `None` if it has none.
fn find_source(provider: &Provider, setup: &Setup) -> Option<String> {
    let variable = provider.key.variables().iter().find(|variable| is_set(variable));
    match (&provider.key, variable) {
        (KeySource::File(path), _) => Some(format!("the file {}", path.display())),
        (KeySource::Value(_), _) => Some("the configuration".to_owned()),
        (_, Some(variable)) => Some(format!("the variable {variable}")),
        (_, None) => setup.keys.get(&provider.name).map(|_| "the stored keys".to_owned()),
    }
}
