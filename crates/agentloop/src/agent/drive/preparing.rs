//! Calls while the model writes them.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::event::RunEvent;
use super::super::tool::{Tool, ToolSet};
use crate::chat::{ChatStreamEvent, PartDelta, PartStart};
use crate::structured::Partial;

/// How many more bytes must have come before a line is made anew, and a share of those that had: so that long arguments
/// are not copied at every piece.
const GROWTH_BYTES: usize = 8;
const GROWTH_SHARE: usize = 4;

/// Watches the calls of an answer.
pub(super) struct Preparing {
    step: u32,
    tools: Arc<ToolSet>,
    calls: Vec<Prepared>,
    /// Where the call of each part stands among the calls.
    places: HashMap<u32, usize>,
}

struct Prepared {
    id: String,
    name: String,
    /// What there is of the arguments, for tools that have a line to say.
    partial: Option<Partial>,
    length: usize,
    shown: usize,
    status: Option<String>,
}

impl Preparing {
    pub(super) fn new(step: u32, tools: Arc<ToolSet>) -> Self {
        Self { step, tools, calls: Vec::new(), places: HashMap::new() }
    }

    /// What an event tells of a call, if it does.
    pub(super) fn look(&mut self, event: &ChatStreamEvent) -> Option<RunEvent> {
        match event {
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::ToolCall { id, name },
            } => {
                let says = self.tools.get(name).is_some_and(|tool| tool.status.is_some());
                self.places.entry(*part_index).or_insert(self.calls.len());
                self.calls.push(Prepared {
                    id: id.clone(),
                    name: name.clone(),
                    partial: says.then(Partial::default),
                    length: 0,
                    shown: 0,
                    status: None,
                });
                Some(self.event(self.calls.len() - 1))
            }
            ChatStreamEvent::ContentDelta {
                choice_index: 0,
                part_index,
                delta: PartDelta::ToolCallArguments { arguments },
            } => {
                let at = *self.places.get(part_index)?;
                let call = &mut self.calls[at];
                let partial = call.partial.as_mut()?;
                partial.feed(arguments);
                call.length += arguments.len();
                let due = call.shown + GROWTH_BYTES + call.shown / GROWTH_SHARE;
                if call.length < due {
                    return None;
                }
                call.shown = call.length;
                let value = partial.value()?;
                let status = self.tools.get(&call.name).and_then(|tool| line(tool, &value))?;
                if call.status.as_ref() == Some(&status) {
                    return None;
                }
                call.status = Some(status);
                Some(self.event(at))
            }
            _ => None,
        }
    }

    fn event(&self, at: usize) -> RunEvent {
        let call = &self.calls[at];
        RunEvent::ToolPreparing {
            step: self.step,
            index: at,
            call_id: call.id.clone(),
            tool: call.name.clone(),
            status: call.status.clone(),
        }
    }
}

/// What a tool says of a call with these arguments.
pub(super) fn line(tool: &Tool, arguments: &serde_json::Value) -> Option<String> {
    tool.status.as_ref().and_then(|line| line(arguments))
}
