//! The tools that come with the command. They only look: nothing on this machine is changed by them.

mod calculator;
mod clock;
mod files;

use std::path::Path;

use agentloop::agent::Tool;

use crate::failure::Failure;
use files::Root;

/// What they are called.
pub(super) const NAMES: [&str; 4] = ["time", "calculator", "read_file", "list_files"];

/// The tools of these names, each once. Those for files see `root` and what is below it.
pub(super) fn named(names: &[String], root: &Path) -> Result<Vec<Tool>, Failure> {
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
                return Err(Failure::input(format!(
                    "there is no tool `{name}`; there are: {known}"
                )));
            }
        });
    }
    Ok(tools)
}
