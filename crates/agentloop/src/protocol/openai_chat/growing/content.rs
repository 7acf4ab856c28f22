//! A `content` that is not plain text: typed pieces, and objects.

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{ChoiceState, Kind};
use crate::chat::{Citation, OpaqueCitation, OpaquePart, PartDelta, ResponsePart, UrlCitation};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::openai::images;
use crate::protocol::openai_chat::wire::{ContentChunk, Thought};

impl ChoiceState {
    /// Decodes one piece of a list. A piece without a field of its own is kept as an opaque part.
    pub(super) fn content_chunk(
        &mut self,
        chunk: ContentChunk<'_>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        // A piece of a known type may be empty, like a delta.
        let mut is_read = chunk.is_typed();
        let (kind, raw) = (chunk.kind, chunk.raw);
        for thought in chunk.thinking.0 {
            is_read = true;
            match thought {
                Thought::Text(text) if text.is_empty() => {}
                Thought::Text(text) => {
                    self.flush(emitter)?;
                    self.think(text.into_owned(), emitter)?;
                }
                Thought::Other(raw) => self.refer(Kind::Thinking, raw, emitter)?,
            }
        }
        if let Some(signature) = chunk.signature.into_non_empty() {
            is_read = true;
            self.flush(emitter)?;
            let part = self.ensure(Kind::Thinking, emitter)?;
            let signature = signature.into_owned();
            emitter.delta(self.index, part, PartDelta::ThinkingSignature { signature })?;
        }
        if let Some(text) = chunk.text.into_non_empty() {
            is_read = true;
            self.text(text, emitter)?;
        }
        if let Some(refusal) = chunk.refusal.into_non_empty() {
            is_read = true;
            self.refuse(refusal, emitter)?;
        }
        if let Some(url) = chunk.image_url {
            let image = nesting::read(url.get()).ok().and_then(|url| images::read(&url));
            is_read = image.is_some();
            if let Some(image) = image {
                self.interrupt(emitter)?;
                emitter.whole(self.index, ResponsePart::Image(image))?;
            }
        }
        let Some(raw) = raw.filter(|raw| !is_read && raw.get() != "{}") else {
            return Ok(());
        };
        match kind.non_empty() {
            // Mistral: what the text before it is based on.
            Some("reference" | "tool_reference") => self.refer(Kind::Text, raw, emitter),
            kind => {
                self.interrupt(emitter)?;
                let part = OpaquePart {
                    provider: emitter.provider().to_owned(),
                    kind: kind.unwrap_or("unknown").to_owned(),
                    data: nesting::read(raw.get()).unwrap_or_default(),
                };
                emitter.whole(self.index, ResponsePart::Opaque(part))
            }
        }
    }

    /// Decodes a content that is an object: one piece if it has a type, else the JSON that was requested.
    pub(super) fn content_object(&mut self, json: String, emitter: &mut Emitter) -> Result<()> {
        let chunk: ContentChunk<'_> = serde_json::from_str(&json).unwrap_or_default();
        if chunk.is_typed() {
            self.content_chunk(chunk, emitter)
        } else {
            self.text(json.into(), emitter)
        }
    }

    /// Attaches a reference to the open part. The piece is kept with its position, to send it back.
    fn refer(&mut self, kind: Kind, raw: &RawValue, emitter: &mut Emitter) -> Result<()> {
        self.flush(emitter)?;
        let part = self.ensure(kind, emitter)?;
        emitter.charge(raw.get().len())?;
        let Ok(chunk) = nesting::read(raw.get()) else {
            return Ok(());
        };
        if kind == Kind::Text {
            let citation = citation(&chunk, emitter.provider());
            emitter.delta(self.index, part, PartDelta::Citation { citation })?;
        }
        self.references.push(json!({ "at": self.written, "chunk": chunk }));
        Ok(())
    }
}

/// Returns a reference as a citation: of a page if there is a URL, else as an opaque one.
fn citation(chunk: &Value, provider: &str) -> Citation {
    let text = |name: &str| chunk.get(name).and_then(Value::as_str).map(str::to_owned);
    match text("url").filter(|url| !url.is_empty()) {
        Some(url) => Citation::Url(UrlCitation {
            url,
            title: text("title"),
            cited_text: text("description"),
            ..UrlCitation::default()
        }),
        None => Citation::Opaque(OpaqueCitation {
            provider: provider.to_owned(),
            kind: text("type").unwrap_or_default(),
            data: chunk.clone(),
        }),
    }
}
