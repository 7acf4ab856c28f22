//! The text of an answer as it comes, and its thinking beside it.

use std::io;

use agentloop::{ChatStreamEvent, PartDelta, PartStart};

use super::thoughts::Thoughts;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;

/// Shows text on stdout as it comes, and thinking on stderr.
#[derive(Debug)]
pub(crate) struct Text {
    notes: Notes,
    output: Output,
    thoughts: Thoughts,
    /// Whether the text so far ends within a line.
    within_line: bool,
}

/// A part of an answer that is no text.
#[derive(Debug)]
pub(crate) struct Unshown {
    /// What it is, in words.
    pub(crate) what: String,
    /// Whether it is an image, sound or a file.
    pub(crate) is_media: bool,
}

impl Text {
    pub(crate) fn new(notes: Notes) -> Self {
        Self { notes, output: Output::new(), thoughts: Thoughts::new(notes), within_line: false }
    }

    /// stdout, for what is no text.
    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Shows what the event brings of the first answer.
    pub(crate) fn event(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
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
            ChatStreamEvent::ContentStart {
                choice_index: 0, part: PartStart::Thinking {}, ..
            } => self.step_aside(),
            _ => {}
        }
        Ok(())
    }

    /// Text that goes on later keeps its bytes: on a terminal the line break comes from stderr.
    pub(crate) fn step_aside(&mut self) {
        self.thoughts.close();
        if self.within_line {
            self.notes.end_line();
        }
    }

    /// Text ends with a line break, so that what follows starts on its own line.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        self.thoughts.close();
        if std::mem::take(&mut self.within_line) {
            self.output.text("\n")?;
        }
        self.output.flush()
    }
}

/// Nothing of an answer vanishes: the part that begins here, if text cannot show it.
pub(crate) fn unshown(event: &ChatStreamEvent) -> Option<Unshown> {
    let ChatStreamEvent::ContentStart { choice_index: 0, part, .. } = event else { return None };
    let what = match part {
        PartStart::ToolCall { name, .. } => {
            format!("a call of the tool `{}`", printable::name(name))
        }
        PartStart::ServerToolCall { name, .. } => {
            format!("a call of the provider's `{}`", printable::name(name))
        }
        PartStart::Image { .. } => "an image".to_owned(),
        PartStart::Audio { .. } => "sound".to_owned(),
        PartStart::File { .. } => "a file".to_owned(),
        PartStart::CodeExecution { .. } => "code that the provider ran".to_owned(),
        _ => return None,
    };
    let is_media =
        matches!(part, PartStart::Image { .. } | PartStart::Audio { .. } | PartStart::File { .. });
    Some(Unshown { what, is_media })
}
