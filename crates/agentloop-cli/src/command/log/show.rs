//! Prints a conversation for people.

use agentloop::Role;

use super::args;
use super::text::{self, Piece, describe_response, pieces};
use crate::command::chat::print_code;
use crate::extract::Which;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable::{FRAME, escape_line, escape_name};
use crate::store::StoredMessage;

/// How many characters of a call's arguments are shown.
const MAX_ARGUMENTS: usize = 200;

pub(super) fn show(args: &args::Show, notes: Notes) -> Result<(), Failure> {
    let store = super::open()?;
    let talk = store.find(&args.conversation)?;
    let messages = store.messages(&talk)?;
    let mut output = Output::new();
    if args.json {
        output.write_document(&text::to_json(&talk, &messages))?;
        return Ok(output.flush()?);
    }
    let which = match (args.extract, args.extract_last) {
        (true, _) => Some(Which::First),
        (_, true) => Some(Which::Last),
        _ => None,
    };
    if let Some(which) = which {
        let mut last = messages.iter().rev().map(|stored| &stored.message);
        let Some(response) = last.find(|message| message.role == Role::Assistant) else {
            return Err(Failure::input("the conversation has no response"));
        };
        return Ok(print_code(&mut output, &response.text(), which, notes)?);
    }
    let mut head = format!("{FRAME} conversation {}", talk.id);
    if let Some(name) = &talk.name {
        head.push_str(&format!(" [{}]", escape_name(name)));
    }
    output.write_line(&format!("{head} · {}", store.format_time(talk.created)?))?;
    if let Some(system) = &talk.system {
        output.write_line(&format!("{FRAME} system"))?;
        output.write_untrusted(system)?;
        output.write_text("\n")?;
    }
    for stored in &messages {
        output.write_text("\n")?;
        let time = store.format_time(stored.created)?;
        show_message(&mut output, stored, &time)?;
    }
    Ok(output.flush()?)
}

/// Prints a message. Its first line has the frame, which text on a terminal cannot contain, so text cannot imitate a message.
fn show_message(output: &mut Output, stored: &StoredMessage, time: &str) -> Result<(), Failure> {
    let mut head = vec![stored.message.role.as_str().to_owned(), time.to_owned()];
    head.extend(stored.response.iter().flat_map(describe_response));
    let head: Vec<_> = head.iter().map(|word| escape_line(word)).collect();
    output.write_line(&format!("{FRAME} {}", head.join(" · ")))?;
    for piece in pieces(&stored.message) {
        match piece {
            Piece::Text(text) => {
                output.write_untrusted(text)?;
                if !text.is_empty() && !text.ends_with('\n') {
                    output.write_text("\n")?;
                }
            }
            Piece::Thinking(thinking) => {
                let count = thinking.chars().count();
                output.write_line(&format!("[thinking, {count} characters; --json shows it]"))?;
            }
            Piece::Call(name, arguments) => {
                let short: String = arguments.chars().take(MAX_ARGUMENTS).collect();
                let more = if short.len() < arguments.len() { "…" } else { "" };
                output.write_line(&format!(
                    "[call {}({}{more})]",
                    escape_name(name),
                    escape_line(&short)
                ))?;
            }
            Piece::Other(what) => output.write_line(&format!("[{what}]"))?,
        }
    }
    Ok(())
}
