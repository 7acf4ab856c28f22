//! The sources of the text. Offsets in bytes of one part become offsets in characters.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::mem::size_of;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::chat::{
    Citation, FileCitation, OpaqueCitation, ProviderState, UrlCitation, Weight as _,
};
use crate::error::Result;
use crate::limits::MAX_RESPONSE_BYTES;
use crate::nesting;
use crate::protocol::Emitter;
use crate::protocol::google::offsets::Texts;

/// Where a part of the wire went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Into one of the texts, from that byte on.
    Text { at: usize, base: usize },
    /// Elsewhere.
    None,
}

/// The sources of a candidate. They arrive in pieces, and often last.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    metadata: Map<String, Value>,
    sources: Vec<Value>,
    /// The hashes of the sources, which some chunks repeat.
    known: HashSet<u64>,
    hasher: RandomState,
}

/// A stretch of one of the texts, in characters.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    at: usize,
    start: Option<u64>,
    end: Option<u64>,
}

impl Grounding {
    /// Replaces an earlier list by a later one: lists that grow are sent whole.
    pub(super) fn push(&mut self, raw: &str, emitter: &mut Emitter) -> Result<()> {
        let fields = nesting::read_object(raw).unwrap_or_default();
        for (name, value) in fields {
            let empty = value.as_array().is_some_and(Vec::is_empty);
            if !empty || !self.metadata.contains_key(&name) {
                emitter.keep(&mut self.metadata, &name, value)?;
            }
        }
        Ok(())
    }

    /// Sources of passages that the model quotes; each chunk brings its own.
    pub(super) fn push_sources(&mut self, raw: &str, emitter: &mut Emitter) -> Result<()> {
        let mut fields = nesting::read_object(raw).unwrap_or_default();
        for name in ["citationSources", "citations"] {
            let Some(Value::Array(sources)) = fields.remove(name) else { continue };
            for source in sources {
                if self.known.insert(self.hasher.hash_one(source.to_string())) {
                    let own = size_of::<Value>() + 2 * size_of::<u64>();
                    emitter.charge(own + source.weight())?;
                    self.sources.push(source);
                }
            }
        }
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.metadata.is_empty() && self.sources.is_empty()
    }

    pub(super) fn metadata(&self) -> Option<Value> {
        (!self.metadata.is_empty()).then(|| Value::Object(self.metadata.clone()))
    }

    pub(super) fn sources(&self) -> Option<Value> {
        (!self.sources.is_empty()).then(|| Value::Array(self.sources.clone()))
    }

    /// Returns every citation with the text that it belongs to. Each is created when it is needed, because many may
    /// refer to one long source.
    pub(super) fn citations<'a>(
        &'a self,
        texts: &'a [String],
        places: &'a [Place],
        provider: &'a str,
    ) -> impl Iterator<Item = (usize, Citation)> + 'a {
        let list = |value: Option<&'a Value>| -> &'a [Value] {
            value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
        };
        let nothing = texts.is_empty();
        let chunks = list(self.metadata.get("groundingChunks"));
        let supports = if nothing { &[] } else { list(self.metadata.get("groundingSupports")) };
        let sources = if nothing { &[] } else { self.sources.as_slice() };
        let texts = Rc::new(Texts::new(texts.iter().map(String::as_str).collect()));
        let all_texts = Rc::clone(&texts);
        let of_supports = supports.iter().flat_map(move |support| {
            let segment = support.get("segment").unwrap_or(&Value::Null);
            let stretch = locate(segment, &texts, places);
            let cited = segment.get("text").and_then(Value::as_str);
            let mut seen = HashSet::new();
            let indices = list(support.get("groundingChunkIndices")).iter();
            let indices = indices.filter_map(|index| usize::try_from(index.as_u64()?).ok());
            indices.filter(move |index| seen.insert(*index)).filter_map(move |index| {
                let chunk = chunks.get(index)?;
                Some((stretch.at, citation(chunk, stretch, cited, provider)))
            })
        });
        let of_sources = sources.iter().map(move |source| {
            let stretch = over_all(source, &all_texts);
            let citation = match word(source, "uri") {
                Some(url) => Citation::Url(UrlCitation {
                    url,
                    title: word(source, "title"),
                    start_index: stretch.start,
                    end_index: stretch.end,
                    ..UrlCitation::default()
                }),
                None => opaque(provider, "citationSource", source),
            };
            (stretch.at, citation)
        });
        of_supports.chain(of_sources)
    }
}

fn word(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|word| !word.is_empty()).map(str::to_owned)
}

fn opaque(provider: &str, kind: &str, data: &Value) -> Citation {
    Citation::Opaque(OpaqueCitation {
        provider: provider.to_owned(),
        kind: kind.to_owned(),
        data: data.clone(),
    })
}

/// Reads a chunk: a page, a document, a place on a map or an image, under a name of its kind.
fn citation(chunk: &Value, stretch: Stretch, cited: Option<&str>, provider: &str) -> Citation {
    let source = chunk
        .as_object()
        .and_then(|fields| {
            let known = ["web", "retrievedContext", "maps", "image"];
            known.into_iter().find_map(|name| fields.get(name)).or_else(|| fields.values().next())
        })
        .unwrap_or(&Value::Null);
    let Some(url) = word(source, "uri").or_else(|| word(source, "sourceUri")) else {
        return file(chunk, stretch, provider)
            .map_or_else(|| opaque(provider, "groundingChunk", chunk), Citation::File);
    };
    Citation::Url(UrlCitation {
        url,
        title: word(source, "title"),
        cited_text: cited.map(str::to_owned),
        start_index: stretch.start,
        end_index: stretch.end,
        ..UrlCitation::default()
    })
}

/// Returns a document of a file search, which has no URL.
fn file(chunk: &Value, stretch: Stretch, provider: &str) -> Option<FileCitation> {
    let source = chunk.get("retrievedContext")?;
    let mut citation = FileCitation {
        file_id: word(source, "documentName"),
        filename: word(source, "title"),
        container_id: word(source, "fileSearchStore"),
        cited_text: word(source, "text"),
        start_index: stretch.start,
        end_index: stretch.end,
        ..FileCitation::default()
    };
    let FileCitation { file_id, filename, container_id, cited_text, .. } = &citation;
    if [file_id, filename, container_id, cited_text].into_iter().all(Option::is_none) {
        return None;
    }
    // The text may be long and is kept once.
    let fields = source.as_object()?.iter().filter(|(name, _)| name.as_str() != "text");
    let kept: Map<String, Value> =
        fields.map(|(name, value)| (name.clone(), value.clone())).collect();
    let data = json!({ "retrievedContext": kept });
    citation.provider_state = Some(Box::new(ProviderState::new(provider, data)));
    Some(citation)
}

fn offset(value: &Value, name: &str) -> Option<usize> {
    // No text is longer than that, and sums of such numbers stay numbers.
    let number = value.get(name)?.as_u64()?;
    Some(usize::try_from(number).unwrap_or(usize::MAX).min(MAX_RESPONSE_BYTES))
}

/// Returns the position of a segment. Most segments repeat the text, which identifies the part if the index does not.
fn locate(segment: &Value, texts: &Texts<'_>, places: &[Place]) -> Stretch {
    let start = offset(segment, "startIndex").unwrap_or(0);
    let end = offset(segment, "endIndex");
    let words = segment.get("text").and_then(Value::as_str).unwrap_or_default();
    let index = offset(segment, "partIndex").unwrap_or(0);
    let holds = |at: usize, start: usize, end: usize| {
        let found = texts.get(at).and_then(|text| text.get(start..end));
        found.is_some_and(|found| words.is_empty() || found == words)
    };
    let place = match places.get(index) {
        Some(Place::Text { at, base }) => Some((*at, *base)),
        _ => None,
    };
    let Some(end) = end else {
        // Without an end, only the part is known.
        let at = place.map_or(texts.len() - 1, |(at, _)| at);
        return Stretch { at, start: None, end: None };
    };
    let end = end.max(start);
    if let Some((at, base)) = place
        && holds(at, base + start, base + end)
    {
        return stretch(texts, at, base + start, base + end);
    }
    if !words.is_empty() {
        let found =
            texts.may_look(texts.len()).then(|| (0..texts.len()).find(|at| holds(*at, start, end)));
        if let Some(at) = found.flatten() {
            return stretch(texts, at, start, end);
        }
        let (at, from) = texts.in_all(start);
        let to = from + (end - start);
        let text = texts.get(at).unwrap_or_default();
        if text.get(from..).is_some_and(|rest| {
            rest.starts_with(words) || (to > text.len() && words.starts_with(rest))
        }) {
            return stretch(texts, at, from, to);
        }
        if let Some((at, from)) = texts.find(words) {
            return stretch(texts, at, from, from + words.len());
        }
    }
    match place {
        Some((at, base)) => stretch(texts, at, base + start, base + end),
        None => {
            let (at, from) = texts.in_all(start);
            stretch(texts, at, from, from + (end - start))
        }
    }
}

/// Returns the position of a source whose offsets count through all texts.
fn over_all(source: &Value, texts: &Texts<'_>) -> Stretch {
    let start = offset(source, "startIndex").unwrap_or(0);
    let (at, from) = texts.in_all(start);
    match offset(source, "endIndex") {
        Some(end) => stretch(texts, at, from, from + end.max(start) - start),
        None => Stretch { at, start: None, end: None },
    }
}

fn stretch(texts: &Texts<'_>, at: usize, start: usize, end: usize) -> Stretch {
    let characters = |byte: usize| Some(texts.characters(at, byte));
    Stretch { at, start: characters(start), end: characters(end) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(
        segment: &Value,
        list: &[&str],
        places: &[Place],
    ) -> (usize, Option<u64>, Option<u64>) {
        let stretch = locate(segment, &Texts::new(list.to_vec()), places);
        (stretch.at, stretch.start, stretch.end)
    }

    const FIRST: Place = Place::Text { at: 0, base: 0 };

    #[test]
    fn bytes_become_characters_of_the_part_that_is_meant() {
        let second = Place::Text { at: 1, base: 0 };
        let list = ["äöü. x", "äöü. y"];
        let segment = json!({ "partIndex": 2, "startIndex": 2, "endIndex": 7 });
        let places = [FIRST, Place::None, second];
        assert_eq!(found(&segment, &list, &places), (1, Some(1), Some(4)));
        let segment = json!({ "endIndex": 6, "text": "äöü" });
        assert_eq!(found(&segment, &list, &places), (0, Some(0), Some(3)));
    }

    #[test]
    fn the_words_of_a_segment_tell_the_part_where_its_number_does_not() {
        // The first part of the wire was a thought.
        let places = [Place::None, FIRST];
        let segment = json!({ "startIndex": 2, "endIndex": 5, "text": "def" });
        assert_eq!(found(&segment, &["x  def", "abdef"], &places), (1, Some(2), Some(5)));
        // One part that became two: the offsets count through both.
        let segment = json!({ "startIndex": 4, "endIndex": 7, "text": "efg" });
        assert_eq!(found(&segment, &["abcd", "efgh"], &[FIRST]), (1, Some(0), Some(3)));
        // Offsets that fit nothing.
        let segment = json!({ "startIndex": 90, "endIndex": 93, "text": "cd" });
        assert_eq!(found(&segment, &["abcd"], &[FIRST]), (0, Some(2), Some(4)));
    }

    #[test]
    fn no_offset_is_too_odd() {
        for (start, end) in [(0, u64::MAX), (u64::MAX, 0), (1, 1), (3, 2)] {
            for words in ["", "ä"] {
                let segment = json!({ "startIndex": start, "endIndex": end, "text": words });
                let (_, from, to) = found(&segment, &["ää", "b"], &[FIRST, Place::None]);
                assert!(from <= to && to <= Some(2), "{start} {end} {from:?} {to:?}");
            }
        }
    }
}
