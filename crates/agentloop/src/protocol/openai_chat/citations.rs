//! The sources of a complete response, which Perplexity lists beside the choices (recording
//! perplexity-json-citations-search-results-2609c1fd, 2026).

use std::collections::HashMap;

use serde_json::Value;

use crate::chat::{Citation, UrlCitation};
use crate::nesting;
use crate::protocol::openai::citations::text;

/// A list of URLs, and the search results with more about them.
#[derive(Debug)]
pub(super) struct Sources {
    urls: Vec<Value>,
    results: Vec<Value>,
}

impl Sources {
    /// Reads `citations` and `search_results`.
    pub(super) fn read(urls: &str, search_results: &str) -> Self {
        Self { urls: nesting::read_list(urls), results: nesting::read_list(search_results) }
    }

    /// Returns the citations, numbered as in the text of the response. Each is created when it is needed, so a long
    /// result that many URLs refer to is counted before it is copied again.
    pub(super) fn citations(&self) -> impl Iterator<Item = Citation> {
        let mut by_url: HashMap<&str, &Value> = HashMap::new();
        for result in &self.results {
            if let Some(url) = result.get("url").and_then(Value::as_str) {
                by_url.entry(url).or_insert(result);
            }
        }
        let urls = if self.urls.is_empty() { &self.results } else { &self.urls };
        (1u32..).zip(urls).filter_map(move |(number, listed)| {
            let url = match listed {
                Value::String(url) => url.clone(),
                other => text(other, "url")?,
            };
            let result = by_url.get(url.as_str());
            Some(Citation::Url(UrlCitation {
                title: result.and_then(|result| text(result, "title")),
                cited_text: result.and_then(|result| text(result, "snippet")),
                number: Some(number),
                url,
                ..UrlCitation::default()
            }))
        })
    }

    /// Returns the list of URLs unchanged.
    pub(super) fn into_urls(self) -> Option<Value> {
        (!self.urls.is_empty()).then_some(Value::Array(self.urls))
    }
}
