//! What runs a tool.

use std::future::Future;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ToolContext, ToolError, ToolOutput};
use crate::transport::BoxFuture;

/// What runs a tool, for tools that are more than a function: [`Tool::with_handler`](super::Tool::with_handler) takes it.
///
/// - The arguments are JSON that matches the tool's schema.
/// - Dropping the future must stop the work; work that goes on elsewhere watches
///   [`cancel_token`](ToolContext::cancel_token).
/// - It is called once for each call of the model, and again only for the tool's own
///   [retries](super::Tool::retries).
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs the tool.
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// A function of arguments of its own type.
pub(super) struct Typed<Args, F>(F, PhantomData<fn(Args)>);

impl<Args, F> Typed<Args, F> {
    pub(super) fn new(function: F) -> Self {
        Self(function, PhantomData)
    }
}

impl<Args, Output, F, Running> ToolHandler for Typed<Args, F>
where
    Args: DeserializeOwned + Send + 'static,
    Output: Serialize + 'static,
    F: Fn(Args, ToolContext) -> Running + Send + Sync + 'static,
    Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        match serde_json::from_value(arguments) {
            Ok(arguments) => {
                let running = (self.0)(arguments, context);
                Box::pin(async move { output(running.await?) })
            }
            // The schema was kept to, and the type is narrower still.
            Err(error) => Box::pin(std::future::ready(Err(ToolError::new(format!(
                "the arguments do not fit: {error}"
            ))))),
        }
    }
}

/// A function of any JSON.
pub(super) struct Dynamic<F>(pub(super) F);

impl<Output, F, Running> ToolHandler for Dynamic<F>
where
    Output: Serialize + 'static,
    F: Fn(Value, ToolContext) -> Running + Send + Sync + 'static,
    Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let running = (self.0)(arguments, context);
        Box::pin(async move { output(running.await?) })
    }
}

fn output<T: Serialize + 'static>(value: T) -> Result<ToolOutput, ToolError> {
    ToolOutput::of(value)
        .map_err(|error| ToolError::new(format!("the result cannot be written as JSON: {error}")))
}
