//! One item of a response while it grows: items → parts.

use std::collections::HashSet;
use std::mem::size_of;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::complete;
use super::message::{MAX_REPEATED_BYTES, Message};
use super::server_tools::word;
use super::thinking::{Source, Thinking};
use super::tool_calls::{self, Growing, Kind};
use crate::chat::{ResponsePart, Weight as _};
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::protocol::Emitter;
use crate::protocol::openai_responses::wire_item::{Content, WireItem};

pub(super) type Fields = Map<String, Value>;

/// An item that has started.
#[derive(Debug)]
pub(super) enum Item {
    Message(Message),
    Reasoning(Thinking),
    Call(Growing),
    /// One that is emitted when it ends.
    Whole(Fields),
}

/// The data that the items share.
#[derive(Debug, Default)]
pub(super) struct Common {
    /// The ids of the calls of the caller's tools.
    pub(super) calls: HashSet<String>,
    /// How many there were.
    pub(super) call_count: usize,
    /// The id of the latest call of a tool of the provider's.
    pub(super) latest: String,
    /// How many items of the provider's had no id.
    pub(super) unnamed: usize,
    pub(super) refused: bool,
    pub(super) provider_runs_custom: bool,
    pub(super) audio_format: Option<String>,
}

/// What an event adds to an item.
#[derive(Clone, Copy, Debug)]
pub(in crate::protocol::openai_responses) enum Growth<'a> {
    Text { at: Option<i64>, delta: &'a str, logprobs: Option<&'a RawValue> },
    TextDone { at: Option<i64>, whole: &'a str },
    Refusal { at: Option<i64>, delta: &'a str },
    RefusalDone { at: Option<i64>, whole: &'a str },
    Annotation { at: Option<i64>, annotation: &'a RawValue },
    Part { at: Option<i64>, part: &'a RawValue, done: bool },
    Thought { source: Source, at: Option<i64>, delta: &'a str },
    ThoughtDone { source: Source, at: Option<i64>, whole: &'a str },
    Input { delta: &'a str },
    InputDone { whole: &'a str },
    Audio { delta: &'a str },
    Transcript { delta: &'a str },
}

impl Growth<'_> {
    /// Returns the kind of the items that grow so, if there is only one.
    pub(super) fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Thought { .. } | Self::ThoughtDone { .. } => Some("reasoning"),
            Self::Input { .. } | Self::InputDone { .. } | Self::Part { .. } => None,
            _ => Some("message"),
        }
    }
}

impl Default for Item {
    fn default() -> Self {
        Self::Whole(Fields::new())
    }
}

impl Item {
    /// Begins an item of which only deltas have arrived.
    pub(super) fn grown(kind: &str, emitter: &mut Emitter) -> Result<Self> {
        match kind {
            "reasoning" => Thinking::open(emitter).map(Self::Reasoning),
            _ => Ok(Self::Message(Message::default())),
        }
    }

    pub(super) fn grow(&mut self, growth: Growth<'_>, emitter: &mut Emitter) -> Result<()> {
        match (self, growth) {
            (Self::Message(message), growth) => match growth {
                Growth::Text { at, delta, logprobs } => {
                    message.grow(at, false, delta, emitter)?;
                    message.logprobs(at, logprobs, emitter)
                }
                Growth::TextDone { at, whole } => message.text(at, false, whole, emitter),
                Growth::Refusal { at, delta } => message.grow(at, true, delta, emitter),
                Growth::RefusalDone { at, whole } => message.text(at, true, whole, emitter),
                Growth::Annotation { at, annotation } => {
                    message.annotation(at, annotation, emitter)
                }
                Growth::Part { at, part, done } => {
                    message.content(at, Content::read(part), done, emitter)
                }
                _ => Ok(()),
            },
            (Self::Reasoning(thoughts), Growth::Thought { source, at, delta }) => {
                thoughts.grow(source, at, delta, emitter)
            }
            (Self::Reasoning(thoughts), Growth::ThoughtDone { source, at, whole }) => {
                thoughts.section(source, at, whole, emitter)
            }
            (Self::Call(call), Growth::Input { delta }) => call.grow(delta, emitter),
            (Self::Call(call), Growth::InputDone { whole }) => call.complete(whole, emitter),
            _ => Ok(()),
        }
    }

    /// Ends the item. `wire` is all of it, if the provider sent that, and reports whether the item was cut off; else `cut` is set if
    /// it was.
    pub(super) fn finish(
        &mut self,
        wire: Option<WireItem<'_>>,
        cut: bool,
        common: &mut Common,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Self::Whole(began) = self {
            emitter.release(began.weight());
            // It starts and ends at once.
            if wire.as_ref().is_some_and(|wire| wire.kind() == "message") {
                *self = Self::Message(Message::default());
            }
        }
        if let Self::Message(message) = self {
            message.close(wire, common.audio_format.as_deref(), emitter)?;
            common.refused |= message.refused();
            return Ok(());
        }
        let mut fields = wire.map(WireItem::into_fields).transpose()?;
        let cut = fields.as_ref().map_or(cut, |all| word(all, "status") == "incomplete");
        if let Self::Whole(_) = self
            && let Some(all) = fields.take()
        {
            // A call may have had no name when it started.
            *self = common.open_fields(&all, emitter)?;
            match self {
                Self::Whole(place) => *place = all,
                _ => fields = Some(all),
            }
        }
        match self {
            Self::Message(_) => Ok(()),
            Self::Reasoning(thoughts) => thoughts.close(fields, emitter),
            Self::Call(call) => call.close(fields.as_ref(), cut, emitter),
            Self::Whole(fields) => common.hand_on(std::mem::take(fields), emitter),
        }
    }
}

impl Common {
    /// Starts an item. An item that is always complete keeps its fields until it ends.
    pub(super) fn open(&mut self, wire: WireItem<'_>, emitter: &mut Emitter) -> Result<Item> {
        if wire.kind() == "message" {
            return Ok(Item::Message(Message::default()));
        }
        let fields = wire.into_fields()?;
        Ok(match self.open_fields(&fields, emitter)? {
            Item::Whole(_) => {
                emitter.charge(fields.weight())?;
                Item::Whole(fields)
            }
            item => item,
        })
    }

    /// Starts an item. An item that is always complete is returned without its fields.
    fn open_fields(&mut self, fields: &Fields, emitter: &mut Emitter) -> Result<Item> {
        if word(fields, "type") == "reasoning" {
            return Thinking::open(emitter).map(Item::Reasoning);
        }
        let Some((kind, name)) = tool_calls::kind(fields, self.provider_runs_custom) else {
            return Ok(Item::Whole(Fields::new()));
        };
        let id = match kind {
            Kind::Call | Kind::Custom => self.call_id(fields, emitter)?,
            Kind::Server | Kind::Code => {
                self.latest = self.provider_id(fields, emitter);
                self.latest.clone()
            }
        };
        Growing::open(kind, id, name, emitter).map(Item::Call)
    }

    /// Two calls of one response never share an id, or their results could not be distinguished.
    fn call_id(&mut self, fields: &Fields, emitter: &mut Emitter) -> Result<String> {
        let id = match first(fields, &["call_id", "id"]) {
            Some(id) if !self.calls.contains(id) => id.to_owned(),
            _ => format!("call_{:016x}_{}", seed(emitter), self.call_count),
        };
        self.call_count += 1;
        emitter.charge(2 * size_of::<String>() + id.len())?;
        self.calls.insert(id.clone());
        Ok(id)
    }

    /// Returns the id of a tool that the provider ran. It is copied to each result. An id that is too long for that is
    /// replaced, because nothing has to be sent back with it.
    fn provider_id(&mut self, fields: &Fields, emitter: &Emitter) -> String {
        let short = |id: &&str| id.len() <= MAX_REPEATED_BYTES;
        first(fields, &["call_id", "id"]).filter(short).map(str::to_owned).unwrap_or_else(|| {
            self.unnamed += 1;
            format!("host_{:016x}_{}", seed(emitter), self.unnamed)
        })
    }

    /// Emits an item that is always complete.
    fn hand_on(&mut self, fields: Fields, emitter: &mut Emitter) -> Result<()> {
        let kind = word(&fields, "type");
        if matches!(kind, "function_call" | "custom_tool_call") {
            return Err(Error::new(ErrorKind::Protocol, "a tool call has no name")
                .with_raw(Value::Object(fields).to_string().as_bytes()));
        }
        let id = if complete::client_tool(&fields).is_some() {
            self.call_id(&fields, emitter)?
        } else if kind.ends_with("_output") {
            // A tool that the provider ran is not a call that waits for the caller.
            let id = first(&fields, &["call_id"]).unwrap_or(&self.latest).to_owned();
            self.calls.remove(&id);
            id
        } else {
            self.provider_id(&fields, emitter)
        };
        let parts: Vec<ResponsePart> = complete::parts(fields, &id, emitter.provider());
        parts.into_iter().try_for_each(|part| emitter.whole(0, part))
    }
}

/// Returns what is in the ids that the provider should have made: a number that other responses do not have.
fn seed(emitter: &Emitter) -> u64 {
    hash::fnv64(hash::FNV64, emitter.id().as_bytes())
}

fn first<'a>(fields: &'a Fields, names: &[&str]) -> Option<&'a str> {
    names.iter().map(|name| word(fields, name)).find(|id| !id.is_empty())
}
