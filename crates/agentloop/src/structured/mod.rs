//! Structured output: responses that are parsed into a Rust type or checked against a JSON Schema.
//!
//! - The schema is sent in the best way that the model supports (see [`OutputStrategy`]).
//! - The response is parsed strictly, and serde decides whether it is a value of the type. With the feature `validate` it is first
//!   checked against the schema exactly as the caller gave it. Without the feature, what only the schema says, for example
//!   `#[schemars(range(min = 1))]`, is sent to the model and not checked, and there is nothing that takes a schema alone
//!   (`chat_structured_as`, `stream_structured_as`).
//! - A response that does not match is sent back to the model with the reason, up to
//!   [`retries`](StructuredRequest::retries) times. If it contains no JSON at all, the schema is also put into the prompt, because
//!   some servers accept a schema and ignore it.
//!
//! ```
//! use agentloop::{AgentLoop, ChatRequest};
//! # use agentloop_sim::{Model, Script, Simulator, Turn};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct City {
//!     name: String,
//!     inhabitants: u64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> agentloop::Result<()> {
//! # let script = Script::new([Turn::text(r#"{"name": "Oslo", "inhabitants": 717710}"#)]);
//! # let simulator = Simulator::new().with_model(Model::from_script(script));
//! # let provider = simulator.provider_named("sim", agentloop::Protocol::OpenAiChat);
//! # let ai = AgentLoop::builder().provider(provider).build()?;
//! let request = ChatRequest::new("sim/any").user("The largest city of Norway?");
//! let city = ai.chat_structured::<City>(request).await?;
//! assert_eq!(city.data.name, "Oslo");
//! # Ok(())
//! # }
//! ```

mod extract;
mod judge;
#[cfg(feature = "validate")]
mod matcher;
mod nulls;
mod partial;
mod request;
mod shape;
mod stream;
mod strict;
#[cfg(feature = "validate")]
mod work;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
#[cfg(feature = "validate")]
use serde_json::Value;

#[cfg(feature = "agent")]
pub(crate) use judge::Judge;
#[cfg(feature = "agent")]
pub(crate) use nulls::drop_optional as drop_optional_nulls;
#[cfg(feature = "agent")]
pub(crate) use partial::Partial;
pub use request::StructuredRequest;
pub(crate) use shape::Shape;
pub use stream::{StructuredEvent, StructuredStream};

use crate::chat::{ChatMessage, ChatRequest, ChatResponse, Cost, OutputStrategy, Usage};
use crate::client::AgentLoop;
use crate::error::{Error, Result};
use crate::history::depth;
use crate::limits::MAX_STRUCTURED_RETRIES;

/// A response parsed into the requested type.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Structured<T> {
    /// The parsed value.
    pub data: T,
    /// The response that the value was parsed from.
    pub response: ChatResponse,
    /// How the schema was sent; `None` if the response did not come from one of this library's codecs.
    pub strategy: Option<OutputStrategy>,
    /// The number of calls that were made.
    pub attempts: u32,
    /// The tokens of all calls, added up.
    pub usage: Usage,
    /// The cost of all calls, added up; `None` if the cost of one of them is unknown.
    pub cost: Option<Cost>,
}

impl AgentLoop {
    /// Sends the request and returns the response as a `T`. See the [module](crate::structured) for an example.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`chat`](Self::chat). If the response does not match, returns an error of kind
    /// [`OutputTruncated`](crate::ErrorKind::OutputTruncated), [`OutputRefused`](crate::ErrorKind::OutputRefused),
    /// [`OutputCalledTools`](crate::ErrorKind::OutputCalledTools), [`OutputNotJson`](crate::ErrorKind::OutputNotJson) or
    /// [`OutputMismatch`](crate::ErrorKind::OutputMismatch). [`Error::partial`] then holds the last response with its
    /// text and usage, and [`Error::causes`] the errors of the earlier attempts.
    pub async fn chat_structured<T: DeserializeOwned + JsonSchema>(
        &self,
        request: impl Into<StructuredRequest>,
    ) -> Result<Structured<T>> {
        let request = request.into();
        let shape = Shape::of::<T>(&request)?;
        self.chat_until_valid(&shape, request).await
    }

    /// Sends the request and returns the response as JSON that matches `schema`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`chat_structured`](Self::chat_structured), and an error of kind
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if `schema` is not a valid JSON Schema.
    #[cfg(feature = "validate")]
    pub async fn chat_structured_as(
        &self,
        schema: Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<Structured<Value>> {
        let request = request.into();
        let shape = Shape::of_schema(schema, &request)?;
        self.chat_until_valid(&shape, request).await
    }

    /// Sends the request and returns a stream of partial values and of all other events, which ends with the complete
    /// `T`. See [`StructuredStream`] for an example.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`stream`](Self::stream). A streamed response that does not match is not requested again:
    /// the stream ends with the error.
    pub async fn stream_structured<T: DeserializeOwned + JsonSchema>(
        &self,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<T>> {
        let request = request.into();
        let shape = Shape::of::<T>(&request)?;
        let stream = self.stream(shape.apply_to(request.request)).await?;
        Ok(StructuredStream::new(stream, shape))
    }

    /// Sends the request and returns a stream of partial values and of all other events, which ends with JSON that
    /// matches `schema`.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`stream_structured`](Self::stream_structured), and an error of kind
    /// [`InvalidRequest`](crate::ErrorKind::InvalidRequest) if `schema` is not a valid JSON Schema.
    #[cfg(feature = "validate")]
    pub async fn stream_structured_as(
        &self,
        schema: Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<Value>> {
        let request = request.into();
        let shape = Shape::of_schema(schema, &request)?;
        let stream = self.stream(shape.apply_to(request.request)).await?;
        Ok(StructuredStream::new(stream, shape))
    }

    /// Sends the request until a response matches or the retries are used up.
    async fn chat_until_valid<T: DeserializeOwned>(
        &self,
        shape: &Shape,
        structured: StructuredRequest,
    ) -> Result<Structured<T>> {
        let retries = structured.retries.min(MAX_STRUCTURED_RETRIES);
        let is_chosen = structured.request.output_strategy.is_some();
        let mut request = shape.apply_to(structured.request);
        // Checked here, because a request that a call only borrows is not levelled there.
        depth::check(&mut request)?;
        let mut failures: Vec<Error> = Vec::new();
        let mut spent: Option<(Usage, Option<Cost>)> = None;
        loop {
            let attempts = u32::try_from(failures.len()).unwrap_or(u32::MAX).saturating_add(1);
            let response = self.chat(&request).await?;
            let (usage, cost) = add_spent(spent.take(), &response);
            match shape.parse(&response, None) {
                Ok(data) => {
                    let strategy = response.output_strategy;
                    return Ok(Structured { data, response, strategy, attempts, usage, cost });
                }
                Err(invalid) if invalid.is_correctable && attempts <= retries => {
                    if invalid.is_not_json() && !is_chosen {
                        request.output_strategy = Some(OutputStrategy::Prompt);
                    }
                    append_correction(&mut request, &response, &invalid.message);
                    failures.push(invalid.into_error(response));
                    spent = Some((usage, cost));
                }
                Err(invalid) => return Err(invalid.into_error(response).with_causes(failures)),
            }
        }
    }
}

/// Returns the tokens and the cost of all calls so far.
fn add_spent(
    spent: Option<(Usage, Option<Cost>)>,
    response: &ChatResponse,
) -> (Usage, Option<Cost>) {
    match spent {
        None => (response.usage.clone(), response.cost.clone()),
        Some((usage, cost)) => {
            let cost = cost.zip(response.cost.clone()).map(|(sum, more)| sum.plus(&more));
            (usage.plus(&response.usage), cost)
        }
    }
}

/// Appends the response and the reason why it was rejected to the conversation.
fn append_correction(request: &mut ChatRequest, response: &ChatResponse, why: &str) {
    request.messages.push(response.clone().into_message());
    request.messages.push(correction(why));
}

/// Returns the message that asks the model to correct its response.
pub(crate) fn correction(why: &str) -> ChatMessage {
    ChatMessage::user(format!(
        "Your response could not be used: {why}. Respond again with the complete JSON and nothing else."
    ))
}
