//! The words for what vectors are for.

use crate::chat::EmbedInputType;
use crate::provider::quirks::InputTypeWords;

/// Returns the provider's name for a purpose, and whether it means exactly the same. Returns `None` if there is none.
pub(crate) fn purpose_word(
    words: InputTypeWords,
    purpose: Option<EmbedInputType>,
) -> Option<(&'static str, bool)> {
    use EmbedInputType::{Classification, Clustering, Document, Query, Similarity};
    let (word, same) = match (words, purpose) {
        (InputTypeWords::Refused, _) => return None,
        (InputTypeWords::Search, Some(Query)) => ("search_query", true),
        (InputTypeWords::Search, Some(Document) | None) => ("search_document", true),
        (InputTypeWords::Search, Some(Classification)) => ("classification", true),
        (InputTypeWords::Search, Some(Clustering)) => ("clustering", true),
        // Texts of one kind that are compared with each other, as those of a group are.
        (InputTypeWords::Search, Some(Similarity)) => ("clustering", false),
        (InputTypeWords::Passage, Some(Query)) => ("query", true),
        (InputTypeWords::Passage, Some(Document) | None) => ("passage", true),
        (InputTypeWords::Passage, Some(_)) => ("passage", false),
    };
    Some((word, same))
}

/// Returns the task type, as one wire has it.
pub(crate) fn purpose_in_capitals(purpose: EmbedInputType) -> &'static str {
    match purpose {
        EmbedInputType::Query => "RETRIEVAL_QUERY",
        EmbedInputType::Document => "RETRIEVAL_DOCUMENT",
        EmbedInputType::Classification => "CLASSIFICATION",
        EmbedInputType::Clustering => "CLUSTERING",
        EmbedInputType::Similarity => "SEMANTIC_SIMILARITY",
    }
}
