//! Handlers of tools.

use std::future::Future;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ToolContext, ToolError, ToolOutput};
use crate::transport::BoxFuture;

/// Runs the calls of a tool, for tools that are more than a function. Pass it to
/// [`Tool::with_handler`](super::Tool::with_handler).
///
/// - The arguments are JSON that matches the schema of the tool.
/// - Dropping the future must stop the work. Work that continues elsewhere must watch
///   [`cancel_token`](ToolContext::cancel_token).
/// - The handler is called once for each call of the model, and again only for [retries](super::Tool::retries).
///
/// ```
/// use agentloop::agent::{Tool, ToolContext, ToolError, ToolHandler, ToolOutput};
/// use agentloop::transport::BoxFuture;
/// use agentloop::FunctionDefinition;
/// use serde_json::Value;
///
/// struct Clock;
///
/// impl ToolHandler for Clock {
///     fn call(&self, _: Value, _: ToolContext) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
///         Box::pin(async { Ok(ToolOutput::text("12:00")) })
///     }
/// }
///
/// let mut definition = FunctionDefinition::default();
/// definition.name = "clock".to_owned();
/// assert_eq!(Tool::with_handler(definition, Clock).name(), "clock");
/// ```
pub trait ToolHandler: Send + Sync + 'static {
    /// Runs one call.
    fn call(
        &self,
        arguments: Value,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>>;
}

/// A function with typed arguments.
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
                Box::pin(async move { to_output(running.await?) })
            }
            // They were checked before, so this is only reached by a type that reads the same JSON in two ways.
            Err(error) => Box::pin(std::future::ready(Err(ToolError::new(format!(
                "the arguments do not match the type: {error}"
            ))))),
        }
    }
}

/// A function with JSON arguments.
#[cfg(feature = "validate")]
pub(super) struct Dynamic<F>(pub(super) F);

#[cfg(feature = "validate")]
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
        Box::pin(async move { to_output(running.await?) })
    }
}

fn to_output<T: Serialize + 'static>(value: T) -> Result<ToolOutput, ToolError> {
    ToolOutput::from_value(value).map_err(|error| {
        ToolError::new(format!("the result cannot be serialized as JSON: {error}"))
    })
}
