//! `agentloop trust`: lets the settings of a configuration file count.

use std::path::{Path, PathBuf};

use agentloop::Config;

use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;
use crate::trust::{Candidate, Store, Verdict, shown};

/// What was typed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file; without it, the agentloop.toml of this folder or of the nearest one above it.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// List the files that are trusted, and those that are refused for good.
    #[arg(long, conflicts_with_all = ["file", "revoke"])]
    list: bool,

    /// Forget what was decided about the file.
    #[arg(long)]
    revoke: bool,
}

pub(crate) fn run(args: &Args, notes: Notes) -> Result<(), Failure> {
    if args.list {
        return list();
    }
    let path = match &args.file {
        Some(path) => path.clone(),
        None => nearest()?,
    };
    if args.revoke { revoke(&path, notes) } else { trust(&path, notes) }
}

/// Returns the file that would be used here if it were trusted.
fn nearest() -> Result<PathBuf, Failure> {
    let mut found = Config::find().into_iter();
    found.find(|file| file.needs_trust()).map(|file| file.path).ok_or_else(|| {
        Failure::input_with_hint(
            "there is no agentloop.toml in this folder or above it",
            "the file in your configuration folder, and one that --config or AGENTLOOP_CONFIG names, need no trust",
        )
    })
}

fn trust(path: &Path, notes: Notes) -> Result<(), Failure> {
    let file = Candidate::read(path)?;
    let restricted = file.restricted()?;
    if let Some(obstacle) = file.obstacle {
        return Err(Failure::input_with_hint(
            format!("{} cannot be trusted: it {obstacle}", file.path.display()),
            "name it with --config, or copy it",
        ));
    }
    let name = file.path.to_string_lossy();
    let name = printable::name(&name);
    if restricted.is_empty() {
        notes.note(&format!("{name} has no setting that needs trust"));
    }
    for line in shown(&restricted) {
        notes.plain(&line);
    }
    file.remember(Verdict::Trusted)?;
    notes.note(&format!("{name} is trusted until it changes"));
    Ok(())
}

fn revoke(path: &Path, notes: Notes) -> Result<(), Failure> {
    // A file that is gone can still be forgotten, by the path it had.
    let path = path.canonicalize().or_else(|_| std::path::absolute(path));
    let path = path.map_err(|error| Failure::input(error.to_string()))?;
    let known =
        Store::change(|store| path.to_str().and_then(|name| store.files.remove(name)).is_some())?;
    let name = path.to_string_lossy();
    let name = printable::name(&name);
    if !known {
        return Err(Failure::input_with_hint(
            format!("nothing was decided about {name}"),
            "`agentloop trust --list` lists what was",
        ));
    }
    notes.note(&format!("{name} is not trusted any more"));
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
        output.line(&format!("{verdict}\t{}", printable::name(path)))?;
    }
    Ok(output.flush()?)
}
