//! Reasoning while it grows: the thoughts themselves, or a summary of them.

use serde_json::{Map, Value};

use super::received::Received;
use crate::chat::{PartDelta, PartStart, ProviderState};
use crate::error::Result;
use crate::protocol::Emitter;

/// Which of the two the provider sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::protocol::openai_responses) enum Source {
    Content,
    Summary,
}

/// A reasoning item. Its text is the thoughts if they are reported, else their summary; their sections are separated.
/// If both are reported, the first one is used, and the other one is in the state of the item.
#[derive(Debug)]
pub(super) struct Thinking {
    part: u32,
    source: Option<Source>,
    section: i64,
    /// The emitted text of the section.
    received: Received,
    any: bool,
}

impl Thinking {
    pub(super) fn open(emitter: &mut Emitter) -> Result<Self> {
        let part = emitter.open(0, PartStart::Thinking {})?;
        Ok(Self { part, source: None, section: 0, received: Received::default(), any: false })
    }

    pub(super) fn grow(
        &mut self,
        source: Source,
        section: Option<i64>,
        piece: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if piece.is_empty() || *self.source.get_or_insert(source) != source {
            return Ok(());
        }
        let section = section.unwrap_or(self.section);
        let mut thinking = String::with_capacity(piece.len());
        if section != self.section {
            (self.section, self.received) = (section, Received::default());
            if self.any {
                thinking.push_str("\n\n");
            }
        }
        self.any = true;
        self.received.add(piece);
        thinking.push_str(piece);
        emitter.delta(0, self.part, PartDelta::Thinking { thinking })
    }

    /// Completes a section.
    pub(super) fn section(
        &mut self,
        source: Source,
        section: Option<i64>,
        whole: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let section = section.unwrap_or(self.section);
        // A section of before is reported already.
        if self.any && section < self.section {
            return Ok(());
        }
        let received = if section == self.section { self.received } else { Received::default() };
        match received.rest_of(whole) {
            Some(rest) => self.grow(source, Some(section), rest, emitter),
            None => Ok(()),
        }
    }

    /// Ends the item. `item` is all of it, if the provider sent that.
    pub(super) fn close(
        &mut self,
        item: Option<Map<String, Value>>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if let Some(item) = item {
            self.complete(&item, emitter)?;
            let provider_state = ProviderState::new(emitter.provider(), Value::Object(item));
            emitter.delta(0, self.part, PartDelta::ProviderState { provider_state })?;
        }
        emitter.close(0, self.part, |_| {})
    }

    fn complete(&mut self, fields: &Map<String, Value>, emitter: &mut Emitter) -> Result<()> {
        let texts = |name: &str| match fields.get(name) {
            Some(Value::Array(sections)) => sections.iter().map(words).collect(),
            Some(Value::String(text)) => vec![text.as_str()],
            _ => Vec::new(),
        };
        let (content, summary) = (texts("content"), texts("summary"));
        let (source, sections) = match self.source {
            Some(Source::Summary) => (Source::Summary, summary),
            None if content.iter().all(|text| text.is_empty()) => (Source::Summary, summary),
            _ => (Source::Content, content),
        };
        for (at, text) in (0i64..).zip(sections) {
            self.section(source, Some(at), text, emitter)?;
        }
        Ok(())
    }
}

fn words(section: &Value) -> &str {
    section.get("text").unwrap_or(section).as_str().unwrap_or_default()
}
