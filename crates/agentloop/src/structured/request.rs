//! The request for structured output.

use crate::chat::{ChatRequest, OutputStrategy};
use crate::limits::STRUCTURED_RETRIES;

/// A request for structured output. A [`ChatRequest`] converts into one with default settings.
///
/// ```
/// use agentloop::structured::StructuredRequest;
/// use agentloop::{ChatRequest, OutputStrategy};
///
/// let request = StructuredRequest::new(ChatRequest::new("groq/llama-3.3-70b-versatile").user("Three colours?"))
///     .strategy(OutputStrategy::Tool)
///     .retries(1);
/// assert_eq!(request.retries, 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StructuredRequest {
    /// The request to send. Its `response_format` is replaced.
    pub request: ChatRequest,
    /// The name of the schema that is sent to the provider; the name of the type if `None`.
    pub name: Option<String>,
    /// The description of the schema that is sent to the provider.
    pub description: Option<String>,
    /// How many times a response that does not match is requested again.
    pub retries: u32,
}

impl StructuredRequest {
    /// Creates a structured request with default settings: [`STRUCTURED_RETRIES`] retries and the best strategy that the
    /// model supports.
    pub fn new(request: ChatRequest) -> Self {
        Self { request, name: None, description: None, retries: STRUCTURED_RETRIES }
    }

    setters! {
        /// Sets the name of the schema that is sent to the provider.
        name(name: impl Into<String>);

        /// Sets the description of the schema that is sent to the provider.
        description(description: impl Into<String>);

        /// Sets how the schema is sent, instead of the best way that the model supports.
        strategy(self, strategy: OutputStrategy) => self.request.output_strategy = Some(strategy);

        /// Sets how many times a response that does not match is requested again. At most
        /// [`MAX_STRUCTURED_RETRIES`](crate::limits::MAX_STRUCTURED_RETRIES) retries are made.
        retries(self, retries: u32) => self.retries = retries;
    }
}

impl From<ChatRequest> for StructuredRequest {
    fn from(request: ChatRequest) -> Self {
        Self::new(request)
    }
}
