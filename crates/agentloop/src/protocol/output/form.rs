//! Finds the response again: a call of our own tool is text, and a wrapper is taken off.

use std::collections::{HashMap, HashSet};

use super::unwrap::Unwrap;
use crate::chat::{FinishReason, OutputStrategy, PartDelta, PartStart, ResponsePart, TextPart};

/// The form in which the output was requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct OutputForm {
    pub(crate) strategy: Option<OutputStrategy>,
    /// The tool whose arguments are the response.
    pub(crate) tool: Option<String>,
    /// Whether the response is in an object of our own.
    pub(crate) wrapped: bool,
}

/// The parts of a response that differ from what the caller should see.
#[derive(Debug)]
pub(crate) struct OutputParts {
    form: OutputForm,
    /// The open texts, by choice and part, with what takes their wrapper off.
    open: HashMap<(u32, u32), Option<Unwrap>>,
    /// The choices in which a tool of the caller's was called.
    called: HashSet<u32>,
    /// The choices whose response arrived as a tool call.
    called_output: HashSet<u32>,
}

impl OutputParts {
    /// Returns `None` when there is nothing to undo.
    #[inline]
    pub(crate) fn new(form: OutputForm) -> Option<Box<Self>> {
        let plain = form.tool.is_none() && !form.wrapped;
        (!plain).then(|| {
            Box::new(Self {
                form,
                open: HashMap::new(),
                called: HashSet::new(),
                called_output: HashSet::new(),
            })
        })
    }

    /// Begins a part. A call of our own tool becomes a text.
    pub(crate) fn start(&mut self, choice: u32, start: PartStart) -> PartStart {
        match &start {
            PartStart::ToolCall { name, .. } if Some(name) == self.form.tool.as_ref() => {
                self.called_output.insert(choice);
                PartStart::Text {}
            }
            PartStart::ToolCall { .. } => {
                self.called.insert(choice);
                start
            }
            _ => start,
        }
    }

    /// Records the index of a part that was opened.
    pub(crate) fn opened(&mut self, choice: u32, part: u32, start: &PartStart) {
        if matches!(start, PartStart::Text {}) {
            self.open.insert((choice, part), self.form.wrapped.then(Unwrap::new));
        }
    }

    /// Adds to a part. Returns `None` if there is nothing to emit yet.
    pub(crate) fn delta(&mut self, choice: u32, part: u32, delta: PartDelta) -> Option<PartDelta> {
        let Some(unwrap) = self.open.get_mut(&(choice, part)) else { return Some(delta) };
        let text = match delta {
            PartDelta::Text { text } => text,
            PartDelta::ToolCallArguments { arguments } => arguments,
            // The state of a call means nothing on a text.
            PartDelta::ProviderState { .. } => return None,
            other => return Some(other),
        };
        let text = match unwrap {
            Some(unwrap) => unwrap.feed(text),
            None => text,
        };
        (!text.is_empty()).then_some(PartDelta::Text { text })
    }

    /// Closes a part and returns the text that was held back.
    pub(crate) fn close(&mut self, choice: u32, part: u32) -> Option<PartDelta> {
        let text = self.open.remove(&(choice, part))??.finish();
        (!text.is_empty()).then_some(PartDelta::Text { text })
    }

    /// Converts a part that arrived complete.
    pub(crate) fn whole(&self, part: ResponsePart) -> ResponsePart {
        let mut text = match part {
            ResponsePart::ToolCall(call) if Some(&call.name) == self.form.tool.as_ref() => {
                TextPart::new(call.arguments)
            }
            ResponsePart::Text(text) => text,
            other => return other,
        };
        if self.form.wrapped {
            let mut unwrap = Unwrap::new();
            text.text = unwrap.feed(text.text);
            text.text.push_str(&unwrap.finish());
        }
        ResponsePart::Text(text)
    }

    /// Returns why a choice ended: a call of our own tool is not a call.
    pub(crate) fn finish(&self, choice: u32, reason: FinishReason) -> FinishReason {
        let own = self.called_output.contains(&choice) && !self.called.contains(&choice);
        if own && reason == FinishReason::ToolCalls { FinishReason::Stop } else { reason }
    }
}
