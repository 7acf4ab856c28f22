//! Exports conversations.

use super::args::{Export, Format};
use super::{markdown, text};
use crate::failure::Failure;
use crate::output::Output;
use crate::store::Conversation;

pub(super) fn export(args: &Export) -> Result<(), Failure> {
    let store = super::open()?;
    let talks: Vec<Conversation> = if args.all {
        store.list_before(i64::MAX)?
    } else {
        args.conversations.iter().map(|word| store.find(word)).collect::<Result<_, _>>()?
    };
    let mut output = Output::new();
    for (number, talk) in talks.iter().enumerate() {
        let messages = store.messages(talk)?;
        match args.format {
            Format::Json => output.write_json(&text::to_json(talk, &messages))?,
            Format::Markdown => {
                if number > 0 {
                    output.write_text("\n---\n\n")?;
                }
                output.write_untrusted(&markdown::format(talk, &messages))?;
            }
        }
    }
    Ok(output.flush()?)
}
