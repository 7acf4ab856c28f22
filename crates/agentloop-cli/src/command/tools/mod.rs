//! `agentloop tools`: lists the tools, shows one, and tries one.

mod list;
mod show;
mod try_one;

use agentloop::AgentLoop;
use agentloop::agent::Agent;

use crate::command::run::{Kit, Selection};
use crate::failure::Failure;
use crate::setup::Setup;
use crate::simulator;

/// Options of `agentloop tools`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    /// Show this tool with its parameters. Tools of a configured MCP server are written as 'github:get_issue'.
    #[arg(value_name = "NAME", value_parser = crate::command::run::ToolNames, hide_possible_values = true)]
    name: Option<String>,

    /// Start this MCP server and list its tools: a name of the configuration, a command or a URL. Can be repeated.
    #[arg(long = "mcp", value_name = "NAME|CMD|URL")]
    servers: Vec<String>,

    /// Start all MCP servers of the configuration and list their tools.
    #[arg(long, conflicts_with = "name")]
    all: bool,

    /// Print JSON, with the parameters of each tool.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Run a tool once, with arguments of yours, and print its result as a model receives it.
    ///
    /// The tool is confined as in a run, and asks for approval at the terminal, or with --allow. Without a terminal and
    /// without --allow the exit code is 3.
    ///
    /// Example: agentloop tools try read_file path=README.md to_line=3
    Try(try_one::Args),
}

pub(crate) async fn run(args: &Args, setup: &Setup) -> Result<(), Failure> {
    match (&args.action, &args.name) {
        (Some(Action::Try(args)), _) => try_one::run(args, setup).await,
        (None, Some(name)) => show::run(name, args, setup).await,
        (None, None) => list::run(args, setup).await,
    }
}

/// Builds the tools of a selection, and starts its servers.
async fn build(
    client: AgentLoop,
    selection: Selection<'_>,
    setup: &Setup,
) -> Result<(Agent, Kit), Failure> {
    selection.build(Agent::new(client), &setup.config.tools, setup.notes).await
}

/// Returns a client for agents that call no model.
fn idle_client() -> Result<AgentLoop, Failure> {
    Ok(AgentLoop::builder().provider(simulator::provider()).build()?)
}
