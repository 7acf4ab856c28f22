//! `agentloop man`: prints the manual page, or writes the pages of all commands to a folder.

use std::path::{Path, PathBuf};

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::args::Cli;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;

/// Options of `agentloop man`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write the pages of the command and of its subcommands to this folder [default: print the page of the command]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, notes: Notes) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        let mut output = Output::new();
        output.write_text(&String::from_utf8_lossy(&page))?;
        return Ok(output.flush()?);
    };
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    let mut count = 1;
    write_page(command.clone(), "agentloop", folder)?;
    for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help") {
        write_page(subcommand.clone(), &format!("agentloop-{}", subcommand.get_name()), folder)?;
        count += 1;
    }
    notes.print_note(&format!("{count} pages are written to {}", folder.display()));
    Ok(())
}

fn write_page(command: clap::Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let mut page = Vec::new();
    // The name of a page must live as long as the program.
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    Man::new(command.name(name)).render(&mut page)?;
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page).map_err(|error| Failure::file(&path, error))
}
