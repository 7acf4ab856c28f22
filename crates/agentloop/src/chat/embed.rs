//! Embeddings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::headers::ExtraHeaders;
use super::read::nullable;
use super::setters::call_setters;
use super::{Access, CacheMode};
use crate::chat::{Cost, RawResponse, Warning};
use crate::timeouts::Timeouts;

/// A request for the vectors (embeddings) of texts.
///
/// More texts than the provider accepts in one call are sent in several calls, a few at once. The vectors are in the order of the
/// texts. The first call that fails fails the request, and its error names the texts of that call. An empty text is sent
/// as it is; providers treat it differently.
///
/// ```
/// use agentloop::EmbedRequest;
///
/// let request = EmbedRequest::new("openai/text-embedding-3-small", ["hello", "goodbye"]).dimensions(256);
/// assert_eq!(request.input.as_slice().len(), 2);
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EmbedRequest {
    /// `"provider/model"`, an alias, or a model of the default provider.
    pub model: String,
    /// One text or several.
    pub input: EmbedInput,
    /// The length of the vectors.
    pub dimensions: Option<u32>,
    /// What the vectors are for.
    pub input_type: Option<EmbedInputType>,
    /// Identifies your end user to the provider. In JSON it is `user`.
    #[serde(rename = "user")]
    pub user_id: Option<String>,
    /// Labels that [`Costs`](crate::middleware::Costs) counts the call under. They are not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// More fields for the request's body, under the provider's own names, sent untouched.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Map::is_empty")]
    pub extra_body: Map<String, Value>,
    /// More headers. They never replace the ones that authenticate.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "ExtraHeaders::is_empty"
    )]
    pub extra_headers: ExtraHeaders,
    /// The models to call if this one fails, in place of those of the [`Fallback`](crate::middleware::Fallback)
    /// middleware. Without that middleware they are ignored with a warning. They are not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub fallbacks: Vec<String>,
    /// How a [cache](crate::middleware::Cache) treats this request, if the client has one. It is not sent.
    pub cache: Option<CacheMode>,
    /// Whether the [response](crate::EmbedResponse::raw) also has the status, the headers (rate limits, processing
    /// time) and the body as the provider sent them. It is not sent.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub include_raw: bool,
    /// How many calls may run at once, if the texts need more than one. The default is
    /// [`EMBED_CONCURRENCY`](crate::limits::EMBED_CONCURRENCY). It is not part of the JSON.
    #[serde(skip)]
    pub concurrency: Option<usize>,
    /// The timeouts, in place of the client's.
    #[serde(skip)]
    pub timeouts: Option<Timeouts>,
    /// The keys and base URLs that [`key`](Self::key) and [`base_url`](Self::base_url) set.
    #[serde(skip)]
    pub(crate) access: Option<Box<Access>>,
}

impl EmbedRequest {
    /// Creates a request for the vectors of `input`.
    pub fn new(model: impl Into<String>, input: impl Into<EmbedInput>) -> Self {
        Self { model: model.into(), input: input.into(), ..Self::default() }
    }

    setters! {
        /// Sets the length of the vectors.
        dimensions(dimensions: u32);
        /// Sets what the vectors are for.
        input_type(input_type: EmbedInputType);
        /// Identifies your end user to the provider. In JSON it is `user`.
        user_id(user_id: impl Into<String>);
        /// Sets how many calls may be in progress at once, where the texts need more than one.
        concurrency(concurrency: usize);
    }

    call_setters!();
}

/// One text or several. A list of one text is the same as one text.
///
/// ```
/// use agentloop::EmbedInput;
///
/// assert_eq!(EmbedInput::from("a text").as_slice(), ["a text"]);
/// assert_eq!(EmbedInput::from(["a", "b"]).as_slice().len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum EmbedInput {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

impl Default for EmbedInput {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl EmbedInput {
    /// Returns the texts.
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

impl From<&str> for EmbedInput {
    fn from(text: &str) -> Self {
        Self::One(text.to_owned())
    }
}

impl From<String> for EmbedInput {
    fn from(text: String) -> Self {
        Self::One(text)
    }
}

impl<T: Into<String>> From<Vec<T>> for EmbedInput {
    fn from(texts: Vec<T>) -> Self {
        Self::Many(texts.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for EmbedInput {
    fn from(texts: [T; N]) -> Self {
        Self::Many(texts.into_iter().map(Into::into).collect())
    }
}

/// The purpose of the vectors. Providers that distinguish these return better vectors.
///
/// ```
/// use agentloop::{EmbedInputType, EmbedRequest};
///
/// let request = EmbedRequest::new("cohere/embed-v4.0", ["a text"]).input_type(EmbedInputType::Document);
/// assert_eq!(serde_json::to_value(&request)?["input_type"], "document");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmbedInputType {
    /// A query to search with.
    Query,
    /// A document to be found.
    Document,
    /// A text to classify.
    Classification,
    /// A text to cluster.
    Clustering,
    /// A text to compare with others.
    Similarity,
}

/// The response to an embeddings request: the vectors, in the order of the texts.
///
/// ```
/// use agentloop::EmbedResponse;
///
/// let value: EmbedResponse = serde_json::from_str(r#"{"model":"m","provider":"lab","embeddings":[[0.5,0.25]]}"#)?;
/// assert_eq!(value.first(), Some(&[0.5, 0.25][..]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbedResponse {
    /// The model, as the provider names it.
    pub model: String,
    /// The provider.
    pub provider: String,
    /// One vector for each text.
    pub embeddings: Vec<Vec<f32>>,
    /// The tokens used. `None` if the provider did not report them.
    pub usage: Option<EmbedUsage>,
    /// The cost. `None` if it is not known.
    pub cost: Option<Cost>,
    /// The request id, which the provider's support asks for. It is the id of the last call, if there were several.
    #[serde(rename = "requestId")]
    pub request_id: Option<String>,
    /// Whether the vectors come from a [cache](crate::middleware::Cache). The usage is then that of the stored call.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Parameters that were dropped, renamed or clamped.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The responses as the provider sent them, if the request set [`include_raw`](EmbedRequest#structfield.include_raw): one for each
    /// call, in the order of the texts. Vectors from a cache have none.
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<RawResponse>,
}

/// The tokens of an embeddings call.
///
/// ```
/// use agentloop::EmbedUsage;
///
/// let value: EmbedUsage = serde_json::from_str(r#"{"prompt_tokens":8,"total_tokens":8}"#)?;
/// assert_eq!(value.prompt_tokens, 8);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbedUsage {
    /// Tokens of the texts.
    pub prompt_tokens: u64,
    /// All tokens.
    pub total_tokens: u64,
}

impl EmbedResponse {
    /// Creates a response of a model, with unknown usage and cost.
    pub fn new(
        model: impl Into<String>,
        provider: impl Into<String>,
        embeddings: Vec<Vec<f32>>,
    ) -> Self {
        Self { model: model.into(), provider: provider.into(), embeddings, ..Self::default() }
    }

    /// Returns the first vector, which is the only one for a request with one text.
    pub fn first(&self) -> Option<&[f32]> {
        self.embeddings.first().map(Vec::as_slice)
    }
}

/// Iterates over the vectors, in the order of the texts.
impl IntoIterator for EmbedResponse {
    type Item = Vec<f32>;
    type IntoIter = std::vec::IntoIter<Vec<f32>>;

    fn into_iter(self) -> Self::IntoIter {
        self.embeddings.into_iter()
    }
}
