//! The blocks of a response while they grow: blocks → parts.

mod complete;

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::mem::{size_of, take};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub(super) use complete::{image, language, whole};

use super::citations;
use super::wire::Delta;
use crate::chat::{
    PartDelta, PartStart, ProviderState, ResponsePart, Weight as _, parse_arguments,
};
use crate::error::{Error, ErrorKind, Result};
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::blocks::input::given;
use crate::protocol::fields::Fields;
use crate::protocol::tool_calls::check_arguments;

/// The blocks of one message.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    /// The open blocks, by their index.
    open: BTreeMap<i64, Box<Block>>,
    /// The ids of the calls of the caller's tools.
    calls: HashSet<String>,
}

/// A block that is not finished.
#[derive(Debug)]
struct Block {
    part: u32,
    kind: Kind,
    /// The block as it was when it started.
    raw: Map<String, Value>,
    /// The input in the start of the block, which is used if no other follows.
    given: String,
    /// The input that followed.
    input: String,
    input_bytes: usize,
    /// The bytes that were charged for what it holds outside of its part.
    charged: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
    ServerCall,
    Code,
    Opaque,
}

impl Blocks {
    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Opens a block. `message` is the id of the message, for calls that have none.
    pub(super) fn start(
        &mut self,
        index: i64,
        fields: Fields<'_>,
        message: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        self.stop(index, emitter)?;
        if let Some(block) = self.open(fields, message, emitter)? {
            self.open.insert(index, Box::new(block));
        }
        Ok(())
    }

    /// Decodes a complete block, with the same steps as a streamed one.
    pub(super) fn complete(
        &mut self,
        fields: Fields<'_>,
        message: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        match self.open(fields, message, emitter)? {
            Some(block) => block.close(emitter),
            None => Ok(()),
        }
    }

    /// Opens the part of a block and returns the block; `None` if its kind has no deltas.
    fn open(
        &mut self,
        mut fields: Fields<'_>,
        message: &str,
        emitter: &mut Emitter,
    ) -> Result<Option<Block>> {
        if let Some(kind @ ("text" | "thinking")) = fields.text("type") {
            let kind = if kind == "text" { Kind::Text } else { Kind::Thinking };
            return Block::of_text(kind, &mut fields, emitter).map(Some);
        }
        let input = fields.raw("input");
        let fields = fields.into_map().map_err(|error| {
            let kind = if nesting::is_too_large(&error) {
                ErrorKind::TooLarge
            } else {
                ErrorKind::Protocol
            };
            Error::new(kind, "a block of the response cannot be read as an object")
                .with_source(error)
        })?;
        let word = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
        let kind = word("type");
        // These blocks have no deltas.
        if kind == "image"
            && let Some(image) = image(&fields)
        {
            return emitter.whole(0, ResponsePart::Image(image)).map(|()| None);
        }
        if kind.ends_with("_tool_result") || kind == "redacted_thinking" {
            let part = whole(fields, emitter.provider());
            return emitter.whole(0, part).map(|()| None);
        }
        let (kind, start) = match kind {
            "tool_use" => {
                let mut id = word("id").to_owned();
                // Two calls of one response never share an id, or their results could not be distinguished.
                if id.is_empty() || self.calls.contains(&id) {
                    id = format!("toolu_{}_{}", short(message), self.calls.len());
                }
                emitter.charge(2 * size_of::<String>() + id.len())?;
                self.calls.insert(id.clone());
                (Kind::Call, PartStart::ToolCall { id, name: word("name").to_owned() })
            }
            "server_tool_use" | "mcp_tool_use" => match language(word("name")) {
                Some(language) => {
                    let id = Some(word("id").to_owned());
                    let language = language.to_owned();
                    (Kind::Code, PartStart::CodeExecution { id, language })
                }
                None => {
                    let (id, name) = (word("id").to_owned(), word("name").to_owned());
                    (Kind::ServerCall, PartStart::ServerToolCall { id, name })
                }
            },
            other => {
                let provider = emitter.provider().to_owned();
                (Kind::Opaque, PartStart::Opaque { provider, kind: other.to_owned() })
            }
        };
        let part = emitter.open(0, start)?;
        let given = match kind {
            Kind::Call | Kind::ServerCall | Kind::Code => given_input(input),
            Kind::Text | Kind::Thinking | Kind::Opaque => String::new(),
        };
        let charged = size_of::<Block>() + fields.weight() + given.len();
        emitter.charge(charged)?;
        let (input, input_bytes) = (String::new(), 0);
        let block = Block { part, kind, raw: fields, given, input, input_bytes, charged };
        // Fields such as the caller are sent back with the call.
        if kind == Kind::Call {
            let extras = without(&block.raw, &["type", "id", "name", "input"]);
            if !extras.is_empty() {
                block.state(extras, emitter)?;
            }
        }
        Ok(Some(block))
    }

    /// Adds a delta to a block. A block without a start is started here, if the delta determines its kind.
    pub(super) fn delta(
        &mut self,
        index: i64,
        delta: &mut Delta<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(block) = self.open.get_mut(&index) {
            return block.grow(delta, emitter);
        }
        let (kind, start) = match delta.kind.0.as_deref() {
            Some("text_delta") => (Kind::Text, PartStart::Text {}),
            Some("thinking_delta") => (Kind::Thinking, PartStart::Thinking {}),
            _ => return Ok(()),
        };
        let mut block = Block::empty(kind, start, emitter)?;
        block.grow(delta, emitter)?;
        self.open.insert(index, Box::new(block));
        Ok(())
    }

    /// Ends a block. One that is not open has ended already.
    pub(super) fn stop(&mut self, index: i64, emitter: &mut Emitter) -> Result<()> {
        match self.open.remove(&index) {
            Some(block) => block.close(emitter),
            None => Ok(()),
        }
    }

    /// Closes all blocks, in the order in which they started.
    pub(super) fn stop_all(&mut self, emitter: &mut Emitter) -> Result<()> {
        if self.open.is_empty() {
            return Ok(());
        }
        let mut open: Vec<Box<Block>> = take(&mut self.open).into_values().collect();
        open.sort_by_key(|block| block.part);
        open.into_iter().try_for_each(|block| block.close(emitter))
    }
}

impl Block {
    /// Opens a part without content.
    fn empty(kind: Kind, start: PartStart, emitter: &mut Emitter) -> Result<Self> {
        let part = emitter.open(0, start)?;
        let charged = size_of::<Self>();
        emitter.charge(charged)?;
        let (raw, given, input) = (Map::new(), String::new(), String::new());
        Ok(Self { part, kind, raw, given, input, input_bytes: 0, charged })
    }

    /// Opens a text or a thought with what it contains already.
    fn of_text(kind: Kind, fields: &mut Fields<'_>, emitter: &mut Emitter) -> Result<Self> {
        let mut text = |name: &str| {
            let text = fields.take_text(name).filter(|text| !text.is_empty());
            text.map(Cow::into_owned)
        };
        if kind == Kind::Thinking {
            let block = Self::empty(kind, PartStart::Thinking {}, emitter)?;
            if let Some(thinking) = text("thinking") {
                emitter.delta(0, block.part, PartDelta::Thinking { thinking })?;
            }
            if let Some(signature) = text("signature") {
                emitter.delta(0, block.part, PartDelta::ThinkingSignature { signature })?;
            }
            return Ok(block);
        }
        let block = Self::empty(kind, PartStart::Text {}, emitter)?;
        if let Some(text) = text("text") {
            emitter.delta(0, block.part, PartDelta::Text { text })?;
        }
        let citations =
            fields.raw("citations").map_or_else(Vec::new, |raw| nesting::read_list(raw.get()));
        for citation in citations {
            let citation = citations::read(citation, emitter.provider());
            emitter.delta(0, block.part, PartDelta::Citation { citation })?;
        }
        Ok(block)
    }

    fn grow(&mut self, delta: &mut Delta<'_>, emitter: &mut Emitter) -> Result<()> {
        let part = self.part;
        match self.kind {
            Kind::Text => {
                if let Some(text) = take(&mut delta.text).into_non_empty() {
                    emitter.delta(0, part, PartDelta::Text { text: text.into_owned() })?;
                }
                if let Some(Ok(citation)) = delta.citation.map(|raw| nesting::read(raw.get())) {
                    let citation = citations::read(citation, emitter.provider());
                    emitter.delta(0, part, PartDelta::Citation { citation })?;
                }
            }
            Kind::Thinking => {
                if let Some(thinking) = take(&mut delta.thinking).into_non_empty() {
                    let thinking = thinking.into_owned();
                    emitter.delta(0, part, PartDelta::Thinking { thinking })?;
                }
                if let Some(signature) = take(&mut delta.signature).into_non_empty() {
                    let signature = signature.into_owned();
                    emitter.delta(0, part, PartDelta::ThinkingSignature { signature })?;
                }
            }
            Kind::Call | Kind::ServerCall | Kind::Code => {
                if let Some(json) = take(&mut delta.partial_json).into_non_empty() {
                    self.feed(&json, emitter)?;
                }
            }
            Kind::Opaque => {
                let pieces = [
                    ("content", take(&mut delta.content)),
                    ("encrypted_content", take(&mut delta.encrypted_content)),
                    ("signature", take(&mut delta.signature)),
                    ("text", take(&mut delta.text)),
                ];
                for (name, piece) in pieces {
                    let Some(piece) = piece.into_non_empty() else { continue };
                    emitter.charge(name.len() + piece.len())?;
                    match self.raw.get_mut(name) {
                        Some(Value::String(text)) => text.push_str(&piece),
                        _ => {
                            self.raw.insert(name.to_owned(), Value::String(piece.into_owned()));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a piece of the input.
    fn feed(&mut self, json: &str, emitter: &mut Emitter) -> Result<()> {
        self.input_bytes += json.len();
        check_arguments(self.input_bytes)?;
        let arguments = json.to_owned();
        match self.kind {
            Kind::Call => emitter.delta(0, self.part, PartDelta::ToolCallArguments { arguments }),
            Kind::ServerCall => {
                emitter.delta(0, self.part, PartDelta::ServerToolCallArguments { arguments })
            }
            _ => {
                self.input.push_str(json);
                self.charged += json.len();
                emitter.charge(json.len())
            }
        }
    }

    fn state(&self, data: Map<String, Value>, emitter: &mut Emitter) -> Result<()> {
        let provider_state = ProviderState::new(emitter.provider(), Value::Object(data));
        emitter.delta(0, self.part, PartDelta::ProviderState { provider_state })
    }

    fn close(mut self, emitter: &mut Emitter) -> Result<()> {
        if matches!(self.kind, Kind::Call | Kind::ServerCall | Kind::Code) && self.input_bytes == 0
        {
            let given = take(&mut self.given);
            self.feed(if given.is_empty() { "{}" } else { &given }, emitter)?;
        }
        match self.kind {
            // The state is what the part itself does not hold.
            Kind::ServerCall => {
                self.state(without(&self.raw, &["id", "name", "input"]), emitter)?;
            }
            Kind::Code => {
                let input = parse_arguments(&self.input);
                let name = self.raw.get("name").and_then(Value::as_str).unwrap_or_default();
                let field = if name == "code_execution" { "code" } else { "command" };
                let code = input.get(field).and_then(Value::as_str);
                let code = match code.filter(|_| language(name) != Some("text_editor")) {
                    Some(code) => code.to_owned(),
                    None => take(&mut self.input),
                };
                emitter.delta(0, self.part, PartDelta::Code { code })?;
                self.raw.insert("input".to_owned(), input);
                let state = take(&mut self.raw);
                self.state(state, emitter)?;
            }
            _ => {}
        }
        // An opaque block is its part from here on.
        if self.kind != Kind::Opaque {
            emitter.release(self.charged);
        }
        let raw = self.raw;
        emitter.close(0, self.part, |part| {
            if let ResponsePart::Opaque(opaque) = part {
                opaque.data = Value::Object(raw);
            }
        })
    }
}

/// Returns the beginning of an id that is copied to every call: no id that a provider makes is longer.
fn short(id: &str) -> &str {
    &id[..id.floor_char_boundary(MAX_COPIED_ID_BYTES)]
}

/// The longest beginning of a message's id in the ids of its calls.
const MAX_COPIED_ID_BYTES: usize = 64;

/// Returns the input in the start of a block: the text of an object without white space, or the content of a string.
fn given_input(input: Option<&RawValue>) -> String {
    let Some(input) = input else {
        return String::new();
    };
    given(input)
}

fn without(fields: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let kept = fields.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}
