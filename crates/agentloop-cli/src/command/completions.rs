//! `agentloop completions`: prints a script that completes commands, options and names of tools in a shell.

use agentloop::{Config, ToolsConfig};
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;

use crate::args::Cli;
use crate::command::run::local_names;
use crate::failure::Failure;
use crate::output::Output;

/// Options of `agentloop completions`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut command = with_names(Cli::command(), &read_tools());
    clap_complete::generate(args.shell, &mut command, "agentloop", &mut script);
    let mut output = Output::new();
    output.write_text(&String::from_utf8_lossy(&script))?;
    Ok(output.flush()?)
}

/// Reads the tools of the user's own configuration. One that cannot be read adds no names.
fn read_tools() -> ToolsConfig {
    let own = Config::find().into_iter().find(|file| !file.needs_trust());
    own.and_then(|file| Config::read(file.path).ok()).map(|config| config.tools).unwrap_or_default()
}

/// Adds the names of tools, groups and servers to the options that accept them.
fn with_names(command: Command, config: &ToolsConfig) -> Command {
    // The parser needs names that live as long as the process, which ends after this.
    let fixed = |name: &str| -> &'static str { name.to_owned().leak() };
    let local: Vec<&'static str> = local_names(config).map(fixed).collect();
    let servers: Vec<&'static str> = config.servers.keys().map(|name| fixed(name)).collect();
    let groups = config.groups.keys().map(|name| fixed(name));
    let tools: Vec<&'static str> = local.iter().copied().chain(groups).collect();
    let add = |argument: Arg| {
        let names = match argument.get_id().as_str() {
            "tools" | "name" => &tools,
            "servers" => &servers,
            "allowed" | "denied" => &local,
            _ => return argument,
        };
        argument.value_parser(PossibleValuesParser::new(names.clone()))
    };
    // Unlike `mut_arg`, this keeps the order of positional arguments.
    let mut command = command;
    for name in ["chat", "run"] {
        command = command.mut_subcommand(name, |chat| chat.mut_args(add));
    }
    command.mut_subcommand("tools", |tools| {
        tools.mut_args(add).mut_subcommand("try", |one| one.mut_args(add))
    })
}
