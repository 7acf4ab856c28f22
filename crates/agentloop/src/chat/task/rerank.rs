//! Reranking.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{task_request, task_response};
use crate::chat::headers::ExtraHeaders;
use crate::chat::read::nullable;
use crate::chat::setters::call_setters;
use crate::chat::{Access, Cost, RawResponse, Usage, Warning};
use crate::timeouts::Timeouts;

task_request! {
    /// A request to sort documents by how well they match a query.
    ///
    /// ```
    /// use agentloop::RerankRequest;
    ///
    /// let request = RerankRequest::new("cohere/rerank-v4.0-fast", "capital of Norway", ["Oslo", "Rome"]).top_n(1);
    /// assert_eq!(request.documents.len(), 2);
    /// ```
    RerankRequest {
        /// What the documents are compared with.
        query: String,
        /// The documents.
        documents: Vec<String>,
        /// The number of results to return, the best ones. Without it, all documents are returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        top_n: Option<u32>,
    }
}

impl RerankRequest {
    /// Creates a request to sort `documents` by how well they match `query`.
    pub fn new<T: Into<String>>(
        model: impl Into<String>,
        query: impl Into<String>,
        documents: impl IntoIterator<Item = T>,
    ) -> Self {
        Self {
            model: model.into(),
            query: query.into(),
            documents: documents.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    setters! {
        /// Sets the number of results to return.
        top_n(top_n: u32);
    }
}

task_response! {
    /// The response to a rerank request: the documents by their score, the best first.
    ///
    /// ```
    /// use agentloop::RerankResponse;
    ///
    /// let value: RerankResponse =
    ///     serde_json::from_str(r#"{"model":"m","provider":"lab","results":[{"index":1,"score":0.9}]}"#)?;
    /// assert_eq!(value.results[0].index, 1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    RerankResponse {
        /// The documents, the best first.
        results: Vec<RankedDocument>,
        /// The units in which some providers charge searches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        search_units: Option<u64>,
    }
}

/// A document in the order of a [`RerankResponse`].
///
/// ```
/// assert_eq!(agentloop::RankedDocument::new(2, 0.5).score, 0.5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RankedDocument {
    /// The place of the document in the request.
    pub index: usize,
    /// How well it matches. Scores of different models cannot be compared.
    pub score: f64,
}

impl RankedDocument {
    /// Creates a result for the document at `index` of the request.
    pub fn new(index: usize, score: f64) -> Self {
        Self { index, score }
    }
}
