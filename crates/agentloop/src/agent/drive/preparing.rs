//! Observes calls while the model writes them.

use std::collections::HashMap;
use std::sync::Arc;

use super::super::event::RunEvent;
use super::super::tool::{Tool, ToolSet};
use crate::chat::{ChatStreamEvent, PartDelta, PartStart};
use crate::structured::Partial;

/// The bytes by which arguments must grow, plus a [share](GROWTH_SHARE) of their length, before the status line is made
/// again. Otherwise long arguments would be copied at every delta.
const GROWTH_BYTES: usize = 8;
/// The divisor of that share.
const GROWTH_SHARE: usize = 4;

/// Observes the calls of a response.
pub(super) struct Preparing {
    step: u32,
    tools: Arc<ToolSet>,
    calls: Vec<Prepared>,
    /// The index of the call of each part.
    places: HashMap<u32, usize>,
}

struct Prepared {
    id: String,
    name: String,
    /// The arguments so far, for tools that have a status line.
    partial: Option<Partial>,
    length: usize,
    shown: usize,
    status: Option<String>,
}

impl Preparing {
    pub(super) fn new(step: u32, tools: Arc<ToolSet>) -> Self {
        Self { step, tools, calls: Vec::new(), places: HashMap::new() }
    }

    /// Returns the `tool.preparing` event that follows from an event of the response.
    pub(super) fn observe(&mut self, event: &ChatStreamEvent) -> Option<RunEvent> {
        match event {
            ChatStreamEvent::ContentStart {
                choice_index: 0,
                part_index,
                part: PartStart::ToolCall { id, name },
            } => {
                let has_status = self.tools.get(name).is_some_and(|tool| tool.status.is_some());
                self.places.entry(*part_index).or_insert(self.calls.len());
                self.calls.push(Prepared {
                    id: id.clone(),
                    name: name.clone(),
                    partial: has_status.then(Partial::default),
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
                let status =
                    self.tools.get(&call.name).and_then(|tool| status_line(tool, &value))?;
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

/// Returns the status line of a call with these arguments.
pub(super) fn status_line(tool: &Tool, arguments: &serde_json::Value) -> Option<String> {
    tool.status.as_ref().and_then(|line| line(arguments))
}
