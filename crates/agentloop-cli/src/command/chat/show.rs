//! Shows an answer: as text, as one JSON document, or as events.

use std::io;
use std::path::PathBuf;

use agentloop::structured::Structured;
use agentloop::{
    ChatResponse, ChatStream, ChatStreamEvent, Choice, Citation, Error, FinishReason, PartDelta,
    PartStart,
};
use serde_json::Value;

use super::save;
use super::thoughts::Thoughts;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::{ErrorDocument, Output};

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
    output: Output,
    thoughts: Thoughts,
    /// Where the media go.
    save: Option<PathBuf>,
    /// Whether the text so far ends within a line.
    within_line: bool,
}

impl Show {
    pub(super) fn new(form: Form, notes: Notes) -> Self {
        Self {
            form,
            notes,
            output: Output::new(),
            thoughts: Thoughts::new(notes),
            save: None,
            within_line: false,
        }
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
                    self.output.json(&event)?;
                    self.output.flush()?;
                }
                Form::Text => self.text(&event)?,
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
        self.end_text()?;
        match self.form {
            Form::Text => {}
            Form::Json => self.output.document(&ErrorDocument { error: &error })?,
            Form::Events => self.output.json(&ChatStreamEvent::Error { error: error.clone() })?,
        }
        self.output.flush()?;
        if let Some(partial) = error.partial() {
            self.notes.warnings(&partial.warnings);
        }
        Err(error.into())
    }

    /// Shows an answer of a given shape.
    pub(super) fn structured(&mut self, answer: &Structured<Value>) -> Result<(), Failure> {
        match self.form {
            Form::Json => self.output.document(&serde_json::json!({
                "data": answer.data,
                "strategy": answer.strategy,
                "attempts": answer.attempts,
                "usage": answer.usage,
                "cost": answer.cost,
                "response": answer.response,
            }))?,
            Form::Text | Form::Events => self.output.document(&answer.data)?,
        }
        self.output.flush()?;
        self.notes.warnings(&answer.response.warnings);
        Ok(())
    }

    fn done(&mut self, response: &ChatResponse) -> Result<(), Failure> {
        self.end_text()?;
        match self.form {
            Form::Json => self.output.document(response)?,
            Form::Text => self.beside_text(response),
            Form::Events => {}
        }
        self.output.flush()?;
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
            if let Citation::Url(source) = citation
                && !shown.contains(&source.url.as_str())
            {
                shown.push(&source.url);
                self.notes.source(source.number, source.title.as_deref(), &source.url);
            }
        }
    }

    fn text(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
        match event {
            ChatStreamEvent::ContentDelta { choice_index: 0, delta, .. } => match delta {
                PartDelta::Text { text } => {
                    self.thoughts.close();
                    self.within_line = text.chars().last().map_or(self.within_line, |c| c != '\n');
                    self.output.foreign(text)?;
                    self.output.flush()?;
                }
                PartDelta::Thinking { thinking } => self.thoughts.add(thinking),
                _ => {}
            },
            ChatStreamEvent::ContentStart { choice_index: 0, part, .. } => self.start(part),
            _ => {}
        }
        Ok(())
    }

    /// Nothing of an answer vanishes: what text cannot show is named.
    fn start(&mut self, part: &PartStart) {
        let what = match part {
            PartStart::Text {} => return,
            PartStart::Thinking {} => {
                self.step_aside();
                return;
            }
            PartStart::ToolCall { name, .. } => format!("a call of the tool `{name}`"),
            PartStart::ServerToolCall { name, .. } => format!("a call of the provider's `{name}`"),
            PartStart::Image { .. } => "an image".to_owned(),
            PartStart::Audio { .. } => "sound".to_owned(),
            PartStart::File { .. } => "a file".to_owned(),
            PartStart::CodeExecution { .. } => "code that the provider ran".to_owned(),
            _ => return,
        };
        let is_media = matches!(
            part,
            PartStart::Image { .. } | PartStart::Audio { .. } | PartStart::File { .. }
        );
        if is_media && self.save.is_some() {
            return;
        }
        self.step_aside();
        let also = if is_media { " and --save keeps" } else { "" };
        self.notes.note(&format!("the answer holds {what}, which --json shows{also}"));
    }

    /// Text that goes on later keeps its bytes: on a terminal the line break comes from stderr.
    fn step_aside(&mut self) {
        self.thoughts.close();
        if self.within_line {
            self.notes.end_line();
        }
    }

    /// Text ends with a line break, so that what follows starts on its own line.
    fn end_text(&mut self) -> io::Result<()> {
        self.thoughts.close();
        if std::mem::take(&mut self.within_line) {
            self.output.text("\n")?;
        }
        self.output.flush()
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
