//! Lists conversations and matches: a table on a terminal, columns in a pipe, or JSON.

use std::time::Duration;

use serde_json::{Value, json};

use super::args::{List, Search};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;
use crate::screen::{terminal, width};
use crate::store::{Conversation, FOUND, Hit, Store, now};
use crate::table::Table;
use crate::time::format_utc;

pub(super) fn list(args: &List, notes: Notes) -> Result<(), Failure> {
    let store = Store::open_existing()?;
    let found = match &store {
        Some(store) => store.list(args.number)?,
        None => Vec::new(),
    };
    let mut output = Output::new();
    if args.json {
        output.write_document(&found.iter().map(to_json).collect::<Vec<_>>())?;
        return Ok(output.flush()?);
    }
    if found.is_empty() {
        notes.print_note("no conversation is stored");
    } else if output.is_terminal() {
        let head = ["ID", "USED", "MESSAGES", "COST", "MODEL", "TITLE"];
        let mut table = Table::new(head).keeping_last();
        found.iter().for_each(|talk| table.push(to_row(talk)));
        table.write(&mut output)?;
    } else {
        for talk in &found {
            let cost = talk.cost.map(|cost| cost.to_string()).unwrap_or_else(|| "-".to_owned());
            let name = talk.name.as_deref().unwrap_or("-");
            let (updated, messages) = (format_utc(talk.updated), talk.messages.to_string());
            write_columns(
                &mut output,
                &[&talk.id, &updated, &messages, &cost, &talk.model, name, &talk.title],
            )?;
        }
    }
    Ok(output.flush()?)
}

pub(super) fn search(args: &Search, notes: Notes) -> Result<(), Failure> {
    let hits = match Store::open_existing()? {
        Some(store) => store.search(&args.words.join(" "), args.number)?,
        None => Vec::new(),
    };
    let mut output = Output::new();
    if args.json {
        let hits: Vec<Value> = hits.iter().map(hit_to_json).collect();
        output.write_document(&hits)?;
        return Ok(output.flush()?);
    }
    if hits.is_empty() {
        notes.print_note("nothing was found");
    }
    let columns = output.width();
    for hit in &hits {
        let role = hit.role.as_deref().unwrap_or("title");
        match columns {
            Some(columns) => show_hit(&mut output, hit, role, columns)?,
            None => {
                write_columns(&mut output, &[&hit.conversation.id, role, &plain(&hit.snippet)])?;
            }
        }
    }
    Ok(output.flush()?)
}

/// Prints a match in two lines, with the words that were found in bold.
fn show_hit(output: &mut Output, hit: &Hit, role: &str, columns: usize) -> Result<(), Failure> {
    let talk = &hit.conversation;
    let head = format!("{}  {}  {}", talk.id, format_age(talk.updated), title(talk));
    output.write_line(&width::shorten(&printable::escape_line(&head), columns))?;
    let (bold, plain) = if terminal::has_colors() { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    // The marks are control characters, which escaping changes: the text between them is escaped piece by piece.
    let mut line = format!("  {role}: ");
    for piece in hit.snippet.split_inclusive([FOUND.0, FOUND.1]) {
        let text = piece.trim_end_matches([FOUND.0, FOUND.1]).replace('\n', " ");
        line.push_str(&printable::escape_line(&text));
        match piece.chars().next_back() {
            Some(mark) if mark == FOUND.0 => line.push_str(bold),
            Some(mark) if mark == FOUND.1 => line.push_str(plain),
            _ => {}
        }
    }
    Ok(output.write_line(&line)?)
}

fn plain(snippet: &str) -> String {
    snippet.replace([FOUND.0, FOUND.1], "")
}

/// Writes a line of columns separated by tabs. Tabs and line breaks in them are escaped.
fn write_columns(output: &mut Output, columns: &[&str]) -> Result<(), Failure> {
    let escaped: Vec<_> = columns.iter().map(|column| printable::escape_name(column)).collect();
    Ok(output.write_line(&escaped.join("\t"))?)
}

fn to_row(talk: &Conversation) -> Vec<String> {
    vec![
        talk.id.clone(),
        format_age(talk.updated),
        talk.messages.to_string(),
        talk.cost.map(|cost| format!("${cost}")).unwrap_or_default(),
        talk.model.clone(),
        title(talk),
    ]
}

/// Returns the name and the title.
fn title(talk: &Conversation) -> String {
    match &talk.name {
        Some(name) => format!("[{name}] {}", talk.title),
        None => talk.title.clone(),
    }
}

pub(super) fn to_json(talk: &Conversation) -> Value {
    json!({
        "id": talk.id,
        "name": talk.name,
        "title": talk.title,
        "model": talk.model,
        "system": talk.system,
        "created": format_utc(talk.created),
        "updated": format_utc(talk.updated),
        "messages": talk.messages,
        "costUsd": talk.cost,
    })
}

fn hit_to_json(hit: &Hit) -> Value {
    json!({
        "id": hit.conversation.id,
        "name": hit.conversation.name,
        "title": hit.conversation.title,
        "updated": format_utc(hit.conversation.updated),
        "role": hit.role,
        "text": plain(&hit.snippet),
    })
}

/// Formats how long ago a time was.
pub(super) fn format_age(time: i64) -> String {
    let past = Duration::from_millis(now().saturating_sub(time).max(0).unsigned_abs()).as_secs();
    match past {
        0..60 => "now".to_owned(),
        60..3_600 => format!("{} min", past / 60),
        3_600..86_400 => format!("{} h", past / 3_600),
        _ => format!("{} d", past / 86_400),
    }
}
