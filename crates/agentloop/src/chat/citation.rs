//! The sources of the text of a response.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ProviderState;

/// A source of a text.
///
/// There are two kinds of offsets, in separate fields: `start_index` and `end_index` are positions in the *response*,
/// in characters of the part that has the citation. All others are positions in the *source*.
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
    /// A web page.
    Url(UrlCitation),
    /// Characters of a document in the request.
    Document(DocumentCitation),
    /// Pages of a document in the request.
    Page(PageCitation),
    /// Content blocks of a document in the request.
    Block(BlockCitation),
    /// A search result in the request.
    SearchResult(SearchResultCitation),
    /// A file that the provider stores, or that code wrote there.
    #[serde(rename = "file_citation")]
    File(FileCitation),
    /// A kind that has no unified form, as the provider sent it.
    Opaque(OpaqueCitation),
}

impl Citation {
    /// Returns whether it refers to the request and does not name its provider.
    pub(crate) fn is_bound(&self) -> bool {
        !matches!(self, Self::Url(_) | Self::File(_) | Self::Opaque(_))
    }

    /// Returns whether leaving it out of a message deserves a warning. Pages that a response cites are for its reader.
    pub(crate) fn is_missed(&self, of_response: bool) -> bool {
        !of_response || !matches!(self, Self::Url(_))
    }
}

/// A citation of a web page.
///
/// ```
/// use agentloop::UrlCitation;
///
/// let value: UrlCitation = serde_json::from_str(r#"{"url":"https://example.com","startIndex":3,"endIndex":9}"#)?;
/// assert_eq!(value.start_index.zip(value.end_index), Some((3, 9)));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UrlCitation {
    /// The URL.
    pub url: String,
    /// The title of the page.
    pub title: Option<String>,
    /// The cited text of the page.
    pub cited_text: Option<String>,
    /// The start of the supported text in the response (characters).
    pub start_index: Option<u64>,
    /// The end of the supported text, exclusive.
    pub end_index: Option<u64>,
    /// The number that the text uses for it: `1` for `[1]`.
    pub number: Option<u32>,
    /// State of the provider that made the citation.
    pub provider_state: Option<Box<ProviderState>>,
}

/// A citation of characters of a document.
///
/// ```
/// use agentloop::DocumentCitation;
///
/// let value: DocumentCitation = serde_json::from_str(r#"{"documentIndex":0,"citedText":"Oslo","startCharIndex":10,"endCharIndex":14}"#)?;
/// assert_eq!(value.cited_text.as_deref(), Some("Oslo"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DocumentCitation {
    /// The index of the document, counted from 0.
    pub document_index: u64,
    /// The title of the document.
    pub document_title: Option<String>,
    /// The cited text.
    pub cited_text: Option<String>,
    /// The start in the document (characters).
    pub start_char_index: Option<u64>,
    /// The end in the document, exclusive.
    pub end_char_index: Option<u64>,
    /// The provider's id of the document's file.
    pub file_id: Option<String>,
}

/// A citation of pages of a document.
///
/// ```
/// use agentloop::PageCitation;
///
/// let value: PageCitation = serde_json::from_str(r#"{"documentIndex":0,"startPage":3,"endPage":4}"#)?;
/// assert_eq!(value.start_page, Some(3));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct PageCitation {
    /// The index of the document, counted from 0.
    pub document_index: u64,
    /// The title of the document.
    pub document_title: Option<String>,
    /// The cited text.
    pub cited_text: Option<String>,
    /// The first page, counted from 1.
    pub start_page: Option<u64>,
    /// The page after the last.
    pub end_page: Option<u64>,
    /// The provider's id of the document's file.
    pub file_id: Option<String>,
}

/// A citation of content blocks of a document.
///
/// ```
/// use agentloop::BlockCitation;
///
/// let value: BlockCitation = serde_json::from_str(r#"{"documentIndex":1,"startBlock":0,"endBlock":2}"#)?;
/// assert_eq!(value.document_index, 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct BlockCitation {
    /// The index of the document, counted from 0.
    pub document_index: u64,
    /// The title of the document.
    pub document_title: Option<String>,
    /// The cited text.
    pub cited_text: Option<String>,
    /// The first block, counted from 0.
    pub start_block: Option<u64>,
    /// The block after the last.
    pub end_block: Option<u64>,
    /// The provider's id of the document's file.
    pub file_id: Option<String>,
}

/// A citation of a search result in the request.
///
/// ```
/// use agentloop::SearchResultCitation;
///
/// let value: SearchResultCitation = serde_json::from_str(r#"{"source":"https://example.com","title":"Example"}"#)?;
/// assert_eq!(value.source, "https://example.com");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchResultCitation {
    /// The source of the search result.
    pub source: String,
    /// The title of the search result.
    pub title: Option<String>,
    /// The cited text.
    pub cited_text: Option<String>,
    /// The index of the search result, counted from 0.
    pub search_result_index: Option<u64>,
    /// The first block, counted from 0.
    pub start_block: Option<u64>,
    /// The block after the last.
    pub end_block: Option<u64>,
}

/// A citation of a file that the provider stores, or that code wrote there.
///
/// ```
/// use agentloop::FileCitation;
///
/// let value: FileCitation = serde_json::from_str(r#"{"fileId":"file_1","filename":"report.pdf"}"#)?;
/// assert_eq!(value.filename.as_deref(), Some("report.pdf"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileCitation {
    /// The provider's id of the file.
    pub file_id: Option<String>,
    /// The file's name, or the title of the document.
    pub filename: Option<String>,
    /// The container or the store that has the file.
    pub container_id: Option<String>,
    /// The cited text of the file.
    pub cited_text: Option<String>,
    /// The provider's `index`. OpenAI documents it as the index in the list of files; its responses contain the
    /// position in the text where the citation belongs.
    pub index: Option<u64>,
    /// The start of the supported text in the response (characters).
    pub start_index: Option<u64>,
    /// The end of the supported text, exclusive.
    pub end_index: Option<u64>,
    /// The citation as the provider sent it, to send it back.
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
    /// The citation as the provider sent it.
    pub data: Value,
}
