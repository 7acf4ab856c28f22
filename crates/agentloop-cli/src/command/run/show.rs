//! Prints a run as it happens.

use std::collections::BTreeMap;
use std::time::Duration;

use agentloop::agent::{RunEvent, ToolResult, ToolStatus};
use agentloop::{ChatStreamEvent, PartStart, Warning};

use super::excerpt::{quote_arguments, shorten};
use crate::command::chat::{Format, OutputArgs};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable::escape_name;
use crate::render::{TextRenderer, describe_hidden_part, show_media};
use crate::screen::last_line::format_duration;
use crate::screen::status;

/// How many characters of a call's arguments are shown.
const MAX_SUBJECT: usize = 60;

/// How many characters of a call's result are shown.
const MAX_RESULT: usize = 100;

/// How many characters of the arguments are shown of a call that waits for approval.
const MAX_ARGUMENTS: usize = 1_000;

/// Prints the events of a run.
#[derive(Debug)]
pub(in crate::command) struct Show {
    format: Format,
    /// Whether the media of the run are saved at its end.
    saves_media: bool,
    notes: Notes,
    text: TextRenderer,
    /// The subjects of calls in progress, by step and index.
    subjects: BTreeMap<(u32, usize), String>,
    /// The warnings that were printed. Each is printed once, because every step repeats them.
    warned: Vec<Warning>,
}

impl Show {
    pub(in crate::command) fn new(format: Format, args: &OutputArgs, notes: Notes) -> Self {
        Self {
            format,
            saves_media: args.save_media.is_some(),
            notes,
            text: TextRenderer::new(args.screen, notes),
            subjects: BTreeMap::new(),
            warned: Vec::new(),
        }
    }

    /// Prints an event.
    pub(in crate::command) fn show_event(&mut self, event: &RunEvent) -> Result<(), Failure> {
        if let RunEvent::Model(ChatStreamEvent::MessageDone { response }) = event {
            self.show_warnings(&response.warnings)?;
        }
        if self.format == Format::Events {
            self.text.output().write_json(event)?;
            return Ok(self.text.output().flush()?);
        }
        match event {
            RunEvent::StepStart { step, model } => {
                let step = if *step > 1 { format!(", step {step}") } else { String::new() };
                self.notes.show_wait(&format!("waiting for {model}{step}"));
            }
            // The result is printed at the end.
            RunEvent::Model(_) if matches!(self.format, Format::Json | Format::Code(_)) => {}
            RunEvent::Model(event) => self.show_model_event(event)?,
            RunEvent::ToolPreparing { tool, status, .. } => {
                let subject = status.as_deref().map(format_subject).unwrap_or_default();
                self.text.make_room();
                self.notes.update_wait(&format!("preparing {}{subject}", escape_name(tool)));
            }
            RunEvent::ToolRunning { step, index, tool, arguments, status, .. } => {
                let subject = format_subject(status.as_deref().unwrap_or(arguments));
                self.show_progress(&format!("{}{subject} is running", escape_name(tool)), true);
                self.subjects.insert((*step, *index), subject);
            }
            RunEvent::ToolProgress { step, index, tool, message, fraction, .. } => {
                let subject = self.subjects.get(&(*step, *index)).map_or("", String::as_str);
                let percent = fraction.map(|share| format!(" {:.0} %", share * 100.0));
                let message = message.as_deref().map(|message| shorten(message, MAX_RESULT));
                let message = message.map(|message| format!(": {message}")).unwrap_or_default();
                let (tool, percent) = (escape_name(tool), percent.unwrap_or_default());
                let line = format!("{tool}{subject} is running{percent}{message}");
                self.show_progress(&line, false);
            }
            RunEvent::ToolCompleted { step, result }
            | RunEvent::ToolFailed { step, result }
            | RunEvent::ToolCanceled { step, result } => self.show_result(*step, result)?,
            RunEvent::ApprovalNeeded { .. } | RunEvent::StepDone { .. } => self.make_room()?,
            RunEvent::RunDone { outcome } => {
                self.make_room()?;
                for call in outcome.suspended.iter().flat_map(|run| run.pending()) {
                    let arguments = quote_arguments(&call.arguments, MAX_ARGUMENTS);
                    let tool = escape_name(&call.tool);
                    self.notes.print_tool(&format!("{tool} waits for approval: {arguments}"));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn show_model_event(&mut self, event: &ChatStreamEvent) -> Result<(), Failure> {
        self.text.print_event(event)?;
        let is_call =
            matches!(event, ChatStreamEvent::ContentStart { part: PartStart::ToolCall { .. }, .. });
        let shows_media = !self.saves_media && self.text.is_terminal();
        let hidden =
            describe_hidden_part(event).filter(|part| !(is_call || shows_media && part.is_media));
        if let Some(part) = hidden {
            self.text.make_room();
            let part = part.description;
            self.notes.print_note(&format!("the response contains {part}; use --events to see it"));
        }
        if let ChatStreamEvent::MessageDone { .. } | ChatStreamEvent::Error { .. } = event {
            self.make_room()?;
        }
        if let ChatStreamEvent::MessageDone { response } = event
            && shows_media
        {
            show_media(response, self.text.output(), self.notes)?;
        }
        Ok(())
    }

    fn show_warnings(&mut self, warnings: &[Warning]) -> Result<(), Failure> {
        for warning in warnings {
            if !self.warned.contains(warning) {
                self.make_room()?;
                self.notes.print_warnings(std::slice::from_ref(warning));
                self.warned.push(warning.clone());
            }
        }
        Ok(())
    }

    /// Prints the result of a call.
    fn show_result(&mut self, step: u32, result: &ToolResult) -> Result<(), Failure> {
        self.make_room()?;
        let subject = self.subjects.remove(&(step, result.index));
        let subject = subject.unwrap_or_else(|| format_subject(&result.arguments));
        let status = match result.status {
            ToolStatus::Completed => "completed",
            ToolStatus::Failed => "failed",
            ToolStatus::TimedOut => "timed out",
            ToolStatus::InvalidArguments => "was called with invalid arguments",
            ToolStatus::UnknownTool => "does not exist",
            ToolStatus::Denied => "was denied",
            ToolStatus::Withheld => "was withheld",
            ToolStatus::Canceled => "was cancelled",
            _ => "did not run",
        };
        let has_run = result.attempts > 0;
        let time = if has_run {
            format!(" in {}", format_duration(Duration::from_millis(result.elapsed_ms)))
        } else {
            String::new()
        };
        let output = result.output.to_text();
        // Output that the library wrote starts with the status, which is already in the message.
        let is_own = matches!(result.status, ToolStatus::Completed | ToolStatus::Failed);
        let output = match output.split_once(": ") {
            Some(("denied" | "withheld" | "cancelled", why)) if !is_own => why,
            _ => &output,
        };
        let (tool, output) = (escape_name(&result.tool), shorten(output, MAX_RESULT));
        self.notes.print_tool(&format!("{tool}{subject} {status}{time}: {output}"));
        Ok(())
    }

    /// Shows the progress of a call: on the status line if there is one, else on a line of its own.
    fn show_progress(&mut self, line: &str, is_new: bool) {
        self.text.make_room();
        if !self.notes.has_status_line() {
            self.notes.print_tool(line);
        } else if is_new {
            self.notes.show_wait(line);
        } else {
            self.notes.update_wait(line);
        }
    }

    /// Ends the current line, so that a message on stderr starts on a new one.
    fn make_room(&mut self) -> Result<(), Failure> {
        status::clear();
        match self.format {
            Format::Events => Ok(()),
            _ => Ok(self.text.finish()?),
        }
    }
}

/// Formats the subject of a call in parentheses.
fn format_subject(line: &str) -> String {
    match line.trim() {
        "" | "{}" => String::new(),
        line => format!(" ({})", shorten(line, MAX_SUBJECT)),
    }
}
