//! Lists the tools.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{Args, build, idle_client};
use crate::command::run::{Kit, Offered, Selection, Source, local_names};
use crate::failure::Failure;
use crate::output::Output;
use crate::setup::Setup;
use crate::table::Table;

/// A line of the list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    name: String,
    /// `built in`, `program`, `group`, or `MCP server` with its name.
    from: String,
    /// `asks`, `allowed`, or `-` if the line is not a tool.
    approval: &'static str,
    description: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    parameters: Value,
}

impl Row {
    pub(super) fn of(offered: &Offered, kit: &Kit) -> Self {
        let definition = offered.tool.definition();
        Self {
            name: offered.tool.name().to_owned(),
            from: match &offered.source {
                Source::BuiltIn => "built in".to_owned(),
                Source::Program => "program".to_owned(),
                Source::Server { name, .. } => format!("MCP server {name}"),
            },
            approval: if kit.asks(offered) { "asks" } else { "allowed" },
            description: definition.description.clone().unwrap_or_default(),
            parameters: definition.parameters.clone().unwrap_or_default(),
        }
    }

    /// Creates a line that is not a tool.
    fn other(name: String, from: &str, description: String) -> Self {
        let parameters = Value::Null;
        Self { name, from: from.to_owned(), approval: "-", description, parameters }
    }

    /// Formats everything about the tool.
    pub(super) fn describe(&self) -> String {
        let approval = match self.approval {
            "asks" => "asks for approval",
            _ => "runs without approval",
        };
        let schema = serde_json::to_string_pretty(&self.parameters).unwrap_or_default();
        format!(
            "{} ({}, {approval})\n\n{}\n\n{schema}\n",
            self.name,
            self.from,
            self.description.trim()
        )
    }
}

pub(super) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    let config = &setup.config.tools;
    let mut servers = args.servers.clone();
    if args.all {
        let enabled = config.servers.iter().filter(|(_, server)| server.enabled);
        servers.extend(enabled.map(|(name, _)| name.clone()));
        servers.dedup();
    }
    let words = local_names(config).map(|name| (vec![name.to_owned()], Vec::new()));
    let of_servers = servers.iter().map(|server| (Vec::new(), vec![server.clone()]));
    let client = idle_client()?;
    let (mut rows, mut has_failed) = (Vec::new(), false);
    // Each is built for itself, so one that fails does not hide the others.
    for (words, servers) in words.chain(of_servers) {
        let selection = Selection {
            words: &words,
            servers: &servers,
            allowed: &[],
            denied: &[],
            root: Path::new("."),
        };
        match build(client.clone(), selection, setup).await {
            Ok((_, kit)) => rows.extend(kit.tools.iter().map(|offered| Row::of(offered, &kit))),
            Err(failure) => {
                let _ = failure.report(setup.notes);
                has_failed = true;
            }
        }
    }
    for (name, members) in &config.groups {
        rows.push(Row::other(name.clone(), "group", members.join(", ")));
    }
    for (name, server) in config.servers.iter().filter(|(name, _)| !servers.contains(name)) {
        let about = if server.enabled {
            format!("not started; `agentloop tools --mcp {name}` lists its tools")
        } else {
            "disabled".to_owned()
        };
        rows.push(Row::other(format!("{name}:*"), "MCP server", about));
    }
    print(rows, args.json)?;
    if has_failed { Err(Failure::Shown) } else { Ok(()) }
}

pub(super) fn print(rows: Vec<Row>, is_json: bool) -> Result<(), Failure> {
    let mut output = Output::new();
    if is_json {
        output.write_document(&rows)?;
        return Ok(output.flush()?);
    }
    let mut table = Table::new(["TOOL", "FROM", "APPROVAL", "DESCRIPTION"]);
    for row in rows {
        let about = row.description.lines().next().unwrap_or_default().to_owned();
        table.push(vec![row.name, row.from, row.approval.to_owned(), about]);
    }
    table.write(&mut output)?;
    Ok(output.flush()?)
}
