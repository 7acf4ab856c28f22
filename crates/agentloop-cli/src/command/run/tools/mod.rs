//! The built-in tools. They only read: none of them changes anything on this machine.

mod calculator;
mod clock;
mod files;

use std::path::Path;

use agentloop::agent::Tool;

use crate::failure::Failure;
use files::Root;

/// The names of the built-in tools.
pub(super) const NAMES: [&str; 4] = ["time", "calculator", "read_file", "list_files"];

/// Builds the tools with these names, each once. The file tools read `root` and its subfolders.
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
