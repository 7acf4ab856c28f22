//! `agentloop trust`: trusts a configuration file.

use std::path::{Path, PathBuf};

use agentloop::Config;

use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;
use crate::trust::{Candidate, Store, Verdict, describe_settings};

/// Options of `agentloop trust`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file to trust [default: the agentloop.toml of the current folder or the nearest one above it]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// List the files that you have trusted, and those that you have refused with "never".
    #[arg(long, conflicts_with_all = ["file", "revoke"])]
    list: bool,

    /// Forget the decision about the file.
    #[arg(long)]
    revoke: bool,
}

pub(crate) fn run(args: &Args, notes: Notes) -> Result<(), Failure> {
    if args.list {
        return list();
    }
    let path = match &args.file {
        Some(path) => path.clone(),
        None => find_nearest()?,
    };
    if args.revoke { revoke(&path, notes) } else { trust(&path, notes) }
}

/// Returns the file that would be used in the current folder if it were trusted.
fn find_nearest() -> Result<PathBuf, Failure> {
    let mut found = Config::find().into_iter();
    found.find(|file| file.needs_trust()).map(|file| file.path).ok_or_else(|| {
        Failure::input_with_hint(
            "there is no agentloop.toml in the current folder or above it",
            "name a file, for example `agentloop trust path/to/agentloop.toml`; the file in your configuration folder and files \
             that --config or AGENTLOOP_CONFIG name are always trusted",
        )
    })
}

fn trust(path: &Path, notes: Notes) -> Result<(), Failure> {
    let file = Candidate::read(path)?;
    let restricted = file.restricted_settings()?;
    if let Some(obstacle) = file.obstacle {
        return Err(Failure::input_with_hint(
            format!("{} cannot be trusted because it {obstacle}", file.path.display()),
            "use it with --config FILE, or copy it to a file of your own",
        ));
    }
    let name = file.path.to_string_lossy();
    let name = printable::escape_name(&name);
    if restricted.is_empty() {
        notes.print_note(&format!("{name} has no setting that needs trust"));
    }
    for line in describe_settings(&restricted) {
        notes.print_plain(&line);
    }
    file.remember(Verdict::Trusted)?;
    notes.print_note(&format!("{name} is trusted until it changes"));
    Ok(())
}

fn revoke(path: &Path, notes: Notes) -> Result<(), Failure> {
    // A file that no longer exists can still be forgotten by its path.
    let absolute = path.canonicalize().or_else(|_| std::path::absolute(path));
    let path = absolute.map_err(|error| Failure::file(path, error))?;
    let known =
        Store::change(|store| path.to_str().and_then(|name| store.files.remove(name)).is_some())?;
    let name = path.to_string_lossy();
    let name = printable::escape_name(&name);
    if !known {
        return Err(Failure::input_with_hint(
            format!("there is no decision about {name}"),
            "list all decisions with `agentloop trust --list`",
        ));
    }
    notes.print_note(&format!("{name} is no longer trusted"));
    Ok(())
}

fn list() -> Result<(), Failure> {
    let store = Store::load().map_err(Failure::input)?;
    let mut output = Output::new();
    for (path, entry) in &store.files {
        let verdict = match entry.verdict {
            Verdict::Trusted => "trusted",
            Verdict::Refused => "refused",
        };
        output.write_line(&format!("{verdict}\t{}", printable::escape_name(path)))?;
    }
    Ok(output.flush()?)
}
