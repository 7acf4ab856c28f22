//! Sources of text, on the way in and on the way back.

use serde_json::{Value, json};

use crate::chat::{
    BlockCitation, Citation, DocumentCitation, OpaqueCitation, PageCitation, ProviderState,
    SearchResultCitation, UrlCitation,
};

/// Reads a citation. A citation of an unknown kind is kept unchanged.
pub(super) fn read(citation: Value, provider: &str) -> Citation {
    let text = |name: &str| citation.get(name).and_then(Value::as_str).map(str::to_owned);
    let number = |name: &str| citation.get(name).and_then(Value::as_u64);
    let kind = text("type").unwrap_or_default();
    let document_index = number("document_index");
    match (kind.as_str(), document_index) {
        ("char_location", Some(document_index)) => Citation::Document(DocumentCitation {
            document_index,
            document_title: text("document_title"),
            cited_text: text("cited_text"),
            start_char_index: number("start_char_index"),
            end_char_index: number("end_char_index"),
            file_id: text("file_id"),
        }),
        ("page_location", Some(document_index)) => Citation::Page(PageCitation {
            document_index,
            document_title: text("document_title"),
            cited_text: text("cited_text"),
            start_page: number("start_page_number"),
            end_page: number("end_page_number"),
            file_id: text("file_id"),
        }),
        ("content_block_location", Some(document_index)) => Citation::Block(BlockCitation {
            document_index,
            document_title: text("document_title"),
            cited_text: text("cited_text"),
            start_block: number("start_block_index"),
            end_block: number("end_block_index"),
            file_id: text("file_id"),
        }),
        ("search_result_location", _) if text("source").is_some() => {
            Citation::SearchResult(SearchResultCitation {
                source: text("source").unwrap_or_default(),
                title: text("title"),
                cited_text: text("cited_text"),
                search_result_index: number("search_result_index"),
                start_block: number("start_block_index"),
                end_block: number("end_block_index"),
            })
        }
        ("web_search_result_location", _) if text("url").is_some() => Citation::Url(UrlCitation {
            url: text("url").unwrap_or_default(),
            title: text("title"),
            cited_text: text("cited_text"),
            provider_state: citation.get("encrypted_index").map(|index| {
                Box::new(ProviderState::new(provider, json!({ "encrypted_index": index })))
            }),
            ..UrlCitation::default()
        }),
        _ => {
            Citation::Opaque(OpaqueCitation { provider: provider.to_owned(), kind, data: citation })
        }
    }
}

/// Returns the citation in the form of the provider, or `None` if another provider made it or a required field is
/// missing.
pub(super) fn write(citation: &Citation, provider: &str, own_turn: bool) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let state = url.provider_state.as_deref().filter(|state| state.provider == provider)?;
            let index = state.data.get("encrypted_index")?;
            Some(json!({ "type": "web_search_result_location", "url": url.url, "title": url.title,
                         "cited_text": url.cited_text.as_deref().unwrap_or_default(),
                         "encrypted_index": index }))
        }
        Citation::Opaque(opaque) => (opaque.provider == provider).then(|| opaque.data.clone()),
        // The protocol has no citations of files that are not in the request.
        Citation::File(_) => None,
        _ if !own_turn => None,
        Citation::Document(document) => Some(json!({
            "type": "char_location",
            "document_index": document.document_index,
            "document_title": document.document_title,
            "cited_text": document.cited_text.as_deref()?,
            "start_char_index": document.start_char_index?,
            "end_char_index": document.end_char_index?,
        })),
        Citation::Page(page) => Some(json!({
            "type": "page_location",
            "document_index": page.document_index,
            "document_title": page.document_title,
            "cited_text": page.cited_text.as_deref()?,
            "start_page_number": page.start_page?,
            "end_page_number": page.end_page?,
        })),
        Citation::Block(block) => Some(json!({
            "type": "content_block_location",
            "document_index": block.document_index,
            "document_title": block.document_title,
            "cited_text": block.cited_text.as_deref()?,
            "start_block_index": block.start_block?,
            "end_block_index": block.end_block?,
        })),
        Citation::SearchResult(result) => Some(json!({
            "type": "search_result_location",
            "source": result.source,
            "title": result.title,
            "cited_text": result.cited_text.as_deref()?,
            "search_result_index": result.search_result_index?,
            "start_block_index": result.start_block?,
            "end_block_index": result.end_block?,
        })),
    }
}

/// Writes the citation as a server does, whichever provider made it. Returns `None` if the API has no such citation: a
/// client with strict types refuses any other.
#[cfg(feature = "serve")]
pub(super) fn serve(citation: &Citation) -> Option<Value> {
    match citation {
        Citation::Url(url) => {
            let state = url.provider_state.as_deref();
            let index = state.and_then(|state| state.data.get("encrypted_index")?.as_str());
            // The texts are required.
            Some(json!({ "type": "web_search_result_location", "url": url.url, "title": url.title,
                         "cited_text": url.cited_text.as_deref().unwrap_or_default(),
                         "encrypted_index": index.unwrap_or_default() }))
        }
        // A file that was searched is nearest to a result of a search.
        Citation::File(file) => {
            let source = file.file_id.as_deref().or(file.filename.as_deref());
            Some(json!({ "type": "search_result_location", "source": source.unwrap_or_default(),
                         "title": file.filename, "search_result_index": 0,
                         "cited_text": file.cited_text.as_deref().unwrap_or_default(),
                         "start_block_index": 0, "end_block_index": 0 }))
        }
        Citation::Opaque(opaque) => {
            // All kinds of the API end like this, also those of tomorrow.
            let kind = opaque.data.get("type").and_then(Value::as_str)?;
            kind.ends_with("_location").then(|| opaque.data.clone())
        }
        other => {
            let mut citation = write(other, "", true)?;
            // Required beside a document, and null if it is not a file.
            if citation.get("document_index").is_some() {
                citation["file_id"] = Value::Null;
            }
            Some(citation)
        }
    }
}
