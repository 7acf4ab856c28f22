//! Shows a run as it happens.

use std::collections::BTreeMap;

use agentloop::agent::{RunEvent, ToolResult, ToolStatus};
use agentloop::{ChatStreamEvent, PartDelta, PartStart, Warning};

use super::excerpt::{beginning, whole};
use super::summary::took;
use crate::command::text::{Text, unshown};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::printable::name;

/// How much is told of a call, and of its result, in characters.
const MAX_ABOUT: usize = 60;
const MAX_RESULT: usize = 100;

/// How much of a call that waits is told.
const MAX_ARGUMENTS: usize = 1_000;

#[derive(Debug)]
pub(super) struct Show {
    /// Whether stdout gets the events, in place of the text.
    events: bool,
    notes: Notes,
    text: Text,
    /// What is said of calls that are under way, by step and place.
    about: BTreeMap<(u32, usize), String>,
    /// Whether a passing line stands on the terminal.
    passing: bool,
    /// The warnings that were shown: those of one step are often those of the next.
    warned: Vec<Warning>,
}

impl Show {
    pub(super) fn new(events: bool, notes: Notes) -> Self {
        Self {
            events,
            notes,
            text: Text::new(notes),
            about: BTreeMap::new(),
            passing: false,
            warned: Vec::new(),
        }
    }

    pub(super) fn event(&mut self, event: &RunEvent) -> Result<(), Failure> {
        if let RunEvent::Model(ChatStreamEvent::MessageDone { response }) = event {
            self.warnings(&response.warnings)?;
        }
        if self.events {
            self.text.output().json(event)?;
            return Ok(self.text.output().flush()?);
        }
        match event {
            RunEvent::Model(event) => self.model(event)?,
            RunEvent::ToolPreparing { tool, status, .. } => {
                let status = status.as_deref().map(about).unwrap_or_default();
                self.pass(&format!("tool: {}{status} …", name(tool)));
            }
            RunEvent::ToolRunning { step, index, tool, arguments, status, .. } => {
                let line = about(status.as_deref().unwrap_or(arguments));
                self.under_way(&format!("{}{line} runs", name(tool)));
                self.about.insert((*step, *index), line);
            }
            RunEvent::ToolProgress { step, index, tool, message, fraction, .. } => {
                let line = self.about.get(&(*step, *index)).map_or("", String::as_str);
                let share = fraction.map(|share| format!(" {:.0} %", share * 100.0));
                let words = message.as_deref().map(|words| beginning(words, MAX_RESULT));
                let words = words.map(|words| format!(": {words}")).unwrap_or_default();
                let (tool, share) = (name(tool), share.unwrap_or_default());
                self.under_way(&format!("{tool}{line} runs{share}{words}"));
            }
            RunEvent::ToolCompleted { step, result }
            | RunEvent::ToolFailed { step, result }
            | RunEvent::ToolCanceled { step, result } => self.ended(*step, result)?,
            RunEvent::ApprovalNeeded { .. } | RunEvent::StepDone { .. } => self.aside()?,
            RunEvent::RunDone { outcome } => {
                self.aside()?;
                for call in outcome.suspended.iter().flat_map(|run| run.pending()) {
                    let arguments = whole(&call.arguments, MAX_ARGUMENTS);
                    self.notes.tool(&format!("{} waits: {arguments}", name(&call.tool)));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn model(&mut self, event: &ChatStreamEvent) -> Result<(), Failure> {
        if let ChatStreamEvent::ContentDelta { delta, .. } = event
            && matches!(delta, PartDelta::Text { .. } | PartDelta::Thinking { .. })
        {
            self.no_pass();
        }
        self.text.event(event)?;
        let is_call =
            matches!(event, ChatStreamEvent::ContentStart { part: PartStart::ToolCall { .. }, .. });
        if let Some(part) = unshown(event).filter(|_| !is_call) {
            self.no_pass();
            self.text.step_aside();
            self.notes.note(&format!("the answer holds {}, which --events shows", part.what));
        }
        if let ChatStreamEvent::MessageDone { .. } | ChatStreamEvent::Error { .. } = event {
            self.aside()?;
        }
        Ok(())
    }

    fn warnings(&mut self, warnings: &[Warning]) -> Result<(), Failure> {
        for warning in warnings {
            if !self.warned.contains(warning) {
                self.aside()?;
                self.notes.warnings(std::slice::from_ref(warning));
                self.warned.push(warning.clone());
            }
        }
        Ok(())
    }

    /// A call has ended.
    fn ended(&mut self, step: u32, result: &ToolResult) -> Result<(), Failure> {
        self.aside()?;
        let line = self.about.remove(&(step, result.index));
        let line = line.unwrap_or_else(|| about(&result.arguments));
        let how = match result.status {
            ToolStatus::Completed => "done",
            ToolStatus::Failed => "failed",
            ToolStatus::TimedOut => "took too long",
            ToolStatus::InvalidArguments => "was called wrongly",
            ToolStatus::UnknownTool => "is not there",
            ToolStatus::Denied => "was denied",
            ToolStatus::Withheld => "was held back",
            ToolStatus::Canceled => "was cancelled",
            _ => "did not run",
        };
        let ran = result.attempts > 0;
        let time = if ran { format!(" in {}", took(result.elapsed_ms)) } else { String::new() };
        let said = result.output.to_text();
        // What the tool did not say itself begins with what is said here in other words.
        let own = matches!(result.status, ToolStatus::Completed | ToolStatus::Failed);
        let said = match said.split_once(": ") {
            Some(("denied" | "withheld" | "cancelled", why)) if !own => why,
            _ => &said,
        };
        let said = beginning(said, MAX_RESULT);
        self.notes.tool(&format!("{}{line} {how}{time}: {said}", name(&result.tool)));
        Ok(())
    }

    /// Tells of a call under way: on a line that passes, or else on one of its own.
    fn under_way(&mut self, line: &str) {
        if self.notes.passes() {
            self.pass(&format!("tool: {line}"));
        } else {
            self.text.step_aside();
            self.notes.tool(line);
        }
    }

    fn pass(&mut self, line: &str) {
        if self.notes.passes() {
            if !self.passing {
                self.text.step_aside();
            }
            self.passing = true;
            // Shorter than most terminals are wide: what is wrapped cannot be taken away again.
            self.notes.passing(&beginning(line, MAX_ABOUT + 16));
        }
    }

    fn no_pass(&mut self) {
        if std::mem::take(&mut self.passing) {
            self.notes.passing("");
        }
    }

    /// What follows on stderr starts on a line of its own.
    pub(super) fn aside(&mut self) -> Result<(), Failure> {
        self.no_pass();
        match self.events {
            true => Ok(()),
            false => Ok(self.text.end()?),
        }
    }
}

/// What a call is about, in parentheses.
fn about(line: &str) -> String {
    match line.trim() {
        "" | "{}" => String::new(),
        line => format!(" ({})", beginning(line, MAX_ABOUT)),
    }
}
