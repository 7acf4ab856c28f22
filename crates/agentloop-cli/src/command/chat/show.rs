//! Shows an answer: as text, as one JSON document, or as events.

use std::io;
use std::path::PathBuf;

use agentloop::structured::Structured;
use agentloop::{ChatResponse, ChatStream, ChatStreamEvent, Choice, Citation, Error, FinishReason};
use serde_json::Value;

use super::save;
use crate::command::text::{Text, unshown};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::ErrorDocument;

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The text, as it comes.
    Text,
    /// The whole answer, at the end.
    Json,
    /// Each event, as it comes.
    Events,
}

#[derive(Debug)]
pub(super) struct Show {
    form: Form,
    notes: Notes,
    text: Text,
    /// Where the media go.
    save: Option<PathBuf>,
}

impl Show {
    pub(super) fn new(form: Form, notes: Notes) -> Self {
        Self { form, notes, text: Text::new(notes), save: None }
    }

    /// Writes the media of the answer into a folder, if one is given.
    pub(super) fn saving(mut self, folder: Option<PathBuf>) -> Self {
        self.save = folder;
        self
    }

    /// Shows the answer to its end.
    pub(super) async fn all(&mut self, mut stream: ChatStream) -> Result<(), Failure> {
        while let Some(event) = stream.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => return self.failed(error),
            };
            match self.form {
                Form::Events => {
                    self.text.output().json(&event)?;
                    self.text.output().flush()?;
                }
                Form::Text => self.event(&event)?,
                Form::Json => {}
            }
            if let ChatStreamEvent::MessageDone { response } = event {
                return self.done(&response);
            }
        }
        self.failed(Error::new(
            agentloop::ErrorKind::IncompleteStream,
            "the stream ended before the answer did",
        ))
    }

    /// Shows that there is no answer, or not a whole one.
    pub(super) fn failed(&mut self, error: Error) -> Result<(), Failure> {
        self.text.end()?;
        match self.form {
            Form::Text => {}
            Form::Json => self.text.output().document(&ErrorDocument { error: &error })?,
            Form::Events => {
                self.text.output().json(&ChatStreamEvent::from(&error))?;
            }
        }
        self.text.output().flush()?;
        if let Some(partial) = error.partial() {
            self.notes.warnings(&partial.warnings);
        }
        Err(error.into())
    }

    /// Shows an answer of a given shape.
    pub(super) fn structured(&mut self, answer: &Structured<Value>) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.text.output().document(&serde_json::json!({
                "data": answer.data,
                "strategy": answer.strategy,
                "attempts": answer.attempts,
                "usage": answer.usage,
                "cost": answer.cost,
                "response": answer.response,
            }))?,
            Form::Text | Form::Events => self.text.output().document(&answer.data)?,
        }
        self.text.output().flush()?;
        self.notes.warnings(&answer.response.warnings);
        Ok(())
    }

    fn done(&mut self, response: &ChatResponse) -> Result<(), Failure> {
        self.text.end()?;
        match self.form {
            Form::Json => self.text.output().document(response)?,
            Form::Text => self.beside_text(response),
            Form::Events => {}
        }
        self.text.output().flush()?;
        self.notes.warnings(&response.warnings);
        if let Some(folder) = &self.save {
            save::all(response, folder, self.notes)?;
        }
        let mut reasons = response.choices.iter().map(|choice| &choice.finish_reason);
        match reasons.find_map(complaint) {
            Some(complaint) => Err(Failure::Answer(complaint.to_owned())),
            None => Ok(()),
        }
    }

    /// What belongs to the answer, but not to its text.
    fn beside_text(&self, response: &ChatResponse) {
        if response.choices.len() > 1 {
            self.notes.note("only the first of several answers is shown; --json shows all");
        }
        let mut shown: Vec<&str> = Vec::new();
        for citation in response.choices.iter().take(1).flat_map(Choice::citations) {
            let (number, title, address) = match citation {
                Citation::Url(page) => (page.number, page.title.as_deref(), page.url.as_str()),
                Citation::File(file) => {
                    let id = file.file_id.as_deref().or(file.container_id.as_deref());
                    let Some(address) = id.or(file.filename.as_deref()) else { continue };
                    (None, file.filename.as_deref().filter(|name| *name != address), address)
                }
                _ => continue,
            };
            if !shown.contains(&address) {
                shown.push(address);
                self.notes.source(number, title, address);
            }
        }
    }

    fn event(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
        self.text.event(event)?;
        let Some(part) = unshown(event) else { return Ok(()) };
        if part.is_media && self.save.is_some() {
            return Ok(());
        }
        self.text.step_aside();
        let also = if part.is_media { " and --save keeps" } else { "" };
        self.notes.note(&format!("the answer holds {}, which --json shows{also}", part.what));
        Ok(())
    }
}

/// Why an answer that came to its end is still not a whole one.
fn complaint(reason: &FinishReason) -> Option<&'static str> {
    match reason {
        FinishReason::Length => Some("the answer is cut: it ran into the token limit"),
        FinishReason::ContentFilter => Some("the answer was refused, or cut by a filter"),
        FinishReason::Error => Some("the provider failed before the answer was whole"),
        _ => None,
    }
}
