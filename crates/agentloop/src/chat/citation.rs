//! Where an answer's text comes from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ProviderState;

/// A source of a piece of text.
///
/// Two kinds of offsets exist and never share a field: `start_index` and `end_index` point into the
/// *answer*, in characters of the part that carries the citation; all others point into the *source*.
///
/// ```
/// use agentloop::Citation;
///
/// let value: Citation = serde_json::from_str(r#"{"type":"url","url":"https://example.com","title":"Example"}"#)?;
/// assert!(matches!(value, Citation::Url(source) if source.url == "https://example.com"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Citation {
    /// A page on the web.
    Url(UrlCitation),
    /// Characters of a document that was sent along.
    Document(DocumentCitation),
    /// Pages of a document that was sent along.
    Page(PageCitation),
    /// Content blocks of a document that was sent along.
    Block(BlockCitation),
    /// A search result that was sent along.
    SearchResult(SearchResultCitation),
    /// A file that the provider keeps, or that code wrote there.
    #[serde(rename = "file_citation")]
    File(FileCitation),
    /// A kind that has no unified form (yet), as it came.
    Opaque(OpaqueCitation),
}

impl Citation {
    /// Whether it points into what was sent along and does not say itself whose it is.
    pub(crate) fn is_bound(&self) -> bool {
        !matches!(self, Self::Url(_) | Self::File(_) | Self::Opaque(_))
    }

    /// Whether leaving it out of a message deserves a warning. Pages that a response cites are for its reader.
    pub(crate) fn is_missed(&self, of_response: bool) -> bool {
        !of_response || !matches!(self, Self::Url(_))
    }
}

/// A page on the web.
///
/// ```
/// use agentloop::UrlCitation;
///
/// let value: UrlCitation = serde_json::from_str(r#"{"url":"https://example.com","startIndex":3,"endIndex":9}"#)?;
/// assert_eq!(value.start_index.zip(value.end_index), Some((3, 9)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlCitation {
    /// The address.
    pub url: String,
    /// The page's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text on the page that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// Where the supported text begins in the answer (characters).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_index: Option<u64>,
    /// Where it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_index: Option<u64>,
    /// The number by which the text refers to it: `1` for `[1]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// State of the provider that cited it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Box<ProviderState>>,
}

/// Characters of a document.
///
/// ```
/// use agentloop::DocumentCitation;
///
/// let value: DocumentCitation = serde_json::from_str(r#"{"documentIndex":0,"citedText":"Oslo","startCharIndex":10,"endCharIndex":14}"#)?;
/// assert_eq!(value.cited_text.as_deref(), Some("Oslo"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DocumentCitation {
    /// Which of the documents, counted from 0.
    pub document_index: u64,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_title: Option<String>,
    /// The text that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// Where it begins in the document (characters).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_char_index: Option<u64>,
    /// Where it ends, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_char_index: Option<u64>,
    /// The provider's id of the document's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
}

/// Pages of a document.
///
/// ```
/// use agentloop::PageCitation;
///
/// let value: PageCitation = serde_json::from_str(r#"{"documentIndex":0,"startPage":3,"endPage":4}"#)?;
/// assert_eq!(value.start_page, Some(3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PageCitation {
    /// Which of the documents, counted from 0.
    pub document_index: u64,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_title: Option<String>,
    /// The text that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// The first page, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_page: Option<u64>,
    /// The page after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_page: Option<u64>,
    /// The provider's id of the document's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
}

/// Content blocks of a document.
///
/// ```
/// use agentloop::BlockCitation;
///
/// let value: BlockCitation = serde_json::from_str(r#"{"documentIndex":1,"startBlock":0,"endBlock":2}"#)?;
/// assert_eq!(value.document_index, 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlockCitation {
    /// Which of the documents, counted from 0.
    pub document_index: u64,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_title: Option<String>,
    /// The text that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// The first block, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_block: Option<u64>,
    /// The block after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_block: Option<u64>,
    /// The provider's id of the document's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
}

/// A search result that was sent along in the request.
///
/// ```
/// use agentloop::SearchResultCitation;
///
/// let value: SearchResultCitation = serde_json::from_str(r#"{"source":"https://example.com","title":"Example"}"#)?;
/// assert_eq!(value.source, "https://example.com");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchResultCitation {
    /// Where the result came from.
    pub source: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The text that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// Which of the results, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_result_index: Option<u64>,
    /// The first block, counted from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_block: Option<u64>,
    /// The block after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_block: Option<u64>,
}

/// A file that the provider keeps, or that code wrote there.
///
/// ```
/// use agentloop::FileCitation;
///
/// let value: FileCitation = serde_json::from_str(r#"{"fileId":"file_1","filename":"report.pdf"}"#)?;
/// assert_eq!(value.filename.as_deref(), Some("report.pdf"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileCitation {
    /// The provider's id of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_id: Option<String>,
    /// The file's name, or the title of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The container or the store that holds the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container_id: Option<String>,
    /// The text of the file that is cited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
    /// The provider's `index`. OpenAI describes it as the place in the list of files; its responses hold the
    /// place in the text where the citation belongs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<u64>,
    /// Where the supported text begins in the response (characters).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_index: Option<u64>,
    /// Where it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_index: Option<u64>,
    /// The citation as the provider that made it sent it, for the way back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Box<ProviderState>>,
}

/// A citation of a kind that has no unified form.
///
/// ```
/// use agentloop::OpaqueCitation;
///
/// let value: OpaqueCitation = serde_json::from_str(r#"{"provider":"cohere","kind":"tool","data":{}}"#)?;
/// assert_eq!(value.kind, "tool");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct OpaqueCitation {
    /// The provider that sent it.
    pub provider: String,
    /// The provider's own name for its kind.
    pub kind: String,
    /// The citation, as it came.
    pub data: Value,
}
