//! Keeps streamed tool calls apart.
//!
//! Providers number, name and repeat the pieces of tool calls in many ways. A piece belongs to the call of its known
//! id, else to the call of its index, else to the latest call. A new id opens a new call even under an old index. A
//! missing, empty or repeated id or name opens nothing.

use std::collections::HashMap;
use std::mem::size_of;

use serde_json::{Value, json};

use super::emit::Emitter;
use super::free_text;
use crate::chat::{OpaquePart, PartDelta, PartStart, ProviderState, ResponsePart, Weight as _};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_ARGUMENTS_BYTES;

/// Fails if the arguments of a call have more bytes than they may.
#[inline]
pub(super) fn check_arguments(bytes: usize) -> Result<()> {
    if bytes <= MAX_ARGUMENTS_BYTES {
        return Ok(());
    }
    let message =
        format!("the arguments of a tool call are longer than {MAX_ARGUMENTS_BYTES} bytes");
    Err(Error::new(ErrorKind::TooLarge, message))
}

/// A piece of a tool call, as the provider sends it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallPiece<'a> {
    pub(crate) id: Option<&'a str>,
    pub(crate) index: Option<i64>,
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Option<&'a str>,
    /// Whether the arguments are free text, which becomes a JSON string.
    pub(crate) is_custom: bool,
}

/// The field of a call's state that holds its type on the wire, where that is not a known one.
pub(crate) const WIRE_TYPE: &str = "wire_type";

/// The tool calls of one choice.
#[derive(Debug, Default)]
pub(crate) struct ToolCalls {
    calls: Vec<Call>,
    by_id: HashMap<String, Known>,
    by_index: HashMap<i64, usize>,
    latest: Option<usize>,
    /// The index of the latest piece.
    latest_index: Option<i64>,
    /// The bytes that the calls hold and that have not been charged yet.
    uncharged: usize,
}

/// The state of an id.
#[derive(Debug, Default)]
struct Known {
    /// The call that pieces with this id belong to. `None` for an id that the provider never sent.
    call: Option<usize>,
    /// How many calls are emitted under this id, or would be.
    calls: usize,
}

/// The memory of a call in addition to its texts: its own size, and its entries under its id and its index.
const CALL_BYTES: usize = size_of::<Call>() + 128;

#[derive(Debug, Default)]
struct Call {
    /// The id that is emitted; empty until the part is opened, if the provider sends none.
    id: String,
    /// The id as the provider sent it; empty if it never did.
    wire_id: String,
    index: Option<i64>,
    /// The name; empty until it is known.
    name: String,
    /// Arguments that arrived before the name.
    early_arguments: String,
    argument_bytes: usize,
    /// Whether the arguments are free text.
    is_custom: bool,
    /// The part, once the name is known.
    part: Option<u32>,
    /// In which batch the call was last named.
    named_in: u64,
    /// State that is sent back to the provider with the call.
    state: Option<Value>,
}

impl ToolCalls {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the call that a piece belongs to; [`grow`](Self::grow) then adds to it. `batch` identifies the chunk:
    /// two named pieces of one chunk are two calls. `alone` is whether the piece is a complete call, as in a response
    /// that is not streamed.
    pub(crate) fn place(&mut self, piece: &CallPiece<'_>, batch: u64, alone: bool) -> usize {
        let id = piece.id.filter(|id| !id.is_empty());
        let name = piece.name.filter(|name| !name.is_empty());
        // Nearly every piece has more arguments of the call of the previous piece.
        if id.is_none()
            && name.is_none()
            && !alone
            && piece.index.is_some()
            && piece.index == self.latest_index
            && let Some(latest) = self.latest
        {
            return latest;
        }
        let at = match self.find(id, piece.index, name, batch).filter(|_| !alone) {
            Some(at) => at,
            None => {
                self.calls.push(Call { index: piece.index, ..Call::default() });
                self.uncharged += CALL_BYTES;
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        if let Some(id) = id {
            if call.wire_id.is_empty() {
                id.clone_into(&mut call.wire_id);
                self.uncharged += id.len();
            }
            let opens = call.id.is_empty() && call.part.is_none();
            if opens {
                id.clone_into(&mut call.id);
                self.uncharged += id.len();
            }
            if opens || self.by_id.get(id).is_none_or(|known| known.call.is_none()) {
                let known = self.by_id.entry(id.to_owned()).or_insert_with(|| {
                    self.uncharged += CALL_BYTES + id.len();
                    Known::default()
                });
                // An id that arrives after the part was opened with a generated one still refers to the call.
                known.call.get_or_insert(at);
                known.calls += usize::from(opens);
            }
        }
        call.is_custom |= piece.is_custom;
        if let Some(index) = piece.index {
            self.by_index.insert(index, at);
        }
        if let Some(name) = name {
            if call.name.is_empty() {
                name.clone_into(&mut call.name);
                self.uncharged += name.len();
            }
            call.named_in = batch;
        }
        self.latest = Some(at);
        self.latest_index = piece.index;
        at
    }

    fn find(
        &self,
        id: Option<&str>,
        index: Option<i64>,
        name: Option<&str>,
        batch: u64,
    ) -> Option<usize> {
        let at = match id {
            Some(id) => match self.by_id.get(id).and_then(|known| known.call) {
                // Two calls may share an id. Then the index distinguishes them.
                Some(at) => index
                    .and_then(|index| self.by_index.get(&index).copied())
                    .filter(|&other| self.calls[other].wire_id == self.calls[at].wire_id)
                    .unwrap_or(at),
                // A new id opens a new call, unless it is the late id of a call without one.
                None => index
                    .and_then(|index| self.by_index.get(&index).copied())
                    .filter(|&at| self.calls[at].id.is_empty() && name.is_none())?,
            },
            None => match index {
                Some(index) => *self.by_index.get(&index)?,
                None => self.latest?,
            },
        };
        let call = &self.calls[at];
        // A name under another index, or without an id another name or one more in the same chunk: another call.
        let renamed = name.is_some_and(|name| !call.name.is_empty() && call.name != name);
        let moved = index.is_some() && call.index.is_some() && index != call.index;
        let twice = name.is_some() && !call.name.is_empty() && call.named_in == batch;
        let another = match id {
            Some(_) => name.is_some() && moved,
            None => renamed || twice,
        };
        (!another).then_some(at)
    }

    /// Records state that is sent back to the provider with the call.
    pub(crate) fn set_state(&mut self, at: usize, state: Value) {
        self.uncharged += state.weight();
        self.calls[at].state = Some(state);
    }

    /// Opens the part of a call whose name is known, and adds arguments to it.
    pub(crate) fn grow(
        &mut self,
        at: usize,
        arguments: &str,
        choice: u32,
        emitter: &mut Emitter,
        made_up_id: impl FnOnce(usize) -> String,
    ) -> Result<()> {
        if self.uncharged > 0 {
            emitter.charge(std::mem::take(&mut self.uncharged))?;
        }
        let call = &mut self.calls[at];
        let written;
        let arguments = if call.is_custom && !arguments.is_empty() {
            written = free_text::piece(arguments, call.argument_bytes == 0);
            &written
        } else {
            arguments
        };
        call.argument_bytes += arguments.len();
        check_arguments(call.argument_bytes)?;
        if call.name.is_empty() {
            call.early_arguments.push_str(arguments);
            return emitter.charge(arguments.len());
        }
        let part = match call.part {
            Some(part) => part,
            None => {
                // Two calls of one response never share an id, because their results could not be distinguished.
                let mut id = std::mem::take(&mut call.id);
                let shared = self.by_id.get_mut(&id).filter(|known| known.calls > 1);
                if let Some(known) = shared {
                    known.calls -= 1;
                    id.clear();
                }
                if id.is_empty() {
                    id = made_up_id(at);
                    self.by_id.entry(id.clone()).or_default().calls += 1;
                }
                call.id.clone_from(&id);
                let start = PartStart::ToolCall { id, name: call.name.clone() };
                let part = emitter.open(choice, start)?;
                call.part = Some(part);
                let early = std::mem::take(&mut call.early_arguments);
                if !early.is_empty() {
                    let delta = PartDelta::ToolCallArguments { arguments: early };
                    emitter.delta(choice, part, delta)?;
                }
                part
            }
        };
        if arguments.is_empty() {
            return Ok(());
        }
        let delta = PartDelta::ToolCallArguments { arguments: arguments.to_owned() };
        emitter.delta(choice, part, delta)
    }

    /// Closes all calls, in order. A call without a name is an error. Missing arguments are an empty object, unless the
    /// response was `cut` and they might have followed. A call of an unknown type needs no name.
    pub(crate) fn close(&mut self, choice: u32, cut: bool, emitter: &mut Emitter) -> Result<()> {
        for call in &mut self.calls {
            let Some(part) = call.part else {
                let kind = call.state.as_ref().and_then(|state| state.get(WIRE_TYPE)?.as_str());
                if let Some(kind) = kind {
                    let part = OpaquePart {
                        provider: emitter.provider().to_owned(),
                        kind: kind.to_owned(),
                        data: json!({ "id": call.id, "type": kind }),
                    };
                    emitter.whole(choice, ResponsePart::Opaque(part))?;
                    continue;
                }
                return Err(Error::new(ErrorKind::Protocol, "a tool call has no name")
                    .with_raw(call.early_arguments.as_bytes()));
            };
            let end = match (call.is_custom, call.argument_bytes) {
                _ if cut => "",
                (true, bytes) => free_text::end(bytes == 0),
                (false, 0) => "{}",
                (false, _) => "",
            };
            if !end.is_empty() {
                let delta = PartDelta::ToolCallArguments { arguments: end.to_owned() };
                emitter.delta(choice, part, delta)?;
            }
            if let Some(state) = call.state.take() {
                let provider_state = ProviderState::new(emitter.provider(), state);
                emitter.delta(choice, part, PartDelta::ProviderState { provider_state })?;
            }
            emitter.close(choice, part, |_| {})?;
        }
        Ok(())
    }
}
