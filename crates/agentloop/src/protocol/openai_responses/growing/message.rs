//! A message while it grows: its contents → parts.

use std::collections::HashMap;
use std::mem::size_of;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::received::Received;
use crate::chat::{
    AudioPart, Logprobs, OpaquePart, PartDelta, PartStart, ProviderState, ResponsePart,
    TokenLogprob, Weight as _,
};
use crate::error::Result;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::openai::{citations, logprobs};

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

    /// Returns the text at that place (the latest, if none is named), which begins here if it is new.
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
        self.at(index, refusal, emitter)?.grow(piece, emitter)
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
        self.at(index, refusal, emitter)?.complete(whole, emitter)
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
        content: &Value,
        done: bool,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let Some(refusal) = is_refusal(content) else { return Ok(()) };
        let passage = self.at(index, refusal, emitter)?;
        if !done {
            return Ok(());
        }
        let name = if refusal { "refusal" } else { "text" };
        let text = content.get(name).unwrap_or(content).as_str().unwrap_or_default();
        passage.complete(text, emitter)?;
        if let Some(Value::Array(list)) = content.get("annotations") {
            let known = passage.citations;
            passage.citations(list.iter().skip(known).cloned().collect(), emitter)?;
        }
        if let Some(Value::Array(tokens)) =
            content.get("logprobs").filter(|_| !passage.has_logprobs)
        {
            passage.logprobs(tokens, emitter);
        }
        Ok(())
    }

    /// Ends the message. `item` is all of it, if the provider sent that.
    pub(super) fn close(
        &mut self,
        item: Option<&Map<String, Value>>,
        audio_format: Option<&str>,
        emitter: &mut Emitter,
    ) -> Result<()> {
        let contents: &[Value] = match item.and_then(|item| item.get("content")) {
            Some(Value::Array(contents)) => contents,
            Some(text @ Value::String(_)) => std::slice::from_ref(text),
            _ => &[],
        };
        for (index, content) in (0i64..).zip(contents) {
            self.content(Some(index), content, true, emitter)?;
        }
        for (at, passage) in self.list.iter().enumerate() {
            if let Some(item) = item {
                let mut state = if at == 0 { without(item, &["content"]) } else { more(item) };
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
        let others = contents.iter().filter(|content| is_refusal(content).is_none());
        for (at, content) in others.enumerate() {
            let part = other(content, item, at == 0, audio_format, emitter.provider());
            emitter.whole(0, part)?;
        }
        Ok(())
    }
}

impl Passage {
    fn grow(&mut self, piece: &str, emitter: &mut Emitter) -> Result<()> {
        // Hashing costs three instructions for each byte, and is needed only where the response contains another text.
        if !emitter.keeps_text() {
            self.received.add(piece);
        }
        emitter.delta(0, self.part, PartDelta::Text { text: piece.to_owned() })
    }

    fn complete(&mut self, whole: &str, emitter: &mut Emitter) -> Result<()> {
        let rest = match emitter.keeps_text() {
            true => emitter.text(0, self.part).and_then(|known| whole.strip_prefix(known)),
            false => self.received.rest_of(whole),
        };
        match rest.filter(|rest| !rest.is_empty()) {
            Some(rest) => self.grow(rest, emitter),
            None => Ok(()),
        }
    }

    fn citations(&mut self, list: Vec<Value>, emitter: &mut Emitter) -> Result<()> {
        self.citations += list.len();
        for citation in citations::from_values(list, emitter.provider()) {
            emitter.delta(0, self.part, PartDelta::Citation { citation })?;
        }
        Ok(())
    }

    fn logprobs(&mut self, tokens: &[Value], emitter: &mut Emitter) {
        let content: Vec<TokenLogprob> = tokens.iter().filter_map(logprobs::token).collect();
        self.has_logprobs |= !content.is_empty();
        emitter.logprobs(0, Logprobs { content, ..Logprobs::default() });
    }
}

/// Returns whether a content is a refusal; `None` if it is not a text at all.
fn is_refusal(content: &Value) -> Option<bool> {
    if content.is_string() {
        return Some(false);
    }
    match content.get("type").and_then(Value::as_str) {
        Some("refusal") => Some(true),
        Some("output_text" | "text" | "input_text" | "summary_text") => Some(false),
        None if content.get("text").is_some() => Some(false),
        _ => None,
    }
}

/// Returns a content that is not text. The first of an item has all of its fields, the others those that are short.
fn other(
    content: &Value,
    item: &Map<String, Value>,
    first: bool,
    audio_format: Option<&str>,
    provider: &str,
) -> ResponsePart {
    let word = |name: &str| content.get(name).and_then(Value::as_str);
    if let (Some("output_audio"), Some(data)) = (word("type"), word("data")) {
        return ResponsePart::Audio(AudioPart {
            mime_type: format!("audio/{}", audio_format.unwrap_or("wav")),
            data: data.to_owned(),
            transcript: word("transcript").map(str::to_owned),
            ..AudioPart::default()
        });
    }
    // As a message of its own, so it can go back.
    let mut alone = match first {
        true => without(item, &["content"]),
        false => {
            let short = |(name, value): &(&String, &Value)| {
                name.as_str() != "content" && name.len() + value.weight() <= MAX_REPEATED_BYTES
            };
            let kept = item.iter().filter(short).take(MAX_REPEATED_FIELDS);
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
    };
    alone.insert("content".to_owned(), json!([content]));
    ResponsePart::Opaque(OpaquePart {
        provider: provider.to_owned(),
        kind: word("type").unwrap_or("message").to_owned(),
        data: Value::Object(alone),
    })
}

/// Returns the item without what its part says itself.
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
