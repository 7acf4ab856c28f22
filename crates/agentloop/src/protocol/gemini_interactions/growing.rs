//! The steps of a response while they grow: steps → parts.

mod call;
mod held;
mod output;
mod thought;

use std::collections::{BTreeMap, HashSet};
use std::mem::{size_of, take};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use call::Call;
use held::Held;
use output::Output;
use thought::Thought;

use crate::chat::{PartDelta, ProviderState};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_PARTS;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::fields::{self, Fields};
use crate::protocol::json::{mended, read_json};

/// The steps of one response.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// The open steps by their index, each with the order in which it started.
    open: BTreeMap<i64, (usize, Box<Step>)>,
    /// How many steps have started.
    count: usize,
    ids: CallIds,
    /// The error that a step reports.
    error: Option<Value>,
}

/// A step that is not finished.
#[derive(Debug)]
enum Step {
    /// What the model says.
    Output(Output),
    Thought(Thought),
    /// A call of one of the caller's tools.
    Call(Call),
    /// A step that is a part when it is complete.
    Held(Held),
    /// A message of the user, which only repeats the request.
    Echo,
}

/// The ids of the calls of one response: no two are alike.
#[derive(Debug, Default)]
struct CallIds {
    used: HashSet<String>,
}

impl CallIds {
    /// Returns the id that is `given`, or one that is made from that of the response.
    fn next(&mut self, given: &str, emitter: &mut Emitter) -> Result<String> {
        let id = if given.is_empty() || self.used.contains(given) {
            format!("call_{}_{}", short(emitter.id()), self.used.len())
        } else {
            given.to_owned()
        };
        emitter.charge(2 * size_of::<String>() + id.len())?;
        self.used.insert(id.clone());
        Ok(id)
    }
}

/// Returns the beginning of an id that is copied to calls. No id that the provider makes is longer.
fn short(id: &str) -> &str {
    &id[..id.floor_char_boundary(MAX_COPIED_ID_BYTES)]
}

/// The longest beginning of a response's id in the ids of its calls.
const MAX_COPIED_ID_BYTES: usize = 96;

impl Steps {
    /// Returns whether no step has started.
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns whether a step has started and not ended.
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.ids.used.is_empty()
    }

    /// Takes the error that a step reports.
    pub(super) fn take_error(&mut self) -> Option<Value> {
        self.error.take()
    }

    /// Opens a step, with what it contains already. One that is open under the same index has ended.
    pub(super) fn start(
        &mut self,
        index: i64,
        step: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.stop(index, emitter)?;
        let step = self.read(step, emitter)?;
        self.insert(index, step, emitter)
    }

    fn insert(&mut self, index: i64, step: Step, emitter: &mut Emitter) -> Result<()> {
        emitter.charge(size_of::<Step>() + 4 * size_of::<usize>())?;
        self.open.insert(index, (self.count, Box::new(step)));
        Ok(())
    }

    /// Reads a complete step, in the same way as a streamed one.
    pub(super) fn complete(&mut self, step: &RawValue, emitter: &mut Emitter) -> Result<()> {
        let step = self.read(step, emitter)?;
        self.end(step, emitter)
    }

    /// Reads a step. Nothing is emitted before all of its JSON has been read, so what cannot be read strictly is read again.
    fn read(&mut self, raw: &RawValue, emitter: &mut Emitter) -> Result<Step> {
        let read = fields::read(raw).map_err(unreadable);
        match read.and_then(|fields| self.begin(fields, emitter)) {
            Ok(step) => Ok(step),
            Err(error) => {
                let mended = mended(raw.get().as_bytes(), &error).ok_or(error)?;
                let fields = fields::read(read_json(&mended)?).map_err(unreadable)?;
                self.begin(fields, emitter)
            }
        }
    }

    fn begin(&mut self, fields: Fields<'_>, emitter: &mut Emitter) -> Result<Step> {
        if self.count >= MAX_PARTS {
            let message = format!("the response has more than {MAX_PARTS} steps");
            return Err(Error::new(ErrorKind::TooLarge, message));
        }
        self.count += 1;
        Ok(match fields.text("type").unwrap_or_default() {
            "model_output" => Step::Output(Output::start(fields, &mut self.error, emitter)?),
            "thought" => Step::Thought(Thought::start(fields, emitter)?),
            "function_call" => Step::Call(Call::start(fields, &mut self.ids, emitter)?),
            "user_input" => Step::Echo,
            _ => Step::Held(Held::start(fields, emitter)?),
        })
    }

    /// Adds a delta to a step. A step without a start is started here, if the delta determines its kind.
    pub(super) fn delta(
        &mut self,
        index: i64,
        mut delta: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if !self.open.contains_key(&index) {
            let step = match delta.text("type").unwrap_or_default() {
                "text" | "image" | "audio" | "video" | "document" => {
                    Step::Output(Output::default())
                }
                "thought_summary" | "thought_signature" => Step::Thought(Thought::default()),
                // These need a step to belong to.
                "arguments_delta" | "text_annotation_delta" | "text_annotation" => return Ok(()),
                // The deltas of the provider's own tools have the names of their steps.
                _ => {
                    let held = Held::start(delta, emitter)?;
                    self.count += 1;
                    return self.insert(index, Step::Held(held), emitter);
                }
            };
            self.count += 1;
            self.insert(index, step, emitter)?;
        }
        let Some((_, step)) = self.open.get_mut(&index) else { return Ok(()) };
        match step.as_mut() {
            Step::Output(output) => output.delta(&mut delta, emitter),
            Step::Thought(thought) => thought.delta(delta, emitter),
            Step::Call(call) => call.delta(delta, &mut self.ids, emitter),
            Step::Held(held) => held.delta(delta, emitter),
            Step::Echo => Ok(()),
        }
    }

    /// Adds text to the output that has this index.
    pub(super) fn add_text(&mut self, index: i64, text: &str, emitter: &mut Emitter) -> Result<()> {
        match self.open.get_mut(&index).map(|(_, step)| step.as_mut()) {
            Some(Step::Output(output)) => output.add_text(text.into(), emitter),
            _ => Ok(()),
        }
    }

    /// Returns whether text is added to the output that has this index.
    pub(super) fn is_output(&self, index: i64) -> bool {
        matches!(self.open.get(&index), Some((_, step)) if matches!(**step, Step::Output(_)))
    }

    /// Ends a step. One that is not open has ended already.
    pub(super) fn stop(&mut self, index: i64, emitter: &mut Emitter) -> Result<()> {
        match self.open.remove(&index) {
            Some((_, step)) => self.end(*step, emitter),
            None => Ok(()),
        }
    }

    /// Ends all steps, in the order in which they started.
    pub(super) fn stop_all(&mut self, emitter: &mut Emitter) -> Result<()> {
        let mut open: Vec<(usize, Box<Step>)> = take(&mut self.open).into_values().collect();
        open.sort_by_key(|(order, _)| *order);
        open.into_iter().try_for_each(|(_, step)| self.end(*step, emitter))
    }

    fn end(&mut self, step: Step, emitter: &mut Emitter) -> Result<()> {
        match step {
            Step::Output(output) => output.end(emitter),
            Step::Thought(thought) => thought.end(emitter),
            Step::Call(call) => call.end(&mut self.ids, emitter),
            Step::Held(held) => held.end(emitter),
            Step::Echo => Ok(()),
        }
    }
}

/// Returns an object as a tree.
fn tree(fields: Fields<'_>) -> Result<Map<String, Value>> {
    fields.into_map().map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> Error {
    let kind =
        if nesting::is_too_large(&error) { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    Error::new(kind, "a step of the response cannot be read as an object").with_source(error)
}

/// Returns a list. Anything else is as good as an empty one.
fn list(raw: &RawValue) -> Vec<Value> {
    match value(raw) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// Returns any JSON, mended if a strict parser refuses it.
fn value(raw: &RawValue) -> Option<Value> {
    let read = |json: &str| nesting::read(json).map_err(unreadable);
    let read_again = |error| {
        let json = mended(raw.get().as_bytes(), &error)?;
        read(std::str::from_utf8(&json).ok()?).ok()
    };
    read(raw.get()).map_or_else(read_again, Some)
}

/// Returns the state of a part: the rest of its step, if it has any.
fn state_of(kind: &str, mut rest: Map<String, Value>, emitter: &Emitter) -> Option<ProviderState> {
    rest.retain(|_, value| !is_blank(value));
    if rest.is_empty() {
        return None;
    }
    let mut step = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    step.extend(rest);
    Some(step_state(step, emitter))
}

/// Returns the state that has this rest of a step.
fn step_state(step: Map<String, Value>, emitter: &Emitter) -> ProviderState {
    let data = Map::from_iter([("step".to_owned(), Value::Object(step))]);
    ProviderState::new(emitter.provider(), Value::Object(data))
}

/// Returns whether a field has no content. The steps of streams start with empty signatures (`tool-call-step1.chunks.txt`).
fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

/// Gives an open part its state.
fn put_state(part: u32, state: Option<ProviderState>, emitter: &mut Emitter) -> Result<()> {
    match state {
        Some(provider_state) => emitter.delta(0, part, PartDelta::ProviderState { provider_state }),
        None => Ok(()),
    }
}
