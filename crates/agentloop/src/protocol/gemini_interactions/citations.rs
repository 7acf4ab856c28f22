//! The sources of a text. Offsets in bytes become offsets in characters.

use serde_json::{Map, Value};

use crate::chat::{Citation, FileCitation, OpaqueCitation, ProviderState, UrlCitation};
use crate::limits::MAX_RESPONSE_BYTES;
use crate::protocol::google::offsets::Texts;

/// Returns the source that an annotation names. Its offsets count bytes from `base` of the text (`URLCitation` of the SDK).
pub(super) fn read(annotation: Value, text: &Texts<'_>, base: usize, provider: &str) -> Citation {
    let Value::Object(mut fields) = annotation else {
        return opaque(provider, "", annotation);
    };
    let place = |name: &str| {
        let byte = usize::try_from(fields.get(name)?.as_u64()?).unwrap_or(usize::MAX);
        // No text is longer, and the sum stays a number.
        Some(text.characters(0, base + byte.min(MAX_RESPONSE_BYTES)))
    };
    let (start_index, end_index) = (place("start_index"), place("end_index"));
    let end_index = end_index.map(|end| end.max(start_index.unwrap_or(0)));
    let word = |name: &str| {
        let word = fields.get(name)?.as_str()?;
        (!word.is_empty()).then(|| word.to_owned())
    };
    let kind = word("type").unwrap_or_default();
    let named = match kind.as_str() {
        "url_citation" => word("url").map(|url| (url, word("title"))),
        "place_citation" => word("url").map(|url| (url, word("name"))),
        _ => None,
    };
    if let Some((url, title)) = named {
        // The first is written again from the citation itself.
        let state = (kind != "url_citation").then(|| state(provider, &mut fields));
        return Citation::Url(UrlCitation {
            url,
            title,
            start_index,
            end_index,
            provider_state: state,
            ..UrlCitation::default()
        });
    }
    if kind == "file_citation" {
        return Citation::File(FileCitation {
            file_id: word("document_uri").or_else(|| word("media_id")),
            filename: word("file_name"),
            start_index,
            end_index,
            provider_state: Some(state(provider, &mut fields)),
            ..FileCitation::default()
        });
    }
    opaque(provider, &kind, Value::Object(fields))
}

/// Returns the annotation, without its place, which the citation has.
fn state(provider: &str, fields: &mut Map<String, Value>) -> Box<ProviderState> {
    let mut fields = std::mem::take(fields);
    fields.remove("start_index");
    fields.remove("end_index");
    Box::new(ProviderState::new(provider, Value::Object(fields)))
}

fn opaque(provider: &str, kind: &str, data: Value) -> Citation {
    Citation::Opaque(OpaqueCitation { provider: provider.to_owned(), kind: kind.to_owned(), data })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bytes_become_characters_however_odd_they_are() {
        let text = Texts::new(vec!["äöü. 語"]);
        let read = |start: Value, end: Value| {
            let wire = json!({ "type": "url_citation", "url": "u", "start_index": start, "end_index": end });
            let Citation::Url(url) = read(wire, &text, 2, "p") else { panic!("a page") };
            (url.start_index, url.end_index)
        };
        assert_eq!(read(json!(0), json!(4)), (Some(1), Some(3)));
        assert_eq!(read(json!(0), json!(u64::MAX)), (Some(1), Some(6)));
        assert_eq!(read(json!(4), json!(0)), (Some(3), Some(3)));
        assert_eq!(read(json!("x"), json!(-1)), (None, None));
    }

    #[test]
    fn a_kind_without_a_unified_form_is_kept() {
        let text = Texts::new(vec!["a"]);
        let word = json!({ "type": "word_info", "text": "a", "start_offset": "1.5s" });
        let Citation::Opaque(kept) = read(word.clone(), &text, 0, "p") else { panic!("opaque") };
        assert_eq!((kept.kind.as_str(), &kept.data), ("word_info", &word));
        for odd in [json!(3), json!({ "type": "url_citation" }), json!({ "type": 7 })] {
            assert!(matches!(read(odd, &text, 0, "p"), Citation::Opaque(_)));
        }
    }
}
