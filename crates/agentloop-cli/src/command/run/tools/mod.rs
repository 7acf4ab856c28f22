//! The built-in tools. None is available unless it is named, and those that read or change anything need approval.

mod clock;
#[cfg(unix)]
mod command;
pub(super) mod environment;
pub(super) mod files;
mod page;
mod process;
mod program;

use std::path::Path;

use agentloop::ToolsConfig;
use agentloop::agent::Tool;

use super::kit::{Offered, Source};
use crate::failure::Failure;
use files::Root;

/// The names of the built-in tools.
pub(in crate::command) const NAMES: [&str; 7] =
    ["time", "read_file", "list_files", "search_files", "edit_file", "run_command", "fetch_page"];

/// The built-in tool that needs no approval.
pub(super) const FREE: &str = "time";

/// Builds the built-in tools and the programs with these names. The file tools use `root` and its subfolders only; commands and
/// programs start there.
pub(super) fn build_tools(
    names: &[String],
    config: &ToolsConfig,
    root: &Path,
) -> Result<Vec<Offered>, Failure> {
    let build = |name: &String| match config.programs.get(name) {
        Some(program) => {
            let tool = program::tool(name, program, root)?;
            Ok(Offered { tool, source: Source::Program })
        }
        None => Ok(Offered { tool: build_tool(name, config, root)?, source: Source::BuiltIn }),
    };
    names.iter().map(build).collect()
}

fn build_tool(name: &str, config: &ToolsConfig, root: &Path) -> Result<Tool, Failure> {
    Ok(match name {
        "time" => clock::tool(),
        "read_file" => files::read::tool(Root::open(root)?),
        "list_files" => files::list::tool(Root::open(root)?),
        "search_files" => files::search::tool(Root::open(root)?),
        "edit_file" => files::edit::tool(Root::open(root)?),
        #[cfg(unix)]
        "run_command" => command::tool(root)?,
        "fetch_page" => page::tool(config.fetch_private)?,
        _ => {
            let known = NAMES.join(", ");
            return Err(Failure::input_with_hint(
                format!("unknown tool `{name}`"),
                format!("the built-in tools are: {known}"),
            ));
        }
    })
}

/// Builds the clock.
pub(in crate::command) fn clock() -> Tool {
    clock::tool()
}
