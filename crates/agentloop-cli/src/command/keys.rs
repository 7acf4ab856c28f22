//! `agentloop keys`: lists, stores and removes keys.

use agentloop::provider::KeySource;
use agentloop::{AgentLoop, Provider};
use serde::Serialize;

use crate::failure::Failure;
use crate::input;
use crate::keys::{StoredKeys, parse_key};
use crate::notes::Notes;
use crate::output::Output;
use crate::prompt::read_hidden_line;
use crate::setup::{Setup, is_set};
use crate::table::Table;

/// Options of `agentloop keys`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the keys that are set and where they come from. Keys are not printed.
    List,
    /// Store the key of a provider. It is read from stdin, or asked for at a terminal without being shown.
    ///
    /// The file can be read only by you. A key in the environment or in the configuration is used instead of a stored one.
    ///
    /// Example: agentloop keys set groq < key.txt
    Set {
        /// The provider, for example groq.
        provider: String,
    },
    /// Remove the stored key of a provider.
    Remove {
        /// The provider, for example groq.
        provider: String,
    },
}

/// A key that is set.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    provider: String,
    /// Where the key comes from.
    source: String,
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    match &args.action {
        None | Some(Action::List) => list(args.json, setup),
        Some(Action::Set { provider }) => {
            check_provider(provider, &setup.build_client()?)?;
            let key = parse_key(&read_key(provider, setup.notes).await?)?;
            let path = StoredKeys::set(provider, &key)?;
            let path = path.display();
            setup.notes.print_note(&format!("the key of {provider} is stored in {path}"));
            Ok(())
        }
        Some(Action::Remove { provider }) => match StoredKeys::remove(provider)? {
            true => {
                setup.notes.print_note(&format!("the stored key of {provider} is removed"));
                Ok(())
            }
            false => Err(Failure::input_with_hint(
                format!("no key of {provider} is stored"),
                "`agentloop keys` lists the keys and where they come from",
            )),
        },
    }
}

/// Returns the usual error if the provider is not known.
pub(crate) fn check_provider(name: &str, client: &AgentLoop) -> Result<(), Failure> {
    match client.providers().any(|provider| provider.name == name) {
        true => Ok(()),
        false => Ok(client.base_url(name).map(drop)?),
    }
}

/// Reads a key from stdin, without showing it at a terminal.
async fn read_key(provider: &str, notes: Notes) -> Result<String, Failure> {
    match read_hidden_line(&format!("Key of {provider} (not shown): "), notes).await? {
        Some(line) => Ok(line),
        None => input::read_text(),
    }
}

fn list(json: bool, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let mut rows: Vec<Row> = Vec::new();
    for provider in client.providers() {
        let source = find_source(provider, setup);
        rows.extend(source.map(|source| Row { provider: provider.name.to_string(), source }));
    }
    let mut output = Output::new();
    if json {
        output.write_document(&rows)?;
    } else {
        let mut table = Table::new(["PROVIDER", "KEY FROM"]);
        let is_empty = rows.is_empty();
        rows.into_iter().for_each(|row| table.push(vec![row.provider, row.source]));
        if is_empty {
            setup.notes.print_note("no key is set; store one with `agentloop setup`");
        } else {
            table.write(&mut output)?;
        }
    }
    Ok(output.flush()?)
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
