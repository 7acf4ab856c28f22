//! What is asked.

use crate::chat::{ChatRequest, OutputStrategy};

/// How often an answer that does not match is asked for again, unless told otherwise.
pub const DEFAULT_RETRIES: u32 = 2;

/// An answer is never asked for again more often than this.
pub const MAX_RETRIES: u32 = 10;

/// A request for an answer of a given type. A [`ChatRequest`] is one, with everything at its default.
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
    /// The question. Its `response_format` is replaced.
    pub request: ChatRequest,
    /// What the answer is called; without this, what its type is called.
    pub name: Option<String>,
    /// What the answer is for.
    pub description: Option<String>,
    /// How often an answer that does not match is asked for again.
    pub retries: u32,
}

impl StructuredRequest {
    /// `request`, with everything at its default.
    pub fn new(request: ChatRequest) -> Self {
        Self { request, name: None, description: None, retries: DEFAULT_RETRIES }
    }

    /// Sets what the answer is called.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets what the answer is for.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Insists on a way to ask, instead of the best that the model has.
    #[must_use]
    pub fn strategy(mut self, strategy: OutputStrategy) -> Self {
        self.request.output_strategy = Some(strategy);
        self
    }

    /// Sets how often an answer that does not match is asked for again, up to [`MAX_RETRIES`].
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }
}

impl From<ChatRequest> for StructuredRequest {
    fn from(request: ChatRequest) -> Self {
        Self::new(request)
    }
}
