//! `agentloop providers`: who is known, and who is ready.

use agentloop::{AgentLoop, Provider};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A JSON list in place of the table.
    #[arg(long)]
    json: bool,
}

/// A row of the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    address: String,
    key_variables: Vec<String>,
    state: State,
    /// What to do, where something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
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
            (Err(_), _) if !variables.is_empty() && !setup.is_set_up(provider) => {
                (State::KeyMissing, Some(format!("set {}", variables.join(" or "))))
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
                agentloop::inspect::shown_address(&address)
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
            State::AddressMissing => "address missing",
        };
        let key = match self.key_variables.join(", ") {
            none if none.is_empty() => "-".to_owned(),
            variables => variables,
        };
        [
            self.name.clone(),
            self.address.clone(),
            key,
            match &self.hint {
                Some(hint) => format!("{state}: {hint}"),
                None => state.to_owned(),
            },
            self.protocol.to_owned(),
        ]
    }
}

pub(crate) fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let client = setup.client()?;
    let rows: Vec<Row> =
        client.providers().map(|provider| Row::new(provider, &client, setup)).collect();
    let mut output = Output::new();
    if args.json {
        output.document(&rows)?;
    } else {
        table(&rows, &mut output)?;
    }
    Ok(output.flush()?)
}

fn table(rows: &[Row], output: &mut Output) -> std::io::Result<()> {
    let head = ["NAME", "ADDRESS", "KEY", "STATE", "PROTOCOL"].map(str::to_owned);
    let lines: Vec<[String; 5]> =
        std::iter::once(head).chain(rows.iter().map(Row::cells)).collect();
    let mut widths = [0; 5];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for line in &lines {
        let cells: Vec<String> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
