//! A message while it grows: its contents → parts.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem::size_of;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::received::Received;
use crate::chat::{
    AudioPart, Logprobs, OpaquePart, PartDelta, PartStart, ProviderState, ResponsePart,
    TokenLogprob, Weight as _,
};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::logprobs;
use crate::protocol::openai::citations;
use crate::protocol::openai_responses::replay;
use crate::protocol::openai_responses::wire_item::{Content, WireItem};

/// The largest field of an item that is copied to every part that the item becomes. A larger one is with the first.
pub(super) const MAX_REPEATED_BYTES: usize = 256;

/// How many fields are copied so.
const MAX_REPEATED_FIELDS: usize = 8;

/// How many texts are searched one by one.
const FEW: usize = 8;

/// The texts of one message.
#[derive(Debug, Default)]
pub(super) struct Message {
    list: Vec<Passage>,
    /// The texts by their place and whether they are refusals, once there are more than a few.
    by_place: HashMap<(i64, bool), usize>,
    /// The latest text, and the latest refusal.
    latest: [Option<usize>; 2],
}

/// One text.
#[derive(Debug)]
struct Passage {
    index: i64,
    part: u32,
    refusal: bool,
    received: Received,
    /// How many sources were emitted.
    citations: usize,
    has_logprobs: bool,
}

impl Message {
    pub(super) fn refused(&self) -> bool {
        self.list.iter().any(|passage| passage.refusal)
    }

    /// Returns the text at an index (the latest, if there is none), which is created if it is new.
    fn at(
        &mut self,
        index: Option<i64>,
        refusal: bool,
        emitter: &mut Emitter,
    ) -> Result<&mut Passage> {
        let known = match index {
            None => self.latest[usize::from(refusal)],
            Some(index) if self.list.len() <= FEW => self
                .list
                .iter()
                .rposition(|passage| passage.refusal == refusal && passage.index == index),
            Some(index) => self.by_place.get(&(index, refusal)).copied(),
        };
        let at = match known {
            Some(at) => at,
            None => {
                let next = i64::try_from(self.list.len()).unwrap_or(i64::MAX);
                let index = index.unwrap_or(next);
                emitter.charge(2 * size_of::<Passage>())?;
                self.list.push(Passage {
                    index,
                    part: emitter.open(0, PartStart::Text {})?,
                    refusal,
                    received: Received::default(),
                    citations: 0,
                    has_logprobs: false,
                });
                let at = self.list.len() - 1;
                self.latest[usize::from(refusal)] = Some(at);
                match self.list.len() {
                    len if len == FEW + 1 => {
                        let places = self.list.iter().enumerate();
                        self.by_place = places
                            .map(|(at, passage)| ((passage.index, passage.refusal), at))
                            .collect();
                    }
                    len if len > FEW => drop(self.by_place.insert((index, refusal), at)),
                    _ => {}
                }
                at
            }
        };
        Ok(&mut self.list[at])
    }

    pub(super) fn grow(
        &mut self,
        index: Option<i64>,
        refusal: bool,
        piece: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if piece.is_empty() {
            return Ok(());
        }
        self.at(index, refusal, emitter)?.grow(Cow::Borrowed(piece), emitter)
    }

    /// Completes a text.
    pub(super) fn text(
        &mut self,
        index: Option<i64>,
        refusal: bool,
        whole: &str,
        emitter: &mut Emitter,
    ) -> Result<()> {
        if whole.is_empty() {
            return Ok(());
        }
        self.at(index, refusal, emitter)?.complete(Cow::Borrowed(whole), emitter)
    }

    pub(super) fn logprobs(
        &mut self,
        index: Option<i64>,
        raw: Option<&RawValue>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let Some(raw) = raw.filter(|raw| raw.get() != "[]") else { return Ok(()) };
        let tokens = nesting::read_list(raw.get());
        self.at(index, false, emitter)?.logprobs(&tokens, emitter);
        Ok(())
    }

    pub(super) fn annotation(
        &mut self,
        index: Option<i64>,
        raw: &RawValue,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let annotation = nesting::read(raw.get()).unwrap_or_default();
        self.at(index, false, emitter)?.citations(vec![annotation], emitter)
    }

    /// Begins or completes a content.
    pub(super) fn content(
        &mut self,
        index: Option<i64>,
        content: Content<'_>,
        done: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let Some(refusal) = content.is_refusal() else { return Ok(()) };
        self.passage(index, content, refusal, done, emitter)
    }

    fn passage(
        &mut self,
        index: Option<i64>,
        mut content: Content<'_>,
        refusal: bool,
        done: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let passage = self.at(index, refusal, emitter)?;
        if !done {
            return Ok(());
        }
        passage.complete(content.take_text(refusal), emitter)?;
        let mut annotations = content.list("annotations");
        annotations.drain(..passage.citations.min(annotations.len()));
        passage.citations(annotations, emitter)?;
        if !passage.has_logprobs {
            passage.logprobs(&content.list("logprobs"), emitter);
        }
        Ok(())
    }

    /// Ends the message. `wire` is all of it, if the provider sent that.
    pub(super) fn close(
        &mut self,
        wire: Option<WireItem<'_>>,
        audio_format: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let (contents, mut item) = match wire.map(WireItem::into_contents).transpose()? {
            Some((contents, item)) => (contents, Some(item)),
            None => (Vec::new(), None),
        };
        let mut others = Vec::new();
        for (index, content) in (0i64..).zip(contents) {
            match content.is_refusal() {
                Some(refusal) => self.passage(Some(index), content, refusal, true, emitter)?,
                None => others.push(content),
            }
        }
        // Mostly one text is all there is, and nothing else needs the fields of the item.
        let is_only = self.list.len() == 1 && others.is_empty();
        for (at, passage) in self.list.iter().enumerate() {
            if let Some(item) = &mut item {
                let mut state = match at {
                    0 if is_only => std::mem::take(item),
                    0 => item.clone(),
                    _ => more(item),
                };
                if passage.refusal {
                    state.insert("refusal".to_owned(), Value::Bool(true));
                }
                let provider_state = ProviderState::new(emitter.provider(), Value::Object(state));
                let delta = PartDelta::ProviderState { provider_state };
                emitter.delta(0, passage.part, delta)?;
            }
            emitter.close(0, passage.part, |_| {})?;
        }
        let Some(item) = item else { return Ok(()) };
        for (at, content) in others.into_iter().enumerate() {
            let part = other(content, &item, at == 0, audio_format, emitter.provider())?;
            emitter.whole(0, part)?;
        }
        Ok(())
    }
}

impl Passage {
    fn grow(&mut self, piece: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        // Hashing costs three instructions for each byte, and is needed only where the response contains another text.
        if !emitter.keeps_text() {
            self.received.add(&piece);
        }
        emitter.delta(0, self.part, PartDelta::Text { text: piece.into_owned() })
    }

    fn complete(&mut self, whole: Cow<'_, str>, emitter: &mut Emitter) -> Result<()> {
        let rest = if emitter.keeps_text() {
            emitter.text(0, self.part).and_then(|known| whole.strip_prefix(known))
        } else {
            self.received.rest_of(&whole)
        };
        match rest.map_or(0, str::len) {
            0 => Ok(()),
            // Nothing of it has arrived before.
            all if all == whole.len() => self.grow(whole, emitter),
            rest => self.grow(Cow::Borrowed(&whole[whole.len() - rest..]), emitter),
        }
    }

    fn citations(&mut self, list: Vec<Value>, emitter: &mut Emitter) -> Result<()> {
        if list.is_empty() {
            return Ok(());
        }
        self.citations += list.len();
        for citation in citations::from_values(list, emitter.provider()) {
            emitter.delta(0, self.part, PartDelta::Citation { citation })?;
        }
        Ok(())
    }

    fn logprobs(&mut self, tokens: &[Value], emitter: &mut Emitter) {
        if tokens.is_empty() {
            return;
        }
        let content: Vec<TokenLogprob> = tokens.iter().filter_map(logprobs::token).collect();
        self.has_logprobs |= !content.is_empty();
        emitter.logprobs(0, Logprobs { content, ..Logprobs::default() });
    }
}

/// Returns a content that is not text. The first of an item has all of its fields, the others those that are short.
fn other(
    content: Content<'_>,
    item: &Map<String, Value>,
    first: bool,
    audio_format: Option<&str>,
    provider: &str,
) -> Result<ResponsePart> {
    let kind = content.word("type").map(Cow::into_owned);
    if let (Some("output_audio"), Some(data)) = (kind.as_deref(), content.word("data")) {
        return Ok(ResponsePart::Audio(AudioPart {
            mime_type: format!("audio/{}", audio_format.unwrap_or("wav")),
            data: data.into_owned(),
            transcript: content.word("transcript").map(Cow::into_owned),
            ..AudioPart::default()
        }));
    }
    let short =
        |(name, value): &(&String, &Value)| name.len() + value.weight() <= MAX_REPEATED_BYTES;
    let few = || item.iter().filter(short).take(MAX_REPEATED_FIELDS);
    let fields = if first {
        item.clone()
    } else {
        few().map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    Ok(ResponsePart::Opaque(OpaquePart {
        provider: provider.to_owned(),
        kind: kind.unwrap_or_else(|| "message".to_owned()),
        // As a message of its own, so it can be sent back.
        data: replay::message(fields, content.into_value()?),
    }))
}

/// Returns the item without the fields that its part has.
pub(super) fn without(item: &Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    let kept = item.iter().filter(|(name, _)| !names.contains(&name.as_str()));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the state of every part of an item but the first.
pub(super) fn more(item: &Map<String, Value>) -> Map<String, Value> {
    let mut state = Map::new();
    for name in ["type", "id"] {
        if let Some(value) = item.get(name).filter(|value| value.weight() <= MAX_REPEATED_BYTES) {
            state.insert(name.to_owned(), value.clone());
        }
    }
    state.insert("more".to_owned(), Value::Bool(true));
    state
}
