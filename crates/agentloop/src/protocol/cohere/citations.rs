//! Reads the sources of texts.

use serde_json::Value;

use crate::chat::{Citation, FileCitation, ProviderState, UrlCitation};

/// Where a citation belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// To the block of text with this number, or to the last text if there is none.
    Text(Option<usize>),
    /// To thoughts or to a plan, which have no sources here.
    Beside,
}

/// Returns where a citation belongs.
pub(super) fn place(citation: &Value) -> Place {
    let index = citation.get("content_index").and_then(Value::as_u64);
    match citation.get("type").and_then(Value::as_str) {
        None | Some("TEXT_CONTENT" | "") => {
            Place::Text(index.and_then(|index| usize::try_from(index).ok()))
        }
        Some(_) => Place::Beside,
    }
}

/// Returns one citation for each source. The first has the citation as it was sent, to send it back.
pub(super) fn read(citation: Value, provider: &str) -> Vec<Citation> {
    let number = |name: &str| citation.get(name).and_then(Value::as_u64);
    let (start_index, end_index) = (number("start"), number("end"));
    let sources = citation.get("sources").and_then(Value::as_array);
    let mut read: Vec<Citation> = sources
        .into_iter()
        .flatten()
        .map(|source| {
            let word = |from: &Value, name: &str| {
                from.get(name).and_then(Value::as_str).map(str::to_owned)
            };
            let data = source.get("document").or_else(|| source.get("tool_output"));
            let title = data.and_then(|data| word(data, "title"));
            match data.and_then(|data| word(data, "url")) {
                Some(url) => Citation::Url(UrlCitation {
                    title,
                    start_index,
                    end_index,
                    ..UrlCitation::new(url)
                }),
                None => Citation::File(FileCitation {
                    file_id: word(source, "id"),
                    filename: title,
                    start_index,
                    end_index,
                    ..FileCitation::default()
                }),
            }
        })
        .collect();
    if read.is_empty() {
        read.push(Citation::File(FileCitation {
            start_index,
            end_index,
            ..FileCitation::default()
        }));
    }
    let state = Some(Box::new(ProviderState::new(provider, citation)));
    match read.first_mut() {
        Some(Citation::Url(url)) => url.provider_state = state,
        Some(Citation::File(file)) => file.provider_state = state,
        _ => {}
    }
    read
}
