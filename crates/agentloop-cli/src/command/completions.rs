//! `agentloop completions`: prints a script that completes commands and options in a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
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
    clap_complete::generate(args.shell, &mut Cli::command(), "agentloop", &mut script);
    let mut output = Output::new();
    output.write_text(&String::from_utf8_lossy(&script))?;
    Ok(output.flush()?)
}
