//! Keeps calls of an unknown type unchanged, so they can be sent back. Only this protocol streams them in pieces.

use std::collections::HashMap;
use std::mem::size_of;

use serde_json::{Map, Value};

use crate::chat::{OpaquePart, PartStart, ResponsePart};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::openai_chat::wire::WireToolCall;

/// The calls of one choice whose type is not known.
#[derive(Debug, Default)]
pub(super) struct UnknownCalls {
    calls: Vec<Call>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<i64, usize>,
}

#[derive(Debug)]
struct Call {
    kind: String,
    part: u32,
    fields: Map<String, Value>,
}

impl UnknownCalls {
    /// Returns whether a piece continues one of these calls.
    pub(super) fn has(&self, call: &WireToolCall<'_>) -> bool {
        !self.calls.is_empty() && self.find(call).is_some()
    }

    fn find(&self, call: &WireToolCall<'_>) -> Option<usize> {
        match call.id.non_empty() {
            Some(id) => self.by_id.get(id),
            None => call.index.0.and_then(|index| self.by_index.get(&index)),
        }
        .copied()
    }

    /// Adds a call, or a piece of one. A call without an id gets one, because its position in a request is found by it.
    pub(super) fn add(
        &mut self,
        call: &WireToolCall<'_>,
        choice: u32,
        emitter: &mut Emitter,
        made_up_id: impl FnOnce(usize) -> String,
    ) -> Result<()> {
        let at = match self.find(call) {
            Some(at) => at,
            None => {
                let at = self.calls.len();
                emitter.charge(size_of::<Call>() + 2 * call.id.non_empty().map_or(0, str::len))?;
                let id = call.id.non_empty().map_or_else(|| made_up_id(at), str::to_owned);
                let kind = call.kind.non_empty().unwrap_or("unknown").to_owned();
                let provider = emitter.provider().to_owned();
                let part =
                    emitter.open(choice, PartStart::Opaque { provider, kind: kind.clone() })?;
                let fields = Map::from_iter([
                    ("id".to_owned(), Value::from(id.as_str())),
                    ("type".to_owned(), Value::from(kind.as_str())),
                ]);
                self.by_id.insert(id, at);
                if let Some(index) = call.index.0 {
                    self.by_index.insert(index, at);
                }
                self.calls.push(Call { kind, part, fields });
                at
            }
        };
        let fields = &mut self.calls[at].fields;
        let extra = call.extra_content.map(|raw| ("extra_content", raw));
        let rest = call.rest.iter().map(|(name, raw)| (name.as_ref(), *raw)).chain(extra);
        for (name, raw) in rest {
            emitter.charge(name.len() + raw.get().len())?;
            if let Ok(value) = nesting::read(raw.get()) {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        Ok(())
    }

    /// Closes all calls, in order.
    pub(super) fn close(&mut self, choice: u32, emitter: &mut Emitter) -> Result<()> {
        for Call { kind, part, fields } in std::mem::take(&mut self.calls) {
            let provider = emitter.provider().to_owned();
            let data = Value::Object(fields);
            let whole = ResponsePart::Opaque(OpaquePart { provider, kind, data });
            emitter.close(choice, part, |part| *part = whole)?;
        }
        Ok(())
    }
}

/// Adds a piece of a streamed value: texts and lists are appended, objects are merged, anything else is replaced.
fn merge(place: &mut Value, piece: Value) {
    match (place, piece) {
        (_, Value::Null) => {}
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (Value::Array(list), Value::Array(more)) => list.extend(more),
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                merge(fields.entry(name).or_insert(Value::Null), value);
            }
        }
        (place, piece) => *place = piece,
    }
}
