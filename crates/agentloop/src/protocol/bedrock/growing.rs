//! The blocks of a response while they grow: blocks → parts.
//!
//! A block is an object with one field, whose name is its kind. Only some kinds have a start in a stream; the others begin with
//! their first piece.

mod held;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::mem::size_of;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use self::held::Held;
use super::citations;
use crate::chat::{PartDelta, PartStart, ProviderState};
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::blocks::input::given;
use crate::protocol::fields::{self, Fields};
use crate::protocol::tool_calls::check_arguments;

/// The blocks of one message.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The open blocks, by their index.
    open: BTreeMap<i64, Box<Block>>,
    /// The parts of the texts that have closed, by the index of their block. Sources may follow.
    texts: BTreeMap<i64, u32>,
    /// The index of the text or the thought that is open: at most one is.
    text: Option<i64>,
    /// The ids of the calls of the caller's tools.
    calls: HashSet<String>,
    /// The number of the next id that is made up.
    next_id: usize,
}

/// A block that is not finished.
#[derive(Debug)]
enum Block {
    Text(u32),
    Thinking(u32),
    Call(Call),
    /// One that is complete only at its end.
    Held(Held),
}

/// A call of a tool: of the caller's, or of the provider's own.
#[derive(Debug)]
struct Call {
    part: u32,
    is_own: bool,
    input_bytes: usize,
    /// State that is sent back with the call.
    state: Map<String, Value>,
}

impl Blocks {
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Reads the start of a block.
    pub(super) fn start(
        &mut self,
        index: i64,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.stop(index, emitter)?;
        let start = read(raw)?;
        let Some((kind, value)) = member(&start) else { return Ok(()) };
        match (kind.as_str(), value) {
            ("toolUse", Some(value)) => self.open_call(index, value, emitter),
            (_, value) => {
                let held = Held::start(&kind, value, emitter)?;
                self.open(index, Block::Held(held), emitter)
            }
        }
    }

    /// Reads a piece of a block. A block without a start begins here.
    pub(super) fn delta(
        &mut self,
        index: i64,
        mut delta: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(text) = delta.take_text("text") {
            self.text(index, text, emitter)?;
            delta.remove("text");
        }
        let Some((kind, value)) = member(&delta) else { return Ok(()) };
        let Some(value) = value else { return Ok(()) };
        match kind.as_str() {
            "toolUse" => self.input(index, value, emitter),
            "reasoningContent" => self.reasoning(index, value, emitter),
            "citation" => self.citation(index, value, emitter),
            kind => {
                if !matches!(self.open.get(&index).map(Box::as_ref), Some(Block::Held(_))) {
                    self.stop(index, emitter)?;
                    let held = Held::start(kind, None, emitter)?;
                    self.open(index, Block::Held(held), emitter)?;
                }
                match self.open.get_mut(&index).map(Box::as_mut) {
                    Some(Block::Held(held)) => held.grow(kind, value, emitter),
                    _ => Ok(()),
                }
            }
        }
    }

    /// Reads a complete block, with the same steps as a streamed one.
    pub(super) fn complete(
        &mut self,
        index: i64,
        mut block: Fields<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(text) = block.take_text("text") {
            self.text(index, text, emitter)?;
            return self.stop(index, emitter);
        }
        let Some((kind, value)) = member(&block) else { return Ok(()) };
        match (kind.as_str(), value) {
            ("toolUse", Some(value)) => {
                self.open_call(index, value, emitter)?;
                if let Some(input) = read(value)?.raw("input") {
                    self.feed(index, &given(input), emitter)?;
                }
            }
            ("reasoningContent", Some(value)) => {
                let inner = read(value)?;
                match inner.raw("reasoningText") {
                    Some(text) => self.reasoning(index, text, emitter)?,
                    None => self.reasoning(index, value, emitter)?,
                }
            }
            ("citationsContent", Some(value)) => {
                let inner = read(value)?;
                for citation in inner.raw("citations").map_or_else(Vec::new, list) {
                    self.cite(index, citation, emitter)?;
                }
                for content in inner.raw("content").map_or_else(Vec::new, list) {
                    if let Some(text) = content.get("text").and_then(Value::as_str) {
                        self.text(index, Cow::Borrowed(text), emitter)?;
                    }
                }
            }
            (_, value) => {
                let held = Held::whole(&kind, value, emitter)?;
                self.open(index, Block::Held(held), emitter)?;
            }
        }
        self.stop(index, emitter)
    }

    /// Opens a block. The texts and thoughts before it end: blocks arrive one after the other, and only calls may be open at once.
    fn open(&mut self, index: i64, block: Block, emitter: &mut Emitter) -> Result<()> {
        emitter.charge(size_of::<(i64, Block)>() + size_of::<Box<Block>>())?;
        self.open.insert(index, Box::new(block));
        Ok(())
    }

    /// Ends the text or the thought that is open. It is not searched among the open blocks, which may be thousands of calls.
    fn close_text(&mut self, emitter: &mut Emitter) -> Result<()> {
        match self.text {
            Some(index) => self.stop(index, emitter),
            None => Ok(()),
        }
    }

    /// Returns the part of the text, or of the thought, that grows at an index.
    fn growing(&mut self, index: i64, is_text: bool, emitter: &mut Emitter) -> Result<u32> {
        match (self.open.get(&index).map(Box::as_ref), is_text) {
            (Some(Block::Text(part)), true) | (Some(Block::Thinking(part)), false) => {
                return Ok(*part);
            }
            _ => {}
        }
        self.close_text(emitter)?;
        self.stop(index, emitter)?;
        let start = if is_text { PartStart::Text {} } else { PartStart::Thinking {} };
        let part = emitter.open(0, start)?;
        let block = if is_text { Block::Text(part) } else { Block::Thinking(part) };
        self.open(index, block, emitter)?;
        self.text = Some(index);
        Ok(part)
    }

    /// Adds to a text. An empty piece opens no part: recording bedrock-stream-thinking-text-0d499104.
    fn text(&mut self, index: i64, text: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let part = self.growing(index, true, emitter)?;
        emitter.delta(0, part, PartDelta::Text { text: text.into_owned() })
    }

    /// Adds to a thought: its text, its signature, or its encrypted form.
    fn reasoning(&mut self, index: i64, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        let mut piece = read(raw)?;
        let mut taken = |name| piece.take_text(name).filter(|text| !text.is_empty());
        let (text, signature) = (taken("text"), taken("signature"));
        if let Some(thinking) = text.map(Cow::into_owned) {
            let part = self.growing(index, false, emitter)?;
            emitter.delta(0, part, PartDelta::Thinking { thinking })?;
        }
        if let Some(signature) = signature.map(Cow::into_owned) {
            let part = self.growing(index, false, emitter)?;
            emitter.delta(0, part, PartDelta::ThinkingSignature { signature })?;
        }
        let Some(data) = piece.word("redactedContent").filter(|data| !data.is_empty()) else {
            return Ok(());
        };
        if !matches!(self.open.get(&index).map(Box::as_ref), Some(Block::Held(_))) {
            self.close_text(emitter)?;
            self.stop(index, emitter)?;
            self.open(index, Block::Held(Held::redacted()), emitter)?;
        }
        match self.open.get_mut(&index).map(Box::as_mut) {
            Some(Block::Held(held)) => held.add_data(data, emitter),
            _ => Ok(()),
        }
    }

    fn citation(&mut self, index: i64, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        match nesting::read(raw.get()) {
            Ok(citation) => self.cite(index, citation, emitter),
            Err(error) if nesting::is_too_large(&error) => {
                Err(Error::new(ErrorKind::TooLarge, format!("a citation: {error}")))
            }
            Err(_) => Ok(()),
        }
    }

    /// Adds a source to a text, which may have closed.
    fn cite(&mut self, index: i64, citation: Value, emitter: &mut Emitter) -> Result<()> {
        if !citation.is_object() {
            return Ok(());
        }
        let citation = citations::read(citation, emitter.provider());
        let is_open = self.open.contains_key(&index);
        if let Some(part) = self.texts.get(&index).filter(|_| !is_open) {
            return emitter.cite(0, *part, citation);
        }
        let part = self.growing(index, true, emitter)?;
        emitter.delta(0, part, PartDelta::Citation { citation })
    }

    fn open_call(&mut self, index: i64, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        self.close_text(emitter)?;
        let mut fields = read(raw)?;
        let word = |name: &str| fields.word(name).map(Cow::into_owned).unwrap_or_default();
        let (mut id, name) = (word("toolUseId"), word("name"));
        let is_own = word("type") == "server_tool_use";
        for known in ["toolUseId", "name", "input"] {
            fields.remove(known);
        }
        // The type of a call of the caller's tools is the usual one.
        if !is_own {
            fields.remove("type");
        }
        let state = fields.into_map().map_err(unreadable)?;
        let start = if is_own {
            PartStart::ServerToolCall { id, name }
        } else {
            // Two calls of one response never share an id, or their results could not be distinguished.
            if id.is_empty() || self.calls.contains(&id) {
                id = self.unused_id(emitter);
            }
            emitter.charge(2 * size_of::<String>() + id.len())?;
            self.calls.insert(id.clone());
            PartStart::ToolCall { id, name }
        };
        let part = emitter.open(0, start)?;
        let call = Call { part, is_own, input_bytes: 0, state };
        self.open(index, Block::Call(call), emitter)
    }

    /// Returns an id that no call has, whatever ids the provider sends.
    fn unused_id(&mut self, emitter: &Emitter) -> String {
        let response = hash::fnv64(hash::FNV64, emitter.id().as_bytes());
        loop {
            self.next_id = self.next_id.max(self.calls.len()) + 1;
            let id = format!("tooluse_{response:016x}_{}", self.next_id - 1);
            if !self.calls.contains(&id) {
                return id;
            }
        }
    }

    /// Adds a piece of the input of a call.
    fn input(&mut self, index: i64, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        let fields = read(raw)?;
        let piece = match fields.raw("input") {
            Some(input) => given(input),
            None => return Ok(()),
        };
        self.feed(index, &piece, emitter)
    }

    fn feed(&mut self, index: i64, json: &str, emitter: &mut Emitter) -> Result<()> {
        match self.open.get_mut(&index).map(Box::as_mut) {
            Some(Block::Call(call)) => call.feed(json, emitter),
            _ if json.is_empty() => Ok(()),
            _ => Err(Error::new(
                ErrorKind::Protocol,
                "a piece of a tool call arrived before the call began",
            )),
        }
    }

    /// Ends a block. One that is not open has ended already.
    pub(super) fn stop(&mut self, index: i64, emitter: &mut Emitter) -> Result<()> {
        let Some(block) = self.open.remove(&index) else { return Ok(()) };
        self.text.take_if(|text| *text == index);
        match *block {
            Block::Text(part) => {
                emitter.charge(size_of::<(i64, u32)>())?;
                self.texts.insert(index, part);
                emitter.close(0, part, |_| {})
            }
            Block::Thinking(part) => emitter.close(0, part, |_| {}),
            Block::Call(call) => call.close(emitter),
            Block::Held(held) => held.close(emitter),
        }
    }

    /// Closes all blocks, in the order in which they started.
    pub(super) fn stop_all(&mut self, emitter: &mut Emitter) -> Result<()> {
        while let Some(index) = self.open.keys().next().copied() {
            self.stop(index, emitter)?;
        }
        Ok(())
    }
}

impl Call {
    fn feed(&mut self, json: &str, emitter: &mut Emitter) -> Result<()> {
        if json.is_empty() {
            return Ok(());
        }
        self.input_bytes += json.len();
        check_arguments(self.input_bytes)?;
        let arguments = json.to_owned();
        let delta = if self.is_own {
            PartDelta::ServerToolCallArguments { arguments }
        } else {
            PartDelta::ToolCallArguments { arguments }
        };
        emitter.delta(0, self.part, delta)
    }

    fn close(mut self, emitter: &mut Emitter) -> Result<()> {
        if self.input_bytes == 0 {
            self.feed("{}", emitter)?;
        }
        if !self.state.is_empty() {
            let state = Value::Object(std::mem::take(&mut self.state));
            let provider_state = ProviderState::new(emitter.provider(), state);
            emitter.delta(0, self.part, PartDelta::ProviderState { provider_state })?;
        }
        emitter.close(0, self.part, |_| {})
    }
}

/// Returns the name and the value of the field of a block; `None` as the value for `null` or a text.
fn member<'a>(fields: &Fields<'a>) -> Option<(String, Option<&'a RawValue>)> {
    let name = fields.names().next()?.to_owned();
    let is_text = matches!(name.as_str(), "type" | "text" | "thinking" | "signature");
    let value = (!is_text).then(|| fields.raw(&name)).flatten();
    Some((name, value))
}

fn read(raw: &RawValue) -> Result<Fields<'_>> {
    fields::read(raw).map_err(|error| unreadable(error).with_raw(raw.get().as_bytes()))
}

fn unreadable(error: serde_json::Error) -> Error {
    let kind =
        if nesting::is_too_large(&error) { ErrorKind::TooLarge } else { ErrorKind::Protocol };
    Error::new(kind, "a block of the response cannot be read as an object").with_source(error)
}

fn list(raw: &RawValue) -> Vec<Value> {
    nesting::read_list(raw.get())
}
