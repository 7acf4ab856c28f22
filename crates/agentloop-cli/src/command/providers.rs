//! `agentloop providers`: lists the providers and whether each is ready to use.

use agentloop::credential::CredentialSource;
use agentloop::{AgentLoop, Provider};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// Options of `agentloop providers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// A row of the table.
#[agentloop_macros::skip_serializing_none]
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    address: String,
    key_variables: Vec<String>,
    state: State,
    /// States what to do, if something is missing.
    hint: Option<String>,
    protocol: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Ready,
    NoKeyNeeded,
    KeyMissing,
    KeyUnusable,
    AddressMissing,
}

impl Row {
    fn new(provider: &Provider, client: &AgentLoop, setup: &Setup) -> Self {
        let variables: Vec<String> =
            provider.key.variables().iter().map(|variable| variable.to_string()).collect();
        let address = client.base_url(&provider.name);
        let (state, hint) = match (client.check_key(&provider.name), &address) {
            (Err(error), _) if !variables.is_empty() && !setup.is_configured(provider) => {
                let hint = match provider.credential {
                    CredentialSource::None => format!("set {}", variables.join(" or ")),
                    _ => format!("{}: {}", error.message(), error.hint().unwrap_or_default()),
                };
                (State::KeyMissing, Some(hint))
            }
            (Err(error), _) => (State::KeyUnusable, Some(error.message().to_owned())),
            (_, Err(error)) => (State::AddressMissing, error.hint().map(str::to_owned)),
            (Ok(true), _) => (State::Ready, None),
            (Ok(false), _) => (State::NoKeyNeeded, None),
        };
        let address = address.unwrap_or_else(|_| provider.base_url.to_string());
        Self {
            name: provider.name.to_string(),
            address: if provider.transport.is_some() {
                "in process".to_owned()
            } else {
                agentloop::inspect::shown_url(&address)
            },
            key_variables: variables,
            state,
            hint,
            protocol: provider.protocol.name(),
        }
    }

    fn cells(&self) -> [String; 5] {
        let state = match self.state {
            State::Ready => "ready",
            State::NoKeyNeeded => "no key needed",
            State::KeyMissing => "key missing",
            State::KeyUnusable => "key unusable",
            State::AddressMissing => "base URL incomplete",
        };
        let key = match self.key_variables.join(", ") {
            none if none.is_empty() => "-".to_owned(),
            variables => variables,
        };
        let state = match &self.hint {
            // The name of the key has a column of its own.
            Some(hint) if self.state != State::KeyMissing => format!("{state}: {hint}"),
            _ => state.to_owned(),
        };
        [self.name.clone(), state, key, self.address.clone(), self.protocol.to_owned()]
    }
}

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.build_client()?;
    let rows: Vec<Row> =
        client.providers().map(|provider| Row::new(provider, &client, setup)).collect();
    let mut output = Output::new();
    if args.json {
        output.write_document(&rows)?;
    } else {
        let mut table = Table::new(["NAME", "STATE", "KEY", "BASE URL", "PROTOCOL"]);
        rows.iter().for_each(|row| table.push(row.cells().to_vec()));
        table.write(&mut output)?;
    }
    Ok(output.flush()?)
}
