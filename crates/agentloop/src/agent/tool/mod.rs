//! Tools that the agent runs.

mod client;
mod context;
mod error;
mod fingerprint;
mod handler;
mod output;
mod result;
mod set;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use client::{
    CommandOutput, ComputerAction, ComputerCall, MemoryCall, PatchCall, Point, SafetyCheck,
    ShellCall, TextEditorCall,
};
pub(super) use context::Resources;
pub use context::{RunData, ToolContext};
pub use error::ToolError;
#[cfg(feature = "validate")]
use handler::Dynamic;
pub use handler::ToolHandler;
use handler::Typed;
pub use output::ToolOutput;
pub use result::{ToolResult, ToolStatus};
pub use set::{ToolSet, ToolSource};

use super::approval::Policy;
use crate::chat::{CacheControl, FunctionDefinition, ToolDefinition};
use crate::error::{Error, Result};
use crate::history::depth;
use crate::limits::{MAX_TOOL_RETRIES, TOOL_TIMEOUT};
use crate::structured::{Judge, drop_optional_nulls};

/// Makes the status line of a call from its arguments so far.
pub(super) type StatusLine = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// A tool that the model can call: a definition that the model sees and a handler that runs the calls.
///
/// It is cheap to clone. [`#[tool]`](macro@crate::tool) makes a tool from a function.
///
/// ```
/// use agentloop::agent::{Tool, ToolError};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Sum {
///     /// The numbers to add.
///     numbers: Vec<f64>,
/// }
///
/// let sum = Tool::new("sum", "Adds numbers", |args: Sum, _| async move {
///     if args.numbers.is_empty() {
///         return Err(ToolError::new("no numbers were given"));
///     }
///     Ok(args.numbers.iter().sum::<f64>())
/// });
/// assert_eq!(sum.name(), "sum");
/// ```
#[derive(Clone)]
pub struct Tool {
    definition: Arc<FunctionDefinition>,
    /// `None` if the caller runs the tool and supplies the result.
    handler: Option<Arc<dyn ToolHandler>>,
    /// An error if the schema is not valid. A run with such a tool fails before it sends anything.
    judge: Result<Judge>,
    /// The server or the program that runs the tool, if there is one. It is part of the fingerprint.
    origin: Option<Arc<str>>,
    pub(super) policy: Option<Policy>,
    pub(super) reviewed: bool,
    pub(super) sequential: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) retries: u32,
    pub(super) max_output_chars: Option<usize>,
    pub(super) status: Option<StatusLine>,
    cache_control: Option<CacheControl>,
    /// Converts the arguments of a provider that defines the tool to the form of the schema.
    normalize: Option<client::Normalize>,
    /// Further names that providers use for the tool.
    aliases: client::Aliases,
}

impl Tool {
    /// Creates a tool from a function. The schema is generated from `Args`; doc comments on its fields become descriptions.
    /// Arguments that are not an `Args` are a failure that the model sees, and the function is not called.
    ///
    /// The return value becomes the result: text unchanged, a [`ToolOutput`] with its parts, anything else as JSON. If the
    /// function returns an error, the model receives it and the run continues.
    pub fn new<Args, Output, F, Running>(
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Self
    where
        Args: DeserializeOwned + JsonSchema + Send + 'static,
        Output: Serialize + 'static,
        F: Fn(Args, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let definition = FunctionDefinition {
            name: name.into(),
            description: Some(description.into()),
            parameters: Some(generate_schema::<Args>()),
            ..FunctionDefinition::default()
        };
        Self::typed::<Args>(definition, Typed::<Args, F>::new(function))
    }

    /// Creates a tool from a JSON Schema that is known only at run time. The function receives arguments that match the
    /// schema.
    #[cfg(feature = "validate")]
    pub fn dynamic<Output, F, Running>(
        name: impl Into<String>,
        description: impl Into<String>,
        parameters: Value,
        function: F,
    ) -> Self
    where
        Output: Serialize + 'static,
        F: Fn(Value, ToolContext) -> Running + Send + Sync + 'static,
        Running: Future<Output = Result<Output, ToolError>> + Send + 'static,
    {
        let definition = FunctionDefinition {
            name: name.into(),
            description: Some(description.into()),
            parameters: Some(parameters),
            ..FunctionDefinition::default()
        };
        Self::with_handler(definition, Dynamic(function))
    }

    /// Creates a tool whose calls `handler` runs.
    #[cfg(feature = "validate")]
    pub fn with_handler(definition: FunctionDefinition, handler: impl ToolHandler) -> Self {
        Self::checked(definition, Some(Arc::new(handler)))
    }

    /// Creates a tool that the caller runs. A run in which it is called [waits](super::StopReason::Waiting) and is resumed
    /// with the result.
    #[cfg(feature = "validate")]
    pub fn external(definition: FunctionDefinition) -> Self {
        Self::checked(definition, None)
    }

    setters! {
        /// Sets what runs the tool: a server, a program. It is part of the [fingerprint](Self::fingerprint), so approval of the tool
        /// does not apply to a tool of the same name that something else runs.
        ///
        /// ```
        /// # use agentloop::agent::Tool;
        /// # use serde_json::{Value, json};
        /// let tool = |program: &str| {
        ///     Tool::dynamic("weather", "Returns the weather", json!({"type": "object"}), |_: Value, _| async { Ok("…") }).origin(program)
        /// };
        /// assert_ne!(tool("/usr/bin/weather").fingerprint(), tool("/tmp/weather").fingerprint());
        /// ```
        origin(self, identity: &str) => self.origin = Some(Arc::from(identity));
    }

    /// Replaces the handler.
    #[cfg(feature = "mcp")]
    pub(super) fn replace_handler(mut self, handler: impl ToolHandler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    /// Creates a tool whose arguments are an `Args`.
    fn typed<Args: DeserializeOwned>(
        definition: FunctionDefinition,
        handler: impl ToolHandler,
    ) -> Self {
        Self::build(definition, Some(Arc::new(handler)), Judge::of_type::<Args>)
    }

    /// Creates a tool whose arguments are checked against its schema.
    #[cfg(feature = "validate")]
    fn checked(definition: FunctionDefinition, handler: Option<Arc<dyn ToolHandler>>) -> Self {
        Self::build(definition, handler, Judge::of_schema)
    }

    fn build(
        mut definition: FunctionDefinition,
        handler: Option<Arc<dyn ToolHandler>>,
        judge: impl FnOnce(&str, &Value) -> Result<Judge>,
    ) -> Self {
        let parameters = definition.parameters.get_or_insert_with(no_parameters);
        let place = format!("the schema of the tool `{}`", definition.name);
        let judge =
            depth::check_schema(&place, parameters).and_then(|()| judge(&place, parameters));
        Self {
            definition: Arc::new(definition),
            handler,
            judge,
            origin: None,
            policy: None,
            reviewed: false,
            sequential: false,
            timeout: Some(TOOL_TIMEOUT),
            retries: 0,
            max_output_chars: None,
            status: None,
            cache_control: None,
            normalize: None,
            aliases: client::Aliases::default(),
        }
    }

    /// Returns the name of the tool.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// Returns the definition that the model sees.
    pub fn definition(&self) -> &FunctionDefinition {
        &self.definition
    }

    /// Returns whether the caller runs the tool.
    pub fn is_external(&self) -> bool {
        self.handler.is_none()
    }

    setters! {
        /// Sets the name of the tool.
        named(self, name: impl Into<String>) =>
            Arc::make_mut(&mut self.definition).name = name.into();

        /// Requests strict mode: providers that support it make the model's arguments match the schema exactly.
        strict(self) => Arc::make_mut(&mut self.definition).strict = Some(true);

        /// Sets whether calls need approval. The default is the [default policy](super::Agent::default_policy) of the agent.
        policy(policy: Policy);

        /// Passes the results to the [approver](super::Approver::review) before the model sees them.
        reviewed(self) => self.reviewed = true;

        /// Runs the calls of the tool alone: no other call of the run is active at the same time.
        sequential(self) => self.sequential = true;

        /// Sets how long an attempt may take. The default is five minutes. The model receives a timeout as the result.
        timeout(timeout: Duration);

        /// Removes the time limit of an attempt.
        no_timeout(self) => self.timeout = None;

        /// Sets how many times a call that failed with a [transient](ToolError::transient) error is retried. The default is 0,
        /// the maximum 10, and the delays grow. Other failures are not retried, because the tool may have done
        /// a part of its work.
        retries(self, retries: u32) => self.retries = retries.min(MAX_TOOL_RETRIES);

        /// Sets how many characters of a result the model sees. Of a longer result it sees the beginning and the end, and
        /// [`ToolResult::full`] holds the complete result.
        max_output_chars(self, chars: usize) => self.max_output_chars = Some(chars);
    }

    /// Sets a function that describes a call for users while the model writes it. It receives the arguments so far.
    ///
    /// ```
    /// # use agentloop::agent::{Tool, ToolError};
    /// # use serde_json::{Value, json};
    /// let read = Tool::dynamic("read", "Reads a file", json!({"type": "object"}), |_: Value, _| async { Ok("…") })
    ///     .status(|args| Some(format!("Reading {}", args.get("path")?.as_str()?)));
    /// ```
    #[must_use]
    pub fn status(
        mut self,
        line: impl Fn(&Value) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.status = Some(Arc::new(line));
        self
    }

    setters! {
        /// Asks the provider to cache the prompt up to and including this tool. Tools come before everything else in a
        /// prompt, so a marker on the last one caches them all.
        ///
        /// ```
        /// # use agentloop::CacheControl;
        /// # use agentloop::agent::{Tool, ToolError};
        /// # use serde_json::{Value, json};
        /// let last = Tool::dynamic("now", "Returns the time", json!({"type": "object"}), |_: Value, _| async { Ok("12:00") })
        ///     .cache(CacheControl::EphemeralHour);
        /// ```
        cache(self, marker: CacheControl) => self.cache_control = Some(marker);
    }

    /// Returns the definition to send.
    pub(super) fn to_definition(&self) -> ToolDefinition {
        ToolDefinition::Function {
            function: (*self.definition).clone(),
            cache_control: self.cache_control,
        }
    }

    /// Returns why the tool cannot be used.
    pub(super) fn problem(&self) -> Option<&Error> {
        self.judge.as_ref().err()
    }

    /// Returns whether a provider uses this name for the tool.
    fn has_alias(&self, name: &str) -> bool {
        self.aliases.contains(name)
    }

    /// Returns whether the provider requires approval of a call with these arguments.
    pub(super) fn requires_approval(&self, arguments: &str) -> bool {
        let is_computer = self
            .definition
            .client_tool
            .as_ref()
            .is_some_and(|client| client.kind == Some(crate::chat::ClientToolKind::Computer));
        is_computer
            && serde_json::from_str::<ComputerCall>(arguments)
                .is_ok_and(|call| !call.pending_safety_checks.is_empty())
    }

    pub(super) fn handler(&self) -> Option<&Arc<dyn ToolHandler>> {
        self.handler.as_ref()
    }

    /// Parses and checks the arguments of a call. The error is a message for the model.
    pub(super) fn parse_arguments(&self, arguments: &str) -> Result<Value, String> {
        let judge = self.judge.as_ref().map_err(|error| error.message().to_owned())?;
        let text = arguments.trim();
        let mut value: Value = serde_json::from_str(if text.is_empty() { "{}" } else { text })
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        if let Some(normalize) = self.normalize {
            value = normalize(value);
        }
        // Strict modes fill optional properties with null.
        if let Some(schema) = &self.definition.parameters {
            drop_optional_nulls(schema, &mut value);
        }
        judge.check(&value).map_err(|why| format!("the arguments do not match {why}"))?;
        Ok(value)
    }
}

/// Calls a function that makes the tool, such as the one that [`#[tool]`](macro@crate::tool) generates.
impl<F: Fn() -> Self> From<F> for Tool {
    fn from(make: F) -> Self {
        make()
    }
}

shown! { Tool: self { definition: self.definition } }

/// Generates the schema of a type in the form that every provider accepts.
fn generate_schema<T: JsonSchema>() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("title");
        // `()` and empty structs have no parameters; providers require an object schema for that.
        if fields.get("type").is_none_or(|kind| kind == "null") && !fields.contains_key("$ref") {
            return if fields.contains_key("anyOf") || fields.contains_key("oneOf") {
                schema
            } else {
                no_parameters()
            };
        }
    }
    schema
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}
