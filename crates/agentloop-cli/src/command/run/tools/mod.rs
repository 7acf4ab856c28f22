//! The built-in tools. None is available unless it is named, and those that read or change anything need approval.

mod calculator;
mod clock;
#[cfg(unix)]
mod command;
pub(super) mod files;

use std::path::Path;

use agentloop::agent::Tool;

use crate::failure::Failure;
use files::Root;

/// The names of the built-in tools.
pub(in crate::command) const NAMES: [&str; 7] =
    ["time", "calculator", "read_file", "list_files", "search_files", "edit_file", "run_command"];

/// Builds the tools with these names, each once. The file tools use `root` and its subfolders
/// only; commands start there.
pub(super) fn build_tools(names: &[String], root: &Path) -> Result<Vec<Tool>, Failure> {
    let mut tools: Vec<Tool> = Vec::new();
    for name in names {
        if tools.iter().any(|tool| tool.name() == name) {
            continue;
        }
        tools.push(match name.as_str() {
            "time" => clock::tool(),
            "calculator" => calculator::tool(),
            "read_file" => files::read::tool(Root::open(root)?),
            "list_files" => files::list::tool(Root::open(root)?),
            "search_files" => files::search::tool(Root::open(root)?),
            "edit_file" => files::edit::tool(Root::open(root)?),
            #[cfg(unix)]
            "run_command" => command::tool(root)?,
            _ => {
                let known = NAMES.join(", ");
                return Err(Failure::input_with_hint(
                    format!("unknown tool `{name}`"),
                    format!("the built-in tools are: {known}"),
                ));
            }
        });
    }
    Ok(tools)
}

/// Builds the calculator.
pub(in crate::command) fn calculator() -> Tool {
    calculator::tool()
}
