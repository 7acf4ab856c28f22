//! Sources of text, on the way in and on the way back.

use serde_json::{Value, json};

use crate::chat::{
    BlockCitation, Citation, DocumentCitation, OpaqueCitation, PageCitation, ProviderState,
    SearchResultCitation, UrlCitation,
};

/// Reads a citation. One that a unified kind cannot hold completely is kept unchanged.
pub(super) fn read(citation: Value, provider: &str) -> Citation {
    match typed(&citation, provider) {
        Some(typed) if written(&typed).as_ref() == Some(&citation) => typed,
        Some(Citation::Url(mut url)) => {
            url.provider_state = Some(Box::new(ProviderState::new(provider, citation)));
            Citation::Url(url)
        }
        _ => {
            let location = citation.get("location").and_then(Value::as_object);
            let kind = location.and_then(|location| location.keys().next().cloned());
            Citation::Opaque(OpaqueCitation {
                provider: provider.to_owned(),
                kind: kind.unwrap_or_else(|| "citation".to_owned()),
                data: citation,
            })
        }
    }
}

fn typed(citation: &Value, provider: &str) -> Option<Citation> {
    let text = |name: &str| citation.get(name).and_then(Value::as_str).map(str::to_owned);
    let sources = citation.get("sourceContent").and_then(Value::as_array);
    let cited_text = match sources.map(Vec::as_slice) {
        Some([only]) => only.get("text").and_then(Value::as_str).map(str::to_owned),
        _ => None,
    };
    let location = citation.get("location")?.as_object()?;
    let (kind, place) = location.iter().next()?;
    let number = |name: &str| place.get(name).and_then(Value::as_u64);
    let (start, end) = (number("start"), number("end"));
    let document_title = text("title");
    Some(match kind.as_str() {
        "documentChar" => Citation::Document(DocumentCitation {
            document_index: number("documentIndex")?,
            document_title,
            cited_text,
            start_char_index: start,
            end_char_index: end,
            file_id: None,
        }),
        "documentPage" => Citation::Page(PageCitation {
            document_index: number("documentIndex")?,
            document_title,
            cited_text,
            start_page: start,
            end_page: end,
            file_id: None,
        }),
        "documentChunk" => Citation::Block(BlockCitation {
            document_index: number("documentIndex")?,
            document_title,
            cited_text,
            start_block: start,
            end_block: end,
            file_id: None,
        }),
        "searchResultLocation" => Citation::SearchResult(SearchResultCitation {
            source: text("source")?,
            title: document_title,
            cited_text,
            search_result_index: number("searchResultIndex"),
            start_block: start,
            end_block: end,
        }),
        "web" => Citation::Url(UrlCitation {
            title: document_title,
            cited_text,
            provider_state: Some(Box::new(ProviderState::new(provider, Value::Null))),
            ..UrlCitation::new(place.get("url").and_then(Value::as_str)?)
        }),
        _ => return None,
    })
}

/// Returns the citation in the form of the provider, or `None` if another provider made it.
pub(super) fn write(citation: &Citation, provider: &str, is_own: bool) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let state = url.provider_state.as_deref().filter(|state| state.provider == provider)?;
            if state.data.is_object() { Some(state.data.clone()) } else { written(citation) }
        }
        Citation::Opaque(opaque) => (opaque.provider == provider).then(|| opaque.data.clone()),
        Citation::File(_) => None,
        _ => is_own.then(|| written(citation)).flatten(),
    }
}

/// Writes a citation, whichever provider made it. Returns `None` if the API has no such citation.
pub(super) fn written(citation: &Citation) -> Option<Value> {
    let fields = |title: &Option<String>, cited: &Option<String>, location: Value| {
        let mut wire = json!({ "location": location });
        if let Some(title) = title {
            wire["title"] = title.as_str().into();
        }
        if let Some(text) = cited {
            wire["sourceContent"] = json!([{ "text": text }]);
        }
        wire
    };
    // The numbers that are known.
    let place = |index: (&str, Option<u64>), start: Option<u64>, end: Option<u64>| {
        let mut place = json!({});
        for (name, number) in [index, ("start", start), ("end", end)] {
            if let Some(number) = number {
                place[name] = number.into();
            }
        }
        place
    };
    Some(match citation {
        Citation::Document(it) => {
            let index = ("documentIndex", Some(it.document_index));
            let place = place(index, it.start_char_index, it.end_char_index);
            fields(&it.document_title, &it.cited_text, json!({ "documentChar": place }))
        }
        Citation::Page(it) => {
            let index = ("documentIndex", Some(it.document_index));
            let place = place(index, it.start_page, it.end_page);
            fields(&it.document_title, &it.cited_text, json!({ "documentPage": place }))
        }
        Citation::Block(it) => {
            let index = ("documentIndex", Some(it.document_index));
            let place = place(index, it.start_block, it.end_block);
            fields(&it.document_title, &it.cited_text, json!({ "documentChunk": place }))
        }
        Citation::SearchResult(it) => {
            let index = ("searchResultIndex", it.search_result_index);
            let place = place(index, it.start_block, it.end_block);
            let mut wire =
                fields(&it.title, &it.cited_text, json!({ "searchResultLocation": place }));
            wire["source"] = it.source.as_str().into();
            wire
        }
        Citation::Url(it) => fields(&it.title, &it.cited_text, json!({ "web": { "url": it.url } })),
        Citation::File(_) | Citation::Opaque(_) => return None,
    })
}

/// Writes the citation as a server does, whichever provider made it.
#[cfg(feature = "serve")]
pub(super) fn serve(citation: &Citation) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let state = url.provider_state.as_deref().map(|state| &state.data);
            let own = state.filter(|data| data.pointer("/location/web").is_some());
            own.cloned().or_else(|| written(citation))
        }
        // A file that was searched is nearest to a result of a search.
        Citation::File(file) => {
            let source = file.file_id.as_deref().or(file.filename.as_deref());
            let mut wire = json!({ "source": source.unwrap_or_default(),
                                   "location": { "searchResultLocation": {} } });
            if let Some(name) = &file.filename {
                wire["title"] = name.as_str().into();
            }
            if let Some(text) = &file.cited_text {
                wire["sourceContent"] = json!([{ "text": text }]);
            }
            Some(wire)
        }
        Citation::Opaque(opaque) => {
            opaque.data.get("location").is_some_and(Value::is_object).then(|| opaque.data.clone())
        }
        other => written(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_sent_back_unchanged() {
        for citation in [
            json!({"location":{"documentChar":{"documentIndex":0,"end":73,"start":0}},
                   "sourceContent":[{"text":"a"}],"title":"facts"}),
            json!({"location":{"documentPage":{"documentIndex":1,"start":1,"end":2}}}),
            json!({"location":{"documentChunk":{"documentIndex":1,"start":1,"end":2}},"title":"t"}),
            json!({"location":{"searchResultLocation":{"searchResultIndex":0,"start":0,"end":1}},
                   "source":"s","title":"t","sourceContent":[{"text":"a"}]}),
            json!({"location":{"web":{"url":"https://a.test","domain":"a.test"}},"title":"t"}),
            json!({"location":{"web":{"url":"https://a.test"}}}),
            // Too much for the unified kinds.
            json!({"location":{"documentChar":{"documentIndex":0}},"source":"s"}),
            json!({"location":{"documentChar":{"documentIndex":0}},
                   "sourceContent":[{"text":"a"},{"text":"b"}]}),
            json!({"location":{"tomorrow":{"a":1}}}),
            json!({"location":7}),
            json!({}),
        ] {
            let read = read(citation.clone(), "p");
            assert_eq!(write(&read, "p", true).as_ref(), Some(&citation), "{read:?}");
            assert_eq!(write(&read, "other", false), None, "{read:?}");
        }
    }
}
