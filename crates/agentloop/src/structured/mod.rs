//! Answers of a given type: asked for in the best way that the model has, checked, and asked for again.
//!
//! The schema of the type goes to the provider in one of three ways (see [`OutputStrategy`]), the answer is parsed
//! strictly and validated against the schema as it was given, and an answer that does not match is sent back with the
//! reason, a bounded number of times.
//!
//! ```no_run
//! # async fn example() -> agentloop::Result<()> {
//! use agentloop::{AgentLoop, ChatRequest};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct City {
//!     name: String,
//!     inhabitants: u64,
//! }
//!
//! let ai = AgentLoop::from_env();
//! let request = ChatRequest::new("openai/gpt-5.5").user("The largest city of Norway?");
//! let city = ai.chat_structured::<City>(request).await?;
//! println!("{} has {} inhabitants", city.data.name, city.data.inhabitants);
//! # Ok(())
//! # }
//! ```

mod extract;
mod nulls;
mod partial;
pub(crate) mod reasons;
mod request;
mod shape;
mod stream;
mod strict;
mod work;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

#[cfg(feature = "agent")]
pub(crate) use nulls::drop_optional as drop_optional_nulls;
#[cfg(feature = "agent")]
pub(crate) use partial::Partial;
pub use request::{DEFAULT_RETRIES, MAX_RETRIES, StructuredRequest};
pub(crate) use shape::Shape;
pub use stream::{StructuredEvent, StructuredStream};

use crate::chat::{ChatMessage, ChatRequest, ChatResponse, Cost, OutputStrategy, Usage};
use crate::client::AgentLoop;
use crate::error::{Error, Result};
use crate::nesting;

/// An answer of the type that was asked for.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Structured<T> {
    /// The answer.
    pub data: T,
    /// The response that it was read from.
    pub response: ChatResponse,
    /// How the schema was asked for; `None` when something other than this library's encoders answered.
    pub strategy: Option<OutputStrategy>,
    /// How many calls it took.
    pub attempts: u32,
    /// The tokens of all calls together.
    pub usage: Usage,
    /// What all calls cost together; absent when that of one is not known.
    pub cost: Option<Cost>,
}

impl AgentLoop {
    /// Asks for an answer of the type `T`.
    ///
    /// # Errors
    ///
    /// What [`chat`](Self::chat) fails with; and, when the answer is not what was asked for, an error of kind
    /// [`OutputTruncated`](crate::ErrorKind::OutputTruncated), [`OutputRefused`](crate::ErrorKind::OutputRefused),
    /// [`OutputCalledTools`](crate::ErrorKind::OutputCalledTools), [`OutputNotJson`](crate::ErrorKind::OutputNotJson) or
    /// [`OutputMismatch`](crate::ErrorKind::OutputMismatch). [`Error::partial`] is the answer then, with its text and its
    /// usage, and [`Error::causes`] the errors of the tries before.
    pub async fn chat_structured<T: DeserializeOwned + JsonSchema>(
        &self,
        request: impl Into<StructuredRequest>,
    ) -> Result<Structured<T>> {
        let request = request.into();
        let shape = Shape::of::<T>(&request)?;
        self.ask(&shape, request).await
    }

    /// Asks for an answer that matches a JSON Schema.
    ///
    /// # Errors
    ///
    /// As [`chat_structured`](Self::chat_structured); and when `schema` is none.
    pub async fn chat_structured_as(
        &self,
        schema: Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<Structured<Value>> {
        let request = request.into();
        let shape = Shape::new(schema, &request)?;
        self.ask(&shape, request).await
    }

    /// Asks for an answer of the type `T`, and hands it on as it grows.
    ///
    /// # Errors
    ///
    /// When the answer never began. Nothing is asked again once it has.
    pub async fn stream_structured<T: DeserializeOwned + JsonSchema>(
        &self,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<T>> {
        let request = request.into();
        let shape = Shape::of::<T>(&request)?;
        let stream = self.stream(shape.request(request.request)).await?;
        Ok(StructuredStream::new(stream, shape))
    }

    /// Asks for an answer that matches a JSON Schema, and hands it on as it grows.
    ///
    /// # Errors
    ///
    /// As [`stream_structured`](Self::stream_structured); and when `schema` is none.
    pub async fn stream_structured_as(
        &self,
        schema: Value,
        request: impl Into<StructuredRequest>,
    ) -> Result<StructuredStream<Value>> {
        let request = request.into();
        let shape = Shape::new(schema, &request)?;
        let stream = self.stream(shape.request(request.request)).await?;
        Ok(StructuredStream::new(stream, shape))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        shape: &Shape,
        asked: StructuredRequest,
    ) -> Result<Structured<T>> {
        let retries = asked.retries.min(MAX_RETRIES);
        let mut request = shape.request(asked.request);
        // It is sent more than once, and copied for it.
        nesting::check(&mut request)?;
        let mut before: Vec<Error> = Vec::new();
        let mut spent: Option<(Usage, Option<Cost>)> = None;
        loop {
            let attempts = u32::try_from(before.len()).unwrap_or(u32::MAX).saturating_add(1);
            let response = self.chat(request.clone()).await?;
            let (usage, cost) = add(spent.take(), &response);
            match shape.read(&response, None) {
                Ok(data) => {
                    let strategy = response.output_strategy;
                    return Ok(Structured { data, response, strategy, attempts, usage, cost });
                }
                Err(wrong) if wrong.again && attempts <= retries => {
                    again(&mut request, &response, &wrong.message);
                    before.push(wrong.into_error(response));
                    spent = Some((usage, cost));
                }
                Err(wrong) => return Err(wrong.into_error(response).with_causes(before)),
            }
        }
    }
}

/// The tokens and the money of all calls so far.
fn add(spent: Option<(Usage, Option<Cost>)>, response: &ChatResponse) -> (Usage, Option<Cost>) {
    match spent {
        None => (response.usage.clone(), response.cost.clone()),
        Some((usage, cost)) => {
            let cost = cost.zip(response.cost.clone()).map(|(sum, more)| sum.plus(&more));
            (usage.plus(&response.usage), cost)
        }
    }
}

/// The conversation goes on: what was said, and why it will not do.
fn again(request: &mut ChatRequest, response: &ChatResponse, why: &str) {
    request.messages.push(response.clone().into_message());
    request.messages.push(correction(why));
}

/// What the model is told of an answer that will not do.
pub(crate) fn correction(why: &str) -> ChatMessage {
    ChatMessage::user(format!(
        "That answer cannot be used: {why}. Answer again, with the whole JSON and nothing else."
    ))
}
