//! `agentloop providers`: lists the providers and whether each is ready to use.

use std::collections::BTreeMap;

use agentloop::provider::Feature;
use agentloop::{AgentLoop, Provider};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;

/// Options of `agentloop providers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,

    /// List the features that each provider supports.
    #[arg(long)]
    matrix: bool,
}

/// A row of the table.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    name: String,
    address: String,
    key_variables: Vec<String>,
    state: State,
    /// States what to do, if something is missing.
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
            (Err(_), _) if !variables.is_empty() && !setup.is_configured(provider) => {
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
    let client = setup.build_client()?;
    if args.matrix {
        return show_matrix(args, &client);
    }
    let rows: Vec<Row> =
        client.providers().map(|provider| Row::new(provider, &client, setup)).collect();
    let mut output = Output::new();
    if args.json {
        output.write_document(&rows)?;
    } else {
        let head = ["NAME", "BASE URL", "KEY", "STATE", "PROTOCOL"].map(str::to_owned);
        let lines = rows.iter().map(|row| row.cells().to_vec());
        let lines: Vec<Vec<String>> = std::iter::once(head.to_vec()).chain(lines).collect();
        write_table(&lines, &mut output)?;
    }
    Ok(output.flush()?)
}

/// Prints which provider supports which feature.
fn show_matrix(args: &Args, client: &AgentLoop) -> Result<(), Failure> {
    let mut output = Output::new();
    if args.json {
        let rows: BTreeMap<&str, Vec<Feature>> = client
            .providers()
            .map(|provider| {
                let all = Feature::ALL.iter().copied();
                let features = all.filter(|feature| provider.supports(*feature)).collect();
                (provider.name.as_ref(), features)
            })
            .collect();
        output.write_document(&rows)?;
    } else {
        let head = Feature::ALL.iter().map(|feature| feature.name().to_owned());
        let mut lines = vec![std::iter::once("NAME".to_owned()).chain(head).collect()];
        for provider in client.providers() {
            let cells = Feature::ALL
                .iter()
                .map(|feature| if provider.supports(*feature) { "yes" } else { "-" }.to_owned());
            lines.push(std::iter::once(provider.name.to_string()).chain(cells).collect());
        }
        write_table(&lines, &mut output)?;
    }
    Ok(output.flush()?)
}

/// Prints lines of cells as aligned columns.
fn write_table(lines: &[Vec<String>], output: &mut Output) -> std::io::Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in lines {
        let cells: Vec<String> =
            line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        output.write_line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
