//! The parts of a response, as they arrive.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::citations::{self, Place};
use super::wire::ToolCall;
use crate::chat::{
    Citation, OpaquePart, PartDelta, PartStart, ProviderState, ResponsePart, Weight as _,
};
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::fields::Fields;
use crate::protocol::tool_calls::{CallPiece, ToolCalls};

/// The field of the state of thinking that is the plan of a message with calls. It is sent back as `tool_plan`.
pub(super) const PLAN: &str = "tool_plan";

/// The state of the response while it arrives. The protocol has one choice.
#[derive(Debug, Default)]
pub(super) struct Growing {
    /// The part that grows now.
    active: Option<(Kind, u32)>,
    /// The part of each block of content, if it is a text. Sources name their block by its number.
    blocks: Vec<Option<u32>>,
    /// The part of the last text. It is not searched among the blocks, which may be empty and any number.
    last_text: Option<u32>,
    pub(super) calls: ToolCalls,
    /// The sources of thoughts and plans.
    pub(super) beside: Vec<Value>,
    pub(super) has_parts: bool,
    /// Whether the latest call has no arguments yet.
    is_fresh: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Plan,
}

impl Growing {
    /// Begins a block of content, with the beginning of its text.
    pub(super) fn start_block(
        &mut self,
        mut block: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.close_active(emitter)?;
        emitter.charge(size_of::<Option<u32>>())?;
        let kind = match block.text("type") {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking,
            None | Some("") if block.text("thinking").is_some() => Kind::Thinking,
            None | Some("") => Kind::Text,
            Some(_) => {
                self.blocks.push(None);
                return self.opaque(block, emitter);
            }
        };
        self.blocks.push(None);
        let name = if kind == Kind::Text { "text" } else { "thinking" };
        match block.take_text(name).filter(|text| !text.is_empty()) {
            Some(text) => self.grow(kind, text, emitter),
            None => Ok(()),
        }
    }

    /// Adds to the block that grows. An empty piece opens no part.
    pub(super) fn grow_block(
        &mut self,
        mut block: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        for (kind, name) in [(Kind::Thinking, "thinking"), (Kind::Text, "text")] {
            if let Some(text) = block.take_text(name).filter(|text| !text.is_empty()) {
                self.grow(kind, text, emitter)?;
            }
        }
        Ok(())
    }

    /// Adds to the plan of a message with calls.
    pub(super) fn plan(&mut self, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        if text.is_empty() { Ok(()) } else { self.grow(Kind::Plan, text, emitter) }
    }

    fn opaque(&mut self, block: Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        let fields = block.into_map().map_err(|error| {
            Error::new(ErrorKind::Protocol, "a part of the response cannot be read")
                .with_source(error)
        })?;
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let provider = emitter.provider().to_owned();
        self.has_parts = true;
        let part = OpaquePart { provider, kind, data: Value::Object(fields) };
        emitter.whole(0, ResponsePart::Opaque(part))
    }

    fn grow(&mut self, kind: Kind, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        let part = match self.active {
            Some((active, part)) if active == kind => part,
            _ => {
                self.close_active(emitter)?;
                let start = match kind {
                    Kind::Text => PartStart::Text {},
                    Kind::Thinking | Kind::Plan => PartStart::Thinking {},
                };
                let part = emitter.open(0, start)?;
                self.has_parts = true;
                self.active = Some((kind, part));
                if kind == Kind::Text {
                    self.last_text = Some(part);
                    match self.blocks.last_mut() {
                        Some(block) => *block = Some(part),
                        // A piece without its beginning.
                        None => self.blocks.push(Some(part)),
                    }
                }
                part
            }
        };
        let text = text.into_owned();
        let delta = match kind {
            Kind::Text => PartDelta::Text { text },
            Kind::Thinking | Kind::Plan => PartDelta::Thinking { thinking: text },
        };
        emitter.delta(0, part, delta)
    }

    /// Adds a call, or a piece of one. `whole` is whether it is complete.
    pub(super) fn call(
        &mut self,
        call: &ToolCall<'_>,
        index: Option<i64>,
        whole: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.close_active(emitter)?;
        let function = call.function.0.as_ref();
        let arguments = function.and_then(|function| function.arguments.0.as_deref());
        let name = function.and_then(|function| function.name.non_empty());
        self.is_fresh |= whole || name.is_some();
        // `null` is how the provider writes no arguments.
        let is_fresh = self.is_fresh;
        let arguments = arguments.map(|text| if text == "null" && is_fresh { "{}" } else { text });
        self.is_fresh &= arguments.is_none_or(str::is_empty);
        let piece =
            CallPiece { id: call.id.0.as_deref(), index, name, arguments, ..CallPiece::default() };
        let is_empty = piece.id.is_none_or(str::is_empty)
            && piece.name.is_none()
            && piece.arguments.is_none_or(str::is_empty);
        if is_empty {
            return Ok(());
        }
        self.has_parts = true;
        let at = self.calls.place(&piece, 0, whole);
        let response = hash::fnv64(hash::FNV64, emitter.id().as_bytes());
        let arguments = arguments.unwrap_or_default();
        self.calls.grow(at, arguments, 0, emitter, |at| format!("call_{response:016x}_{at}"))
    }

    /// Adds a citation, or a list of them.
    pub(super) fn cite(&mut self, raw: &str, emitter: &mut Emitter) -> Result<()> {
        let citations = match nesting::read(raw) {
            Ok(Value::Array(list)) => list,
            Ok(one @ Value::Object(_)) => vec![one],
            Ok(_) => return Ok(()),
            Err(error) if nesting::is_too_large(&error) => {
                return Err(Error::new(ErrorKind::TooLarge, format!("citations: {error}")));
            }
            Err(_) => return Ok(()),
        };
        for citation in citations.into_iter().filter(Value::is_object) {
            let part = match citations::place(&citation) {
                Place::Text(Some(block)) => self.blocks.get(block).copied().flatten(),
                Place::Text(None) => None,
                Place::Beside => {
                    emitter.charge(size_of::<Value>() + citation.weight())?;
                    self.beside.push(citation);
                    continue;
                }
            };
            // Without its number, or with a wrong one, it is of the last text.
            let Some(part) = part.or(self.last_text) else {
                emitter.charge(size_of::<Value>() + citation.weight())?;
                self.beside.push(citation);
                continue;
            };
            for citation in citations::read(citation, emitter.provider()) {
                self.attach(part, citation, emitter)?;
            }
        }
        Ok(())
    }

    fn attach(&self, part: u32, citation: Citation, emitter: &mut Emitter) -> Result<()> {
        match self.active {
            Some((Kind::Text, open)) if open == part => {
                emitter.delta(0, part, PartDelta::Citation { citation })
            }
            _ => emitter.cite(0, part, citation),
        }
    }

    /// Ends the part that grows.
    pub(super) fn close_active(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some((kind, part)) = self.active.take() else { return Ok(()) };
        if kind == Kind::Plan {
            let state = ProviderState::new(emitter.provider(), json!({ PLAN: true }));
            emitter.delta(0, part, PartDelta::ProviderState { provider_state: state })?;
        }
        emitter.close(0, part, |_| {})
    }

    /// Ends all parts.
    pub(super) fn close(&mut self, cut: bool, emitter: &mut Emitter) -> Result<()> {
        self.close_active(emitter)?;
        self.calls.close(0, cut, emitter)
    }
}
