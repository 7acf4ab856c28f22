//! Prints the text of a response as it arrives, and its thinking on stderr.

use std::io;

use agentloop::{ChatStreamEvent, PartDelta, PartStart};

use super::thinking::ThinkingRenderer;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable;

/// Prints text on stdout as it arrives, and thinking on stderr.
#[derive(Debug)]
pub(crate) struct TextRenderer {
    notes: Notes,
    output: Output,
    thinking: ThinkingRenderer,
    /// Whether the printed text ends within a line.
    is_within_line: bool,
    /// How many characters of text were printed.
    printed: usize,
}

/// A part of a response that is not text.
#[derive(Debug)]
pub(crate) struct HiddenPart {
    /// The description of the part, for example "an image".
    pub(crate) description: String,
    /// Whether the part is an image, audio or a file.
    pub(crate) is_media: bool,
}

impl TextRenderer {
    pub(crate) fn new(notes: Notes) -> Self {
        let (output, thinking) = (Output::new(), ThinkingRenderer::new(notes));
        Self { notes, output, thinking, is_within_line: false, printed: 0 }
    }

    /// Returns stdout, for data that is not text.
    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns how many characters of text were printed.
    pub(crate) fn printed(&self) -> usize {
        self.printed
    }

    /// Prints the text or thinking of an event. Only the first choice is printed.
    pub(crate) fn print_event(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
        match event {
            ChatStreamEvent::ContentDelta { choice_index: 0, delta, .. } => match delta {
                PartDelta::Text { text } => {
                    self.thinking.close();
                    self.is_within_line =
                        text.chars().last().map_or(self.is_within_line, |c| c != '\n');
                    self.printed += text.chars().count();
                    self.output.write_untrusted(text)?;
                    self.output.flush()?;
                }
                PartDelta::Thinking { thinking } => self.thinking.print(thinking),
                _ => {}
            },
            ChatStreamEvent::ContentStart {
                choice_index: 0, part: PartStart::Thinking {}, ..
            } => self.make_room(),
            _ => {}
        }
        Ok(())
    }

    /// Starts a new line on the terminal for a message on stderr.
    ///
    /// The line break goes to stderr, so stdout receives exactly the text of the response.
    pub(crate) fn make_room(&mut self) {
        self.thinking.close();
        if self.is_within_line {
            self.notes.end_line();
        }
    }

    /// Ends the text with a line break, if it does not have one.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.thinking.close();
        if std::mem::take(&mut self.is_within_line) {
            self.output.write_text("\n")?;
        }
        self.output.flush()
    }
}

/// Describes the part that starts with this event, if it cannot be printed as text.
pub(crate) fn describe_hidden_part(event: &ChatStreamEvent) -> Option<HiddenPart> {
    let ChatStreamEvent::ContentStart { choice_index: 0, part, .. } = event else { return None };
    let description = match part {
        PartStart::ToolCall { name, .. } => {
            format!("a call of the tool `{}`", printable::escape_name(name))
        }
        PartStart::ServerToolCall { name, .. } => {
            format!("a call of the provider's tool `{}`", printable::escape_name(name))
        }
        PartStart::Image { .. } => "an image".to_owned(),
        PartStart::Audio { .. } => "audio".to_owned(),
        PartStart::File { .. } => "a file".to_owned(),
        PartStart::CodeExecution { .. } => "code that the provider ran".to_owned(),
        _ => return None,
    };
    let is_media =
        matches!(part, PartStart::Image { .. } | PartStart::Audio { .. } | PartStart::File { .. });
    Some(HiddenPart { description, is_media })
}
