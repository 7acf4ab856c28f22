//! A call of one of the caller's tools.

use serde_json::{Map, Value};

use super::{CallIds, put_state, state_of, tree};
use crate::chat::{PartDelta, PartStart, Weight as _};
use crate::error::{Error, ErrorKind, Result};
use crate::protocol::Emitter;
use crate::protocol::fields::Fields;
use crate::protocol::json::compact;
use crate::protocol::tool_calls::check_arguments;

/// A call that is not finished.
#[derive(Debug)]
pub(super) struct Call {
    /// Its part, once its id is known or no more is to be expected.
    part: Option<u32>,
    id: String,
    name: String,
    /// The arguments in the start of the step, which are used if no others follow. Streams start with `{}`.
    given: String,
    /// How long the arguments are that followed.
    bytes: usize,
    rest: Map<String, Value>,
}

impl Call {
    pub(super) fn start(
        mut fields: Fields<'_>,
        ids: &mut CallIds,
        emitter: &mut Emitter,
    ) -> Result<Self> {
        let word = |name: &str| fields.word(name).unwrap_or_default().into_owned();
        let (id, name) = (word("id"), word("name"));
        let given = arguments(&fields).unwrap_or_default();
        for field in ["type", "id", "name", "arguments"] {
            fields.remove(field);
        }
        let rest = tree(fields)?;
        emitter.charge(id.len() + name.len() + given.len() + rest.weight())?;
        let mut call = Self { part: None, id, name, given, bytes: 0, rest };
        if !call.id.is_empty() && !call.name.is_empty() {
            call.open(ids, emitter)?;
        }
        Ok(call)
    }

    fn open(&mut self, ids: &mut CallIds, emitter: &mut Emitter) -> Result<u32> {
        if let Some(part) = self.part {
            return Ok(part);
        }
        if self.name.is_empty() {
            return Err(Error::new(ErrorKind::Protocol, "a tool call has no name"));
        }
        let id = ids.next(&self.id, emitter)?;
        let part = emitter.open(0, PartStart::ToolCall { id, name: self.name.clone() })?;
        self.part = Some(part);
        Ok(part)
    }

    /// Adds a piece of the arguments, or what a later event knows of the call.
    pub(super) fn delta(
        &mut self,
        mut delta: Fields<'_>,
        ids: &mut CallIds,
        emitter: &mut Emitter,
    ) -> Result<()> {
        for (name, place) in [("id", &mut self.id), ("name", &mut self.name)] {
            if let Some(word) = delta.word(name).filter(|word| place.is_empty() && !word.is_empty())
            {
                emitter.charge(word.len())?;
                *place = word.into_owned();
            }
        }
        let piece = arguments(&delta);
        for field in ["type", "id", "name", "arguments"] {
            delta.remove(field);
        }
        let mut more = tree(delta)?;
        more.retain(|_, value| !super::is_blank(value));
        emitter.charge(more.weight())?;
        self.rest.extend(more);
        match piece.filter(|piece| !piece.is_empty()) {
            Some(piece) => {
                self.open(ids, emitter)?;
                self.feed(piece, emitter)
            }
            None => Ok(()),
        }
    }

    fn feed(&mut self, arguments: String, emitter: &mut Emitter) -> Result<()> {
        self.bytes += arguments.len();
        check_arguments(self.bytes)?;
        match self.part {
            Some(part) => emitter.delta(0, part, PartDelta::ToolCallArguments { arguments }),
            None => Ok(()),
        }
    }

    pub(super) fn end(mut self, ids: &mut CallIds, emitter: &mut Emitter) -> Result<()> {
        let part = self.open(ids, emitter)?;
        if self.bytes == 0 {
            let given = std::mem::take(&mut self.given);
            self.feed(if given.is_empty() { "{}".to_owned() } else { given }, emitter)?;
        }
        let state = state_of("function_call", std::mem::take(&mut self.rest), emitter);
        put_state(part, state, emitter)?;
        emitter.close(0, part, |_| {})
    }
}

/// Returns arguments: the text of an object without white space, or what a string contains.
fn arguments(fields: &Fields<'_>) -> Option<String> {
    let raw = fields.raw("arguments")?;
    Some(if raw.get().starts_with('"') {
        fields.word("arguments")?.into_owned()
    } else {
        compact(raw.get())
    })
}
