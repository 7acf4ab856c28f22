//! The sources of the text: offsets in bytes of one part → offsets in characters of ours.

use serde_json::{Map, Value};

use super::candidate::OpenText;
use crate::limits::MAX_RESPONSE_BYTES;
use crate::nesting;
use crate::response::{Citation, OpaqueCitation, UrlCitation};

/// Where a part of the wire went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// Into one of the texts, from that byte on.
    Text { at: usize, base: usize },
    /// Elsewhere.
    None,
}

/// What a candidate says of its sources. It comes piece by piece, and often last.
#[derive(Debug, Default)]
pub(super) struct Grounding {
    metadata: Map<String, Value>,
    sources: Vec<Value>,
}

/// The most supports that are read: each costs a walk through the text.
const MAX_SUPPORTS: usize = 4096;

/// A stretch of one of the texts, in characters.
struct Stretch {
    at: usize,
    start: Option<u64>,
    end: Option<u64>,
}

impl Grounding {
    /// A later list replaces an earlier one: lists that grow are sent whole.
    pub(super) fn push(&mut self, raw: &str) {
        let fields = nesting::read_object(raw).unwrap_or_default();
        for (name, value) in fields {
            let empty = value.as_array().is_some_and(Vec::is_empty);
            if !empty || !self.metadata.contains_key(&name) {
                self.metadata.insert(name, value);
            }
        }
    }

    /// Sources of passages that the model quotes; each chunk brings its own.
    pub(super) fn push_sources(&mut self, raw: &str) {
        let fields = nesting::read_object(raw).unwrap_or_default();
        for name in ["citationSources", "citations"] {
            for source in fields.get(name).and_then(Value::as_array).into_iter().flatten() {
                if !self.sources.contains(source) {
                    self.sources.push(source.clone());
                }
            }
        }
    }

    pub(super) fn metadata(&self) -> Option<Value> {
        (!self.metadata.is_empty()).then(|| Value::Object(self.metadata.clone()))
    }

    pub(super) fn sources(&self) -> Option<Value> {
        (!self.sources.is_empty()).then(|| Value::Array(self.sources.clone()))
    }

    /// Every citation, with the text that it belongs to.
    pub(super) fn citations(
        &self,
        texts: &[OpenText],
        places: &[Place],
        provider: &str,
    ) -> Vec<(usize, Citation)> {
        let mut citations = Vec::new();
        if texts.is_empty() {
            return citations;
        }
        let list = |value: &Value, name: &str| -> Vec<Value> {
            value.get(name).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let metadata = Value::Object(self.metadata.clone());
        let chunks = list(&metadata, "groundingChunks");
        for support in list(&metadata, "groundingSupports").iter().take(MAX_SUPPORTS) {
            let segment = support.get("segment").unwrap_or(&Value::Null);
            let stretch = locate(segment, texts, places);
            let cited = segment.get("text").and_then(Value::as_str).map(str::to_owned);
            for index in list(support, "groundingChunkIndices") {
                let chunk = index.as_u64().and_then(|at| chunks.get(usize::try_from(at).ok()?));
                if let Some(chunk) = chunk {
                    citations
                        .push((stretch.at, citation(chunk, &stretch, cited.clone(), provider)));
                }
            }
        }
        for source in self.sources.iter().take(MAX_SUPPORTS) {
            let stretch = over_all(source, texts);
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
            citations.push((stretch.at, citation));
        }
        citations
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

/// A chunk is a page, a document, a place on a map or an image, under a name of its kind.
fn citation(chunk: &Value, stretch: &Stretch, cited: Option<String>, provider: &str) -> Citation {
    let source = chunk
        .as_object()
        .and_then(|fields| {
            let known = ["web", "retrievedContext", "maps", "image"];
            known.into_iter().find_map(|name| fields.get(name)).or_else(|| fields.values().next())
        })
        .unwrap_or(&Value::Null);
    let Some(url) = word(source, "uri").or_else(|| word(source, "sourceUri")) else {
        return opaque(provider, "groundingChunk", chunk);
    };
    Citation::Url(UrlCitation {
        url,
        title: word(source, "title"),
        cited_text: cited,
        start_index: stretch.start,
        end_index: stretch.end,
        ..UrlCitation::default()
    })
}

fn offset(value: &Value, name: &str) -> Option<usize> {
    // No text is longer than that, and sums of such numbers stay numbers.
    let number = value.get(name)?.as_u64()?;
    Some(usize::try_from(number).unwrap_or(usize::MAX).min(MAX_RESPONSE_BYTES))
}

/// Where a segment stands. Its own words, which most segments repeat, tell the part where its number does not.
fn locate(segment: &Value, texts: &[OpenText], places: &[Place]) -> Stretch {
    let start = offset(segment, "startIndex").unwrap_or(0);
    let end = offset(segment, "endIndex");
    let words = segment.get("text").and_then(Value::as_str).unwrap_or_default();
    let index = offset(segment, "partIndex").unwrap_or(0);
    let holds = |at: usize, start: usize, end: usize| {
        let found = texts.get(at).and_then(|open| open.text.get(start..end));
        found.is_some_and(|found| words.is_empty() || found == words)
    };
    let place = match places.get(index) {
        Some(Place::Text { at, base }) => Some((*at, *base)),
        _ => None,
    };
    let Some(end) = end else {
        // Nothing said of an end: nothing known but the part.
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
        if let Some(at) = (0..texts.len()).find(|at| holds(*at, start, end)) {
            return stretch(texts, at, start, end);
        }
        let (at, from) = in_all(texts, start);
        let to = from + (end - start);
        if texts[at].text.get(from..).is_some_and(|rest| {
            rest.starts_with(words) || (to > texts[at].text.len() && words.starts_with(rest))
        }) {
            return stretch(texts, at, from, to);
        }
        let found = texts
            .iter()
            .enumerate()
            .find_map(|(at, open)| open.text.find(words).map(|from| (at, from)));
        if let Some((at, from)) = found {
            return stretch(texts, at, from, from + words.len());
        }
    }
    match place {
        Some((at, base)) => stretch(texts, at, base + start, base + end),
        None => {
            let (at, from) = in_all(texts, start);
            stretch(texts, at, from, from + (end - start))
        }
    }
}

/// Where a source stands whose offsets count through all texts.
fn over_all(source: &Value, texts: &[OpenText]) -> Stretch {
    let start = offset(source, "startIndex").unwrap_or(0);
    let (at, from) = in_all(texts, start);
    match offset(source, "endIndex") {
        Some(end) => stretch(texts, at, from, from + end.max(start) - start),
        None => Stretch { at, start: None, end: None },
    }
}

/// The text in which a byte of all texts, put end to end, stands, and where in it.
fn in_all(texts: &[OpenText], byte: usize) -> (usize, usize) {
    let mut from = byte;
    for (at, open) in texts.iter().enumerate() {
        if from < open.text.len() || at + 1 == texts.len() {
            return (at, from);
        }
        from -= open.text.len();
    }
    (0, byte)
}

fn stretch(texts: &[OpenText], at: usize, start: usize, end: usize) -> Stretch {
    let text = texts.get(at).map_or("", |open| open.text.as_str());
    let characters = |byte: usize| {
        let byte = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
        Some(text[..byte.unwrap_or(0)].chars().count() as u64)
    };
    Stretch { at, start: characters(start), end: characters(end) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(list: &[&str]) -> Vec<OpenText> {
        let open = |text: &&str| OpenText { part: 0, text: (*text).to_owned() };
        list.iter().map(open).collect()
    }

    fn found(
        segment: &Value,
        list: &[&str],
        places: &[Place],
    ) -> (usize, Option<u64>, Option<u64>) {
        let stretch = locate(segment, &texts(list), places);
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
