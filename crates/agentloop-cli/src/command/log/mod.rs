//! `agentloop log`: lists, searches, shows, exports and deletes conversations.

mod args;
mod delete;
mod export;
mod list;
mod markdown;
mod show;
mod text;

use self::args::Action;
pub(crate) use self::args::Args;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;
use crate::store::{self, Store};

/// Runs the command. It needs no configuration, so a wrong one does not lock the user out of the log.
pub(crate) fn run(args: &Args, notes: Notes) -> Result<(), Failure> {
    match &args.action {
        None => list::list(&args.list, notes),
        Some(Action::List(args)) => list::list(args, notes),
        Some(Action::Search(args)) => list::search(args, notes),
        Some(Action::Show(args)) => show::show(args, notes),
        Some(Action::Export(args)) => export::export(args),
        Some(Action::Rename(args)) => rename(args, notes),
        Some(Action::Delete(args)) => delete::delete(args, notes),
        Some(Action::Path) => print_path(),
    }
}

/// Opens the file for a command that needs a conversation.
fn open() -> Result<Store, Failure> {
    Store::open_existing()?.ok_or_else(|| {
        Failure::input_with_hint(
            "there is no conversation yet",
            "conversations are stored by `agentloop chat`, unless --no-log or `[history] enabled = false` turns it off",
        )
    })
}

fn rename(args: &args::Rename, notes: Notes) -> Result<(), Failure> {
    let mut store = open()?;
    let conversation = store.find(&args.conversation)?;
    let name = Some(args.name.as_str()).filter(|name| !name.is_empty());
    store.rename(&conversation, name)?;
    let id = &conversation.id;
    notes.print_note(&match name {
        Some(name) => {
            format!("the conversation {id} has the name {}", printable::escape_name(name))
        }
        None => format!("the conversation {id} has no name"),
    });
    Ok(())
}

fn print_path() -> Result<(), Failure> {
    let path = store::find_file().ok_or_else(|| {
        Failure::input_with_hint(
            "no data folder is known",
            "set HOME, XDG_DATA_HOME or AGENTLOOP_DATA to an absolute path",
        )
    })?;
    let mut output = Output::new();
    output.write_untrusted(&path.to_string_lossy())?;
    output.write_text("\n")?;
    Ok(output.flush()?)
}
