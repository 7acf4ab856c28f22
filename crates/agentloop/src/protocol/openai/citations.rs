//! Reads `annotations`: the sources of parts of the text.
//!
//! They are optional for the response, so every form is accepted, and an unknown one is kept unchanged.

use serde_json::Value;

use crate::chat::{Citation, OpaqueCitation, UrlCitation, file_citation};
use crate::nesting;

/// Returns a field that is a text and not empty.
pub(in crate::protocol) fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Reads a list of annotations.
pub(in crate::protocol) fn read(raw: &str, provider: &str) -> Vec<Citation> {
    from_values(nesting::read_list(raw), provider)
}

/// Reads annotations that are JSON values already.
pub(in crate::protocol) fn from_values(list: Vec<Value>, provider: &str) -> Vec<Citation> {
    list.into_iter()
        .map(|annotation| {
            let kind = text(&annotation, "type").unwrap_or_default();
            let source = annotation.get("url_citation").unwrap_or(&annotation);
            match text(source, "url") {
                Some(url) if kind == "url_citation" => Citation::Url(UrlCitation {
                    url,
                    title: text(source, "title"),
                    cited_text: text(source, "content"),
                    start_index: source.get("start_index").and_then(Value::as_u64),
                    end_index: source.get("end_index").and_then(Value::as_u64),
                    ..UrlCitation::default()
                }),
                _ => match file_citation::read(annotation, provider) {
                    Ok(file) => Citation::File(file),
                    Err(data) => Citation::Opaque(OpaqueCitation {
                        provider: provider.to_owned(),
                        kind,
                        data,
                    }),
                },
            }
        })
        .collect()
}
