//! A step of thinking: a summary, and a signature that has to be sent back.

use serde_json::{Map, Value};

use super::{is_blank, list, put_state, step_state, tree, value};
use crate::chat::{PartDelta, PartStart, Weight as _};
use crate::error::Result;
use crate::protocol::Emitter;
use crate::protocol::fields::Fields;

/// A thought that is not finished.
#[derive(Debug, Default)]
pub(super) struct Thought {
    part: Option<u32>,
    /// The last one counts: it is not sent in pieces.
    signature: String,
    /// The contents of the summary that are not text.
    others: Vec<Value>,
    rest: Map<String, Value>,
}

impl Thought {
    pub(super) fn start(mut fields: Fields<'_>, emitter: &mut Emitter) -> Result<Self> {
        let mut thought = Self::default();
        if let Some(signature) = fields.take_text("signature") {
            thought.sign(&signature, emitter)?;
        }
        let summary = fields.raw("summary").map_or_else(Vec::new, list);
        for name in ["type", "summary", "signature"] {
            fields.remove(name);
        }
        thought.rest = tree(fields)?;
        emitter.charge(thought.rest.weight())?;
        for content in summary {
            thought.summary(content, emitter)?;
        }
        Ok(thought)
    }

    pub(super) fn delta(&mut self, mut delta: Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        if let Some(signature) = delta.take_text("signature") {
            self.sign(&signature, emitter)?;
        }
        if let Some(content) = delta.raw("content").and_then(value) {
            return self.summary(content, emitter);
        }
        if !matches!(delta.text("type"), Some("thought_signature" | "thought_summary")) {
            for name in ["type", "signature"] {
                delta.remove(name);
            }
            let more = tree(delta)?;
            emitter.charge(more.weight())?;
            self.rest.extend(more);
        }
        Ok(())
    }

    fn sign(&mut self, signature: &str, emitter: &mut Emitter) -> Result<()> {
        if !signature.is_empty() {
            emitter.release(self.signature.len());
            emitter.charge(signature.len())?;
            signature.clone_into(&mut self.signature);
        }
        Ok(())
    }

    /// Adds a content of the summary.
    fn summary(&mut self, content: Value, emitter: &mut Emitter) -> Result<()> {
        let is_text = content.get("type").is_none_or(|kind| kind == "text");
        match content.get("text").and_then(Value::as_str).filter(|_| is_text) {
            Some("") => Ok(()),
            Some(text) => {
                let part = self.part(emitter)?;
                emitter.delta(0, part, PartDelta::Thinking { thinking: text.to_owned() })
            }
            None => {
                emitter.charge(content.weight())?;
                self.others.push(content);
                Ok(())
            }
        }
    }

    fn part(&mut self, emitter: &mut Emitter) -> Result<u32> {
        match self.part {
            Some(part) => Ok(part),
            None => {
                let part = emitter.open(0, PartStart::Thinking {})?;
                self.part = Some(part);
                Ok(part)
            }
        }
    }

    pub(super) fn end(mut self, emitter: &mut Emitter) -> Result<()> {
        if !self.others.is_empty() {
            self.rest.insert("summary".to_owned(), Value::Array(std::mem::take(&mut self.others)));
        }
        self.rest.retain(|_, value| !is_blank(value));
        if self.part.is_none() && self.signature.is_empty() && self.rest.is_empty() {
            return Ok(());
        }
        // Always, because the signature means nothing in the provider's other protocol.
        let mut step = Map::from_iter([("type".to_owned(), Value::from("thought"))]);
        step.extend(std::mem::take(&mut self.rest));
        let state = Some(step_state(step, emitter));
        let part = self.part(emitter)?;
        if !self.signature.is_empty() {
            let signature = std::mem::take(&mut self.signature);
            emitter.release(signature.len());
            emitter.delta(0, part, PartDelta::ThinkingSignature { signature })?;
        }
        put_state(part, state, emitter)?;
        emitter.close(0, part, |_| {})
    }
}
