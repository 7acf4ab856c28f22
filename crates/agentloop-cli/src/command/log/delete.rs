//! Deletes conversations.

use super::args::Delete;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable;
use crate::prompt::Prompt;
use crate::store::{Conversation, now};

/// How many conversations a question lists.
const LISTED: usize = 10;

pub(super) fn delete(args: &Delete, notes: Notes) -> Result<(), Failure> {
    let mut store = super::open()?;
    let mut talks: Vec<Conversation> = Vec::new();
    if let Some(age) = args.older_than {
        let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        talks = store.list_before(now().saturating_sub(age))?;
    } else if args.all {
        talks = store.list_before(i64::MAX)?;
    }
    for word in &args.conversations {
        let talk = store.find(word)?;
        if talks.iter().all(|other| other.id != talk.id) {
            talks.push(talk);
        }
    }
    if talks.is_empty() {
        notes.print_note("there is nothing to delete");
        return Ok(());
    }
    if !args.yes && !is_confirmed(&talks, notes)? {
        notes.print_note("nothing was deleted");
        return Ok(());
    }
    store.delete(&talks)?;
    notes.print_note(&format!("deleted {}", count(talks.len())));
    Ok(())
}

/// Asks at the terminal.
fn is_confirmed(talks: &[Conversation], notes: Notes) -> Result<bool, Failure> {
    let number = count(talks.len());
    let Some(prompt) = Prompt::at_terminal(notes) else {
        let hint = "there is no terminal to ask at; add --yes to delete without a question";
        return Err(Failure::input_with_hint(format!("{number} would be deleted"), hint));
    };
    let mut lines: Vec<String> = talks
        .iter()
        .take(LISTED)
        .map(|talk| format!("{}  {}", talk.id, printable::escape_name(&talk.title)))
        .collect();
    if talks.len() > LISTED {
        lines.push(format!("… and {} more", talks.len() - LISTED));
    }
    prompt.show(&prompt.fold_lines(lines));
    let reply = prompt.ask_blocking(&format!("Delete {number}? [y]es, [n]o (default: no): "));
    let reply = reply.unwrap_or_default();
    Ok(matches!(reply.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn count(number: usize) -> String {
    match number {
        1 => "1 conversation".to_owned(),
        number => format!("{number} conversations"),
    }
}
