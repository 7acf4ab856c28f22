//! What the tour prints.

use std::time::Duration;

use agentloop::{ChatResponse, ChatStream, ChatStreamEvent, Error, ErrorKind, PartDelta};

use crate::command::run::TerminalApprover;
use crate::failure::Failure;
use crate::notes::Notes;
use crate::output::Output;
use crate::prompt::Prompt;

/// The pause after each piece of a response, so that it can be read as it arrives. Only at a terminal.
const PAUSE: Duration = Duration::from_millis(40);

/// Prints the tour.
pub(super) struct Talk {
    output: Output,
    notes: Notes,
    /// The terminal, unless the tour runs without waiting.
    prompt: Option<Prompt>,
    is_styled: bool,
}

impl Talk {
    pub(super) fn new(yes: bool, notes: Notes) -> Self {
        let prompt = Prompt::at_terminal(notes).filter(|_| !yes);
        let output = Output::new();
        Self { is_styled: notes.is_styled() && output.is_terminal(), output, notes, prompt }
    }

    /// Returns an approver, if the user can be asked.
    pub(super) fn approver(&self) -> Option<TerminalApprover> {
        self.prompt.and_then(|_| TerminalApprover::at_terminal(self.notes))
    }

    pub(super) fn heading(&mut self, text: &str) -> Result<(), Failure> {
        self.styled("\n", "1", text, "\n")
    }

    /// Prints an explanation.
    pub(super) fn say(&mut self, text: &str) -> Result<(), Failure> {
        self.styled("\n", "", text, "\n")
    }

    /// Prints the command that does what follows.
    pub(super) fn command(&mut self, text: &str) -> Result<(), Failure> {
        self.styled("\n", "36", &format!("$ {text}"), "\n")
    }

    /// Prints text of a model.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        self.output.write_untrusted(text)?;
        self.output.write_text("\n")?;
        Ok(self.output.flush()?)
    }

    pub(super) fn note(&mut self, text: &str) -> Result<(), Failure> {
        self.styled("", "2", &format!("  {text}"), "\n")
    }

    fn styled(
        &mut self,
        before: &str,
        style: &str,
        text: &str,
        after: &str,
    ) -> Result<(), Failure> {
        self.output.write_text(before)?;
        if self.is_styled && !style.is_empty() {
            self.output.write_text(&format!("\x1b[{style}m"))?;
            self.output.write_untrusted(text)?;
            self.output.write_text("\x1b[0m")?;
        } else {
            self.output.write_untrusted(text)?;
        }
        self.output.write_text(after)?;
        Ok(self.output.flush()?)
    }

    /// Prints a stream as it arrives, with its thinking, and returns the response.
    pub(super) async fn stream(&mut self, mut stream: ChatStream) -> Result<ChatResponse, Failure> {
        let mut is_thinking = false;
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::ContentDelta {
                    delta: PartDelta::Thinking { thinking }, ..
                } => {
                    if !is_thinking {
                        self.styled("", "2", "(thinking) ", "")?;
                    }
                    is_thinking = true;
                    self.styled("", "2", &thinking, "")?;
                }
                ChatStreamEvent::ContentDelta { delta: PartDelta::Text { text }, .. } => {
                    if is_thinking {
                        self.output.write_text("\n")?;
                    }
                    is_thinking = false;
                    self.output.write_untrusted(&text)?;
                    self.output.flush()?;
                }
                ChatStreamEvent::MessageDone { response } => {
                    self.text("")?;
                    return Ok(*response);
                }
                _ => continue,
            }
            if self.output.is_terminal() {
                tokio::time::sleep(PAUSE).await;
            }
        }
        Err(Error::new(
            ErrorKind::IncompleteStream,
            "the stream ended before the response was complete",
        )
        .into())
    }

    /// Waits until the user presses Enter. `q` ends the tour.
    pub(super) async fn wait(&mut self) -> Result<(), Failure> {
        let Some(prompt) = self.prompt else { return Ok(()) };
        self.output.write_text("\n")?;
        self.output.flush()?;
        match prompt.ask("Press Enter to continue, or q and Enter to leave: ").await {
            Some(line) if matches!(line.trim(), "q" | "quit") => Err(Failure::Interrupted),
            Some(_) => Ok(()),
            None => Err(Failure::Interrupted),
        }
    }
}
