//! One candidate: its parts, as they arrive.

mod partial_args;

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;
use std::mem::size_of;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use partial_args::PartialArgs;

use super::citations::{Grounding, Place};
use super::decode::Mode;
use super::wire::{Blob, Code, CodeResult, FunctionCall, Tool};
use crate::chat::{
    CodeOutcome, CodeResultPart, FilePart, ImagePart, OpaquePart, PartDelta, PartStart,
    ProviderState, ResponsePart, ServerToolResultPart, Weight as _,
};
use crate::error::{Error, ErrorKind, Result};
use crate::hash;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::fields::Fields;
use crate::protocol::json::{compact, mended, read_json};
use crate::protocol::rest::Kept;
use crate::protocol::tool_calls::check_arguments;

/// Makes the ids that the provider should have made: no two alike in one response, and unlike those of every other
/// response.
#[derive(Debug, Default)]
pub(super) struct CallIds {
    /// Whether the id of the response is the provider's.
    pub(super) is_given: bool,
    /// The provider's id, if it came after the start of the response.
    late_id: String,
    /// In place of the id of a response that has none, once it is needed.
    salt: Option<u64>,
    count: u32,
    used: HashSet<String>,
}

impl CallIds {
    /// Takes an id that a further chunk has.
    pub(super) fn learn(&mut self, id: &str) {
        if !self.is_given && self.late_id.is_empty() {
            id.clone_into(&mut self.late_id);
        }
    }

    /// Returns the next id: the one that is `given`, or one that is made from that of the response.
    fn next(&mut self, given: Option<&str>, response_id: &str) -> String {
        let id = match given.filter(|id| !self.used.contains(*id)) {
            Some(id) => id.to_owned(),
            None => {
                let count = self.count;
                self.count += 1;
                match if self.is_given { response_id } else { &self.late_id } {
                    "" => {
                        let salt = *self.salt.get_or_insert_with(hash::random);
                        format!("call_{salt:016x}_{count}")
                    }
                    id => format!("call_{}_{count}", short(id)),
                }
            }
        };
        self.used.insert(id.clone());
        id
    }
}

/// What the next piece may continue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Growing {
    #[default]
    Nothing,
    /// The last of the texts.
    Text,
    Thinking(u32),
}

/// A part of text: the sources name places in it, and often come last.
#[derive(Debug)]
pub(super) struct CitedText {
    pub(super) part: u32,
    /// How many bytes of it have arrived.
    bytes: usize,
    /// The text as it was sent, if the response contains another one.
    sent: Option<String>,
}

/// A call whose arguments arrive value by value.
#[derive(Debug)]
struct PartialCall {
    part: u32,
    args: PartialArgs,
    state: Map<String, Value>,
}

#[derive(Debug, Default)]
pub(super) struct CandidateState {
    pub(super) index: u32,
    pub(super) texts: Vec<CitedText>,
    /// Where the parts of the wire went.
    pub(super) places: Vec<Place>,
    growing: Growing,
    partial: Option<PartialCall>,
    pub(super) has_calls: bool,
    pub(super) finish: Option<String>,
    pub(super) grounding: Grounding,
    /// Fields that belong to this candidate alone.
    pub(super) metadata: Map<String, Value>,
    /// Fields of it that the protocol does not name.
    pub(super) rest: Kept,
}

impl CandidateState {
    pub(super) fn new(index: u32) -> Self {
        Self { index, ..Self::default() }
    }

    pub(super) fn part(
        &mut self,
        mut part: Fields<'_>,
        mode: Mode,
        ids: &mut CallIds,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let thought = part.raw("thought").is_some_and(|raw| raw.get() == "true");
        let signature = part.take_text("thoughtSignature").filter(|text| !text.is_empty());
        let state = || match &signature {
            Some(text) => Map::from_iter([("thoughtSignature".to_owned(), Value::from(&**text))]),
            None => Map::new(),
        };
        if let Some(raw) = object(&part, "functionCall") {
            let call = raw.read()?;
            return self.call(&call, state(), ids, emitter);
        }
        let is_bare = || part.names().all(|name| name == "thought" || name == "thoughtSignature");
        if part.text("text").is_some() || (signature.is_some() && is_bare()) {
            let text = part.take_text("text").unwrap_or_default();
            return self.text(text, thought, signature.as_deref(), mode, emitter);
        }
        let mut state = state();
        self.leave(emitter)?;
        emitter.charge(size_of::<Place>())?;
        self.places.push(Place::None);
        if let Some(raw) = object(&part, "inlineData").or_else(|| object(&part, "fileData")) {
            if !thought {
                let blob = raw.read()?;
                return self.blob(&blob, state, emitter);
            }
            // A draft inside the thoughts is not output. One that must be sent back is kept unchanged.
            return if state.is_empty() { Ok(()) } else { self.opaque(part, signature, emitter) };
        }
        if let Some(raw) = object(&part, "executableCode") {
            let code: Code<'_> = raw.read()?;
            let start = PartStart::CodeExecution {
                id: code.id.into_non_empty().map(Cow::into_owned),
                language: code.language.0.unwrap_or_default().to_ascii_lowercase(),
            };
            let delta = PartDelta::Code { code: code.code.0.unwrap_or_default().into_owned() };
            return self.grown(start, delta, state, emitter);
        }
        if let Some(raw) = object(&part, "codeExecutionResult") {
            let result = raw.read()?;
            return self.code_result(result, state, emitter);
        }
        if let Some(raw) = object(&part, "toolCall") {
            let call: Tool<'_> = raw.read()?;
            let (id, name) = server_tool(&call, &mut state);
            let arguments = call.args.map_or_else(|| "{}".to_owned(), |raw| compact(raw.get()));
            let start = PartStart::ServerToolCall { id, name };
            let delta = PartDelta::ServerToolCallArguments { arguments };
            return self.grown(start, delta, state, emitter);
        }
        if let Some(raw) = object(&part, "toolResponse") {
            let result: Tool<'_> = raw.read()?;
            let (tool_call_id, _) = server_tool(&result, &mut state);
            let content = result.response.and_then(|raw| nesting::read(raw.get()).ok());
            let result = ServerToolResultPart {
                tool_call_id,
                content: content.unwrap_or_default(),
                is_error: false,
                provider_state: boxed(state, emitter),
            };
            return emitter.whole(self.index, ResponsePart::ServerToolResult(result));
        }
        self.opaque(part, signature, emitter)
    }

    /// Adds the result of code that the provider ran.
    fn code_result(
        &mut self,
        result: CodeResult<'_>,
        mut state: Map<String, Value>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let word = result.outcome.0.unwrap_or_default();
        let outcome = match word.as_ref() {
            "OUTCOME_OK" => CodeOutcome::Ok,
            "OUTCOME_FAILED" => CodeOutcome::Error,
            "OUTCOME_DEADLINE_EXCEEDED" => CodeOutcome::Timeout,
            _ => CodeOutcome::Unknown,
        };
        if outcome == CodeOutcome::Unknown && !word.is_empty() {
            state.insert("outcome".to_owned(), Value::String(word.into_owned()));
        }
        let result = CodeResultPart {
            id: result.id.into_non_empty().map(Cow::into_owned),
            outcome,
            output: result.output.0.unwrap_or_default().into_owned(),
            provider_state: boxed(state, emitter),
            ..CodeResultPart::default()
        };
        emitter.whole(self.index, ResponsePart::CodeResult(result))
    }

    /// Adds a piece of text or thoughts. A signature belongs only to its own piece.
    pub(super) fn text(
        &mut self,
        text: Cow<'_, str>,
        thought: bool,
        signature: Option<&str>,
        mode: Mode,
        emitter: &mut Emitter,
    ) -> Result<()> {
        // Sources name places in the text as it was sent. It is kept a second time only if the response contains another one.
        let is_kept = !thought && !emitter.keeps_text();
        emitter.charge(size_of::<Place>() + if is_kept { text.len() } else { 0 })?;
        if text.is_empty() && signature.is_none() {
            if mode == Mode::Whole {
                self.places.push(Place::None);
            }
            return Ok(());
        }
        let goes_on = signature.is_none()
            && match self.growing {
                Growing::Text => !thought,
                Growing::Thinking(_) => thought,
                Growing::Nothing => false,
            };
        if !goes_on {
            self.leave(emitter)?;
            let start = if thought { PartStart::Thinking {} } else { PartStart::Text {} };
            let part = emitter.open(self.index, start)?;
            self.growing = if thought { Growing::Thinking(part) } else { Growing::Text };
            if !thought {
                emitter.charge(size_of::<CitedText>())?;
                let sent = is_kept.then(String::new);
                self.texts.push(CitedText { part, bytes: 0, sent });
            }
        }
        // A stream does not show where a part of the complete response starts: a piece is not a part of its own.
        if !goes_on || mode == Mode::Whole {
            self.places.push(match self.texts.last() {
                Some(open) if !thought => {
                    Place::Text { at: self.texts.len() - 1, base: open.bytes }
                }
                _ => Place::None,
            });
        }
        let part = match (self.growing, self.texts.last_mut()) {
            (Growing::Thinking(part), _) => part,
            (_, Some(open)) => {
                open.bytes += text.len();
                if let Some(sent) = &mut open.sent {
                    sent.push_str(&text);
                }
                open.part
            }
            (_, None) => return Ok(()),
        };
        if !text.is_empty() {
            let text = text.into_owned();
            let delta = if thought {
                PartDelta::Thinking { thinking: text }
            } else {
                PartDelta::Text { text }
            };
            emitter.delta(self.index, part, delta)?;
        }
        if let Some(signature) = signature {
            if thought {
                let signature = signature.to_owned();
                emitter.delta(self.index, part, PartDelta::ThinkingSignature { signature })?;
            }
            let state = Map::from_iter([("thoughtSignature".to_owned(), Value::from(signature))]);
            self.state(part, state, emitter)?;
            self.leave(emitter)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        call: &FunctionCall<'_>,
        state: Map<String, Value>,
        ids: &mut CallIds,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let goes_on = call.will_continue.is_some_and(|raw| raw.get() == "true");
        let Some(name) = call.name.non_empty() else {
            let Some(partial) = &mut self.partial else {
                if call.args.is_none_or(|args| matches!(args.get(), "{}" | "null")) {
                    return Ok(());
                }
                return Err(Error::new(ErrorKind::Protocol, "a tool call has no name"));
            };
            emitter.charge(state.weight())?;
            partial.state.extend(state);
            if let Some(pieces) = call.partial_args {
                emitter.charge(partial.args.push(pieces.get()))?;
                check_arguments(partial.args.bytes())?;
            }
            return if goes_on { Ok(()) } else { self.end_call(emitter) };
        };
        self.leave(emitter)?;
        self.places.push(Place::None);
        self.has_calls = true;
        let given = call.id.non_empty();
        let mut state = state;
        if let Some(id) = given {
            state.insert("id".to_owned(), Value::from(id));
        }
        let id = ids.next(given, emitter.id());
        emitter.charge(2 * size_of::<String>() + id.len())?;
        let start = PartStart::ToolCall { id, name: name.to_owned() };
        if goes_on || call.partial_args.is_some() {
            let part = emitter.open(self.index, start)?;
            let mut args = PartialArgs::default();
            if let Some(pieces) = call.partial_args {
                emitter.charge(args.push(pieces.get()))?;
                check_arguments(args.bytes())?;
            }
            self.partial = Some(PartialCall { part, args, state });
            return if goes_on { Ok(()) } else { self.end_call(emitter) };
        }
        let arguments = match call.args.map(RawValue::get) {
            None | Some("null") => "{}".to_owned(),
            Some(text) if text.starts_with('"') => serde_json::from_str(text).unwrap_or_default(),
            Some(json) => compact(json),
        };
        check_arguments(arguments.len())?;
        self.grown(start, PartDelta::ToolCallArguments { arguments }, state, emitter)
    }

    fn end_call(&mut self, emitter: &mut Emitter) -> Result<()> {
        let Some(PartialCall { part, args, state }) = self.partial.take() else {
            return Ok(());
        };
        let delta = PartDelta::ToolCallArguments { arguments: args.json() };
        emitter.release(args.bytes());
        emitter.delta(self.index, part, delta)?;
        self.state(part, state, emitter)?;
        emitter.close(self.index, part, |_| {})
    }

    /// Bytes that the model made, or where they can be had.
    fn blob(
        &mut self,
        blob: &Blob<'_>,
        state: Map<String, Value>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let mime_type = blob.mime_type.non_empty().unwrap_or_default().to_owned();
        let data = blob.data.non_empty().unwrap_or_default().to_owned();
        let url = blob.file_uri.non_empty().map(str::to_owned);
        if url.is_none() && mime_type.starts_with("image/") {
            let start = PartStart::Image { mime_type };
            return self.grown(start, PartDelta::Image { data }, state, emitter);
        }
        if url.is_none() && mime_type.starts_with("audio/") {
            let start = PartStart::Audio { mime_type };
            return self.grown(start, PartDelta::Audio { data }, state, emitter);
        }
        let provider_state = boxed(state, emitter);
        let part = if mime_type.starts_with("image/") {
            ResponsePart::Image(ImagePart { mime_type, data, url, provider_state })
        } else {
            let name = blob.display_name.non_empty().map(str::to_owned);
            ResponsePart::File(FilePart { mime_type, data, url, name, provider_state })
        };
        emitter.whole(self.index, part)
    }

    /// Adds a part of a kind that has no unified one. Its `signature` was taken out of it.
    fn opaque(
        &mut self,
        part: Fields<'_>,
        signature: Option<Cow<'_, str>>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let mut fields = part.into_map().unwrap_or_default();
        if let (Some(place), Some(signature)) = (fields.get_mut("thoughtSignature"), signature) {
            *place = Value::String(signature.into_owned());
        }
        const BESIDE: [&str; 3] = ["thought", "thoughtSignature", "partMetadata"];
        let Some(kind) = fields.keys().find(|name| !BESIDE.contains(&name.as_str())).cloned()
        else {
            return Ok(());
        };
        let (provider, data) = (emitter.provider().to_owned(), Value::Object(fields));
        emitter.whole(self.index, ResponsePart::Opaque(OpaquePart { provider, kind, data }))
    }

    /// Emits a part that has one delta and is then complete.
    fn grown(
        &mut self,
        start: PartStart,
        delta: PartDelta,
        state: Map<String, Value>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let part = emitter.open(self.index, start)?;
        emitter.delta(self.index, part, delta)?;
        self.state(part, state, emitter)?;
        emitter.close(self.index, part, |_| {})
    }

    fn state(&self, part: u32, state: Map<String, Value>, emitter: &mut Emitter) -> Result<()> {
        if state.is_empty() {
            return Ok(());
        }
        let provider_state = ProviderState::new(emitter.provider(), Value::Object(state));
        emitter.delta(self.index, part, PartDelta::ProviderState { provider_state })
    }

    /// Closes the part that is open.
    fn leave(&mut self, emitter: &mut Emitter) -> Result<()> {
        let part = match std::mem::take(&mut self.growing) {
            Growing::Nothing => None,
            Growing::Text => self.texts.last().map(|text| text.part),
            Growing::Thinking(part) => Some(part),
        };
        if let Some(part) = part {
            emitter.close(self.index, part, |_| {})?;
        }
        self.end_call(emitter)
    }

    /// Adds the sources to their texts, of which the last may still be open, and closes the open part.
    pub(super) fn close(&mut self, emitter: &mut Emitter) -> Result<()> {
        if !self.grounding.is_empty() {
            self.cite(emitter)?;
        }
        self.leave(emitter)?;
        self.texts.clear();
        Ok(())
    }

    fn cite(&mut self, emitter: &mut Emitter) -> Result<()> {
        let open = self.texts.len().checked_sub(1).filter(|_| self.growing == Growing::Text);
        let provider = emitter.provider().to_owned();
        // A copy, because the citations are added to the response whose texts they are found in.
        let texts: Vec<String> =
            self.texts.iter_mut().map(|text| text.take(self.index, emitter)).collect();
        let held = texts.iter().map(String::len).sum();
        emitter.charge(held)?;
        for (at, citation) in self.grounding.citations(&texts, &self.places, &provider) {
            match self.texts.get(at) {
                Some(text) if open == Some(at) => {
                    emitter.delta(self.index, text.part, PartDelta::Citation { citation })?;
                }
                Some(text) => emitter.cite(self.index, text.part, citation)?,
                None => {}
            }
        }
        emitter.release(held);
        Ok(())
    }
}

impl CitedText {
    /// Returns the text as it was sent.
    fn take(&mut self, choice: u32, emitter: &Emitter) -> String {
        self.sent
            .take()
            .unwrap_or_else(|| emitter.text(choice, self.part).unwrap_or_default().to_owned())
    }
}

/// Returns the start of an id that is copied to every call. No real id is longer.
fn short(id: &str) -> &str {
    &id[..id.floor_char_boundary(MAX_COPIED_ID_BYTES)]
}

/// The longest beginning of a response's id in the ids of its calls.
const MAX_COPIED_ID_BYTES: usize = 64;

/// The JSON of an object, and what it is if it has to be mended.
struct Json<'a> {
    raw: &'a RawValue,
    mended: OnceCell<Vec<u8>>,
}

impl Json<'_> {
    fn read<'s, T: Deserialize<'s>>(&'s self) -> Result<T> {
        let data = self.raw.get().as_bytes();
        read_json(data).or_else(|error| {
            let mended = mended(data, &error).ok_or(error)?;
            read_json(self.mended.get_or_init(|| mended))
        })
    }
}

/// Returns a field that is an object.
fn object<'a>(part: &Fields<'a>, name: &str) -> Option<Json<'a>> {
    let raw = part.raw(name).filter(|raw| raw.get().starts_with('{'))?;
    Some(Json { raw, mended: OnceCell::new() })
}

/// Returns the id and the name of one of the provider's own tools; its name is sent back with the part.
fn server_tool(tool: &Tool<'_>, state: &mut Map<String, Value>) -> (String, String) {
    let name = tool.tool_type.non_empty().unwrap_or_default().to_owned();
    state.insert("toolType".to_owned(), Value::from(name.as_str()));
    (tool.id.non_empty().unwrap_or_default().to_owned(), name)
}

fn boxed(state: Map<String, Value>, emitter: &Emitter) -> Option<Box<ProviderState>> {
    (!state.is_empty())
        .then(|| Box::new(ProviderState::new(emitter.provider(), Value::Object(state))))
}
