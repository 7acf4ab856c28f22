//! Prints the text of a response as it arrives: as Markdown on a terminal, else as it is. Thinking goes to stderr.

use std::io;

use agentloop::{ChatStreamEvent, PartDelta, PartStart};

use super::thinking::ThinkingRenderer;
use crate::notes::Notes;
use crate::output::Output;
use crate::printable::{self, Sanitizer};
use crate::screen::markdown::Markdown;
use crate::screen::{Options, terminal};

/// Prints text on stdout as it arrives, and thinking on stderr.
#[derive(Debug)]
pub(crate) struct TextRenderer {
    notes: Notes,
    output: Output,
    thinking: ThinkingRenderer,
    body: Body,
    /// Whether the printed text ends within a line.
    is_within_line: bool,
    /// How many characters of text were printed.
    printed: usize,
}

/// How text is printed.
#[derive(Debug)]
enum Body {
    /// As it is, in a pipe.
    Raw,
    /// On a terminal without Markdown.
    Plain(Sanitizer),
    Markdown(Box<Markdown>),
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
    pub(crate) fn new(screen: Options, notes: Notes) -> Self {
        let (output, thinking) = (Output::new(), ThinkingRenderer::new(screen.thinking, notes));
        let body = match output.is_terminal() {
            false => Body::Raw,
            true if screen.plain || !terminal::has_escapes() => Body::Plain(Sanitizer::default()),
            true => Body::Markdown(Box::new(Markdown::new(terminal::has_colors()))),
        };
        Self { notes, output, thinking, body, is_within_line: false, printed: 0 }
    }

    /// Returns stdout, for data that is not text.
    pub(crate) fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Returns how many characters of text were printed.
    pub(crate) fn printed(&self) -> usize {
        self.printed
    }

    /// Returns whether stdout is a terminal that shows more than plain text.
    pub(crate) fn is_terminal(&self) -> bool {
        matches!(self.body, Body::Markdown(_))
    }

    /// Prints the text or thinking of an event. Only the first choice is printed.
    pub(crate) fn print_event(&mut self, event: &ChatStreamEvent) -> io::Result<()> {
        match event {
            ChatStreamEvent::ContentDelta { choice_index: 0, delta, .. } => match delta {
                PartDelta::Text { text } => {
                    self.thinking.close();
                    self.printed += text.chars().count();
                    self.print_text(text)?;
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

    fn print_text(&mut self, text: &str) -> io::Result<()> {
        match &mut self.body {
            Body::Raw => self.output.write_text(text)?,
            Body::Plain(sanitizer) => self.output.write_text(&sanitizer.push(text))?,
            Body::Markdown(markdown) => {
                let mut out = String::new();
                markdown.push(text, &mut out);
                self.output.write_text(&out)?;
            }
        }
        self.is_within_line = text.chars().last().map_or(self.is_within_line, |c| c != '\n');
        self.output.flush()
    }

    /// Starts a new line on the terminal for a message on stderr.
    ///
    /// In a pipe the line break goes to stderr, so stdout receives exactly the text of the response.
    pub(crate) fn make_room(&mut self) {
        self.thinking.close();
        if let Body::Markdown(_) = self.body {
            // An error is reported by the next write.
            let _ = self.finish();
        } else if self.is_within_line {
            self.notes.end_line();
        }
    }

    /// Ends the text with a line break, if it does not have one.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.thinking.close();
        let is_within_line = std::mem::take(&mut self.is_within_line);
        match &mut self.body {
            Body::Markdown(markdown) => {
                let mut out = String::new();
                markdown.finish(&mut out);
                self.output.write_text(&out)?;
            }
            _ if is_within_line => self.output.write_text("\n")?,
            _ => {}
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
