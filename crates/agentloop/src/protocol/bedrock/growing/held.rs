//! Blocks that are parts only when they are complete: encrypted thoughts, images, results of the provider's own tools, and kinds
//! that are not known.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::unreadable;
use crate::chat::{
    ImagePart, OpaquePart, ProviderState, RedactedThinkingPart, ResponsePart, ServerToolResultPart,
    Weight as _,
};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::base64_join::Base64Joiner;

/// A block that is collected.
#[derive(Debug)]
pub(super) struct Held {
    kind: String,
    /// What has arrived of its value.
    value: Value,
    /// The bytes that arrive in pieces, in base64.
    data: String,
    joiner: Base64Joiner,
}

impl Held {
    fn new(kind: &str, value: Value) -> Self {
        Self { kind: kind.to_owned(), value, data: String::new(), joiner: Base64Joiner::default() }
    }

    /// Begins an encrypted thought.
    pub(super) fn redacted() -> Self {
        Self::new("redactedContent", Value::Null)
    }

    /// Begins a block with the fields of its start.
    pub(super) fn start(
        kind: &str,
        value: Option<&RawValue>,
        emitter: &mut Emitter,
    ) -> Result<Self> {
        Self::whole(kind, value, emitter)
    }

    /// Creates a block that has arrived completely.
    pub(super) fn whole(
        kind: &str,
        value: Option<&RawValue>,
        emitter: &mut Emitter,
    ) -> Result<Self> {
        let value = value.map_or(Ok(Value::Null), |raw| nesting::read(raw.get()));
        let value = value.map_err(unreadable)?;
        emitter.charge(kind.len() + value.weight())?;
        Ok(Self::new(kind, value))
    }

    /// Adds bytes.
    pub(super) fn add_data(&mut self, data: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        emitter.charge(data.len())?;
        let piece = self.joiner.push(data);
        self.data.push_str(&piece);
        Ok(())
    }

    /// Adds a piece of the kind `kind`, which is that of the block.
    pub(super) fn grow(&mut self, kind: &str, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        let mut piece = nesting::read(raw.get()).map_err(unreadable)?;
        if kind == "image"
            && let Some(Value::String(bytes)) = piece.pointer_mut("/source/bytes")
        {
            let bytes = std::mem::take(bytes);
            return self.add_data(Cow::Owned(bytes), emitter);
        }
        emitter.charge(piece.weight())?;
        // The pieces of a result are elements of its content.
        if kind == "toolResult" {
            piece = Value::Object(Map::from_iter([("content".to_owned(), piece)]));
        }
        merge(&mut self.value, piece);
        Ok(())
    }

    pub(super) fn close(mut self, emitter: &mut Emitter) -> Result<()> {
        self.data.extend(self.joiner.finish());
        let part = match self.kind.as_str() {
            "redactedContent" => ResponsePart::RedactedThinking(RedactedThinkingPart {
                data: self.data,
                provider_state: None,
            }),
            "image" => match self.image() {
                Some(image) => ResponsePart::Image(image),
                None => self.opaque(emitter),
            },
            "toolResult" if self.has_id() => self.result(emitter),
            _ => self.opaque(emitter),
        };
        emitter.whole(0, part)
    }

    fn has_id(&self) -> bool {
        self.value.get("toolUseId").is_some_and(Value::is_string)
    }

    fn image(&mut self) -> Option<ImagePart> {
        let format = self.value.get("format").and_then(Value::as_str).unwrap_or("png");
        let mime_type = format!("image/{format}");
        if self.value.get("error").is_some() {
            return None;
        }
        if let Some(uri) = self.value.pointer("/source/s3Location/uri").and_then(Value::as_str) {
            let url = Some(uri.to_owned());
            return Some(ImagePart { mime_type, url, ..ImagePart::default() });
        }
        if let Some(Value::String(bytes)) = self.value.pointer_mut("/source/bytes") {
            self.data = std::mem::take(bytes);
        }
        let data = std::mem::take(&mut self.data);
        (!data.is_empty()).then(|| ImagePart { mime_type, data, ..ImagePart::default() })
    }

    /// Returns the result of a tool that the provider ran.
    fn result(self, emitter: &Emitter) -> ResponsePart {
        let Value::Object(mut fields) = self.value else { return Self::empty(emitter) };
        let id = fields.shift_remove("toolUseId");
        let content = fields.shift_remove("content");
        let is_error = fields.get("status").is_some_and(|status| status == "error");
        let state = ProviderState::new(emitter.provider(), Value::Object(fields));
        ResponsePart::ServerToolResult(ServerToolResultPart {
            tool_call_id: id.and_then(|id| id.as_str().map(str::to_owned)).unwrap_or_default(),
            content: content.unwrap_or_else(|| Value::Array(Vec::new())),
            is_error,
            provider_state: Some(Box::new(state)),
        })
    }

    fn empty(emitter: &Emitter) -> ResponsePart {
        let provider = emitter.provider().to_owned();
        ResponsePart::Opaque(OpaquePart { provider, kind: String::new(), data: Value::Null })
    }

    /// Returns a block that has no unified kind, as it was sent.
    fn opaque(self, emitter: &Emitter) -> ResponsePart {
        let provider = emitter.provider().to_owned();
        let mut value = self.value;
        if !self.data.is_empty() {
            let source = Map::from_iter([("bytes".to_owned(), Value::String(self.data))]);
            merge(
                &mut value,
                Value::Object(Map::from_iter([("source".to_owned(), source.into())])),
            );
        }
        let data = Value::Object(Map::from_iter([(self.kind.clone(), value)]));
        ResponsePart::Opaque(OpaquePart { provider, kind: self.kind, data })
    }
}

/// Adds a piece of a value: texts and lists grow, objects are merged, anything else is replaced. Texts that are elements of a list
/// one after the other are pieces of one text.
fn merge(place: &mut Value, more: Value) {
    match (place, more) {
        (Value::Object(fields), Value::Object(more)) => {
            for (name, value) in more {
                match fields.get_mut(&name) {
                    Some(known) => merge(known, value),
                    None => _ = fields.insert(name, value),
                }
            }
        }
        (Value::String(text), Value::String(more)) => text.push_str(&more),
        (Value::Array(list), Value::Array(more)) => {
            for value in more {
                match (list.last_mut().and_then(text_of), only_text(&value)) {
                    (Some(text), Some(more)) => text.push_str(more),
                    _ => list.push(value),
                }
            }
        }
        (place, more) => *place = more,
    }
}

/// Returns the text of an object that has nothing else.
fn text_of(value: &mut Value) -> Option<&mut String> {
    let fields = value.as_object_mut().filter(|fields| fields.len() == 1)?;
    match fields.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn only_text(value: &Value) -> Option<&str> {
    value.as_object().filter(|fields| fields.len() == 1)?.get("text")?.as_str()
}
