//! Tools that run here.

mod arguments;
mod client;
mod context;
mod error;
mod fingerprint;
mod handler;
mod output;
mod result;
mod set;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use arguments::Checker;
pub use client::{
    CommandOutput, ComputerAction, ComputerCall, MemoryCall, PatchCall, Point, SafetyCheck,
    ShellCall, TextEditorCall,
};
pub(super) use context::Resources;
pub use context::{RunData, ToolContext};
pub use error::ToolError;
pub use handler::ToolHandler;
use handler::{Dynamic, Typed};
pub use output::ToolOutput;
pub use result::{ToolResult, ToolStatus};
pub use set::{ToolSet, ToolSource};

use super::approval::Policy;
use crate::chat::{CacheControl, FunctionDefinition, ToolDefinition};
use crate::error::{Error, Result};
use crate::limits::{MAX_TOOL_RETRIES, TOOL_TIMEOUT};
use crate::nesting;

/// A line that says what a call is about, from as much of its arguments as is there.
pub(super) type StatusLine = Arc<dyn Fn(&Value) -> Option<String> + Send + Sync>;

/// A tool that the model may call and that runs here: what it is called, what it takes, and what it does.
///
/// It is cheap to clone.
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
///         return Err(ToolError::new("there is nothing to add"));
///     }
///     Ok(args.numbers.iter().sum::<f64>())
/// });
/// assert_eq!(sum.name(), "sum");
/// ```
#[derive(Clone)]
pub struct Tool {
    definition: Arc<FunctionDefinition>,
    /// `None`: the caller runs it, and gives the result when the run waits for it.
    handler: Option<Arc<dyn ToolHandler>>,
    /// Why it cannot be used, if its schema is none. A run that is given it says so before it asks anybody.
    checker: Result<Checker>,
    /// The server that runs it, if one does: part of what it is.
    origin: Option<Arc<str>>,
    pub(super) policy: Option<Policy>,
    pub(super) reviewed: bool,
    pub(super) sequential: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) retries: u32,
    pub(super) max_output_chars: Option<usize>,
    pub(super) status: Option<StatusLine>,
    cache_control: Option<CacheControl>,
    /// Brings the arguments of a provider that defines the tool to the form that the handler takes.
    normalize: Option<client::Normalize>,
    /// Further names under which providers that define the tool call it.
    aliases: client::Aliases,
}

impl Tool {
    /// A tool from a function. Its schema is that of `Args`, with what the comments on its fields say.
    ///
    /// What the function returns becomes the result: text as it is, a [`ToolOutput`] with its parts, anything else as
    /// JSON. An error is told to the model, and the run goes on.
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
            parameters: Some(schema_of::<Args>()),
            ..FunctionDefinition::default()
        };
        Self::with_handler(definition, Typed::new(function))
    }

    /// A tool from a JSON Schema, whose arguments are known only when it runs. They match the schema then.
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

    /// A tool that `handler` runs.
    pub fn with_handler(definition: FunctionDefinition, handler: impl ToolHandler) -> Self {
        Self::build(definition, Some(Arc::new(handler)))
    }

    /// A tool that the caller runs: a run in which it is called [waits](super::StopReason::Waiting), and is resumed with
    /// the result.
    pub fn external(definition: FunctionDefinition) -> Self {
        Self::build(definition, None)
    }

    /// Binds the tool to the server that runs it.
    #[cfg(any(feature = "mcp", test))]
    pub(super) fn served_by(mut self, identity: &str) -> Self {
        self.origin = Some(Arc::from(identity));
        self
    }

    /// Replaces what runs the tool.
    #[cfg(feature = "mcp")]
    pub(super) fn run_by(mut self, handler: impl ToolHandler) -> Self {
        self.handler = Some(Arc::new(handler));
        self
    }

    fn build(mut definition: FunctionDefinition, handler: Option<Arc<dyn ToolHandler>>) -> Self {
        let parameters = definition.parameters.get_or_insert_with(no_parameters);
        let place = format!("the schema of the tool `{}`", definition.name);
        let checker = nesting::check_schema(&place, parameters)
            .and_then(|()| Checker::new(&definition.name, parameters));
        Self {
            definition: Arc::new(definition),
            handler,
            checker,
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.definition.name
    }

    /// What the model is told of it.
    pub fn definition(&self) -> &FunctionDefinition {
        &self.definition
    }

    /// Whether the caller runs it.
    pub fn is_external(&self) -> bool {
        self.handler.is_none()
    }

    /// Under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.definition).name = name.into();
        self
    }

    /// Asks hosts that can to keep the model to the schema exactly.
    #[must_use]
    pub fn strict(mut self) -> Self {
        Arc::make_mut(&mut self.definition).strict = Some(true);
        self
    }

    /// Sets whether it may run unasked. Without this, what the [agent](super::Agent::default_policy) says counts.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Its results are shown to the [approver](super::Approver) before the model sees them.
    #[must_use]
    pub fn reviewed(mut self) -> Self {
        self.reviewed = true;
        self
    }

    /// While it runs, nothing else of its run does.
    #[must_use]
    pub fn sequential(mut self) -> Self {
        self.sequential = true;
        self
    }

    /// Sets how long a try may take; [`TOOL_TIMEOUT`] without this. The model is told when it took too long.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets a try take as long as it likes.
    #[must_use]
    pub fn no_timeout(mut self) -> Self {
        self.timeout = None;
        self
    }

    /// Tries again, up to so many times ([`MAX_TOOL_RETRIES`] at most), what failed with a
    /// [transient](ToolError::transient) error, after waits that grow. Whatever else went wrong is not tried again: the
    /// tool may have done half of its work.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries.min(MAX_TOOL_RETRIES);
        self
    }

    /// Sets how much text of a result the model sees, in characters: of longer ones the beginning and the end. The
    /// whole is [kept aside](ToolResult::full).
    #[must_use]
    pub fn max_output_chars(mut self, chars: usize) -> Self {
        self.max_output_chars = Some(chars);
        self
    }

    /// Says what a call is about, for people who watch: from as much of the arguments as the model has written so far.
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
    #[must_use]
    pub fn cache(mut self, marker: CacheControl) -> Self {
        self.cache_control = Some(marker);
        self
    }

    /// The definition, to be sent.
    pub(super) fn to_definition(&self) -> ToolDefinition {
        ToolDefinition::Function {
            function: (*self.definition).clone(),
            cache_control: self.cache_control,
        }
    }

    /// Why it cannot be used, if it cannot.
    pub(super) fn problem(&self) -> Option<&Error> {
        self.checker.as_ref().err()
    }

    /// Whether providers that define the tool call it by this name.
    fn is_also(&self, name: &str) -> bool {
        self.aliases.contains(name)
    }

    /// Whether the provider wants a person to look at a call with these arguments before it is done.
    pub(super) fn needs_person(&self, arguments: &str) -> bool {
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

    /// The arguments of a call, if they are JSON and match the schema; else why not, for the model.
    pub(super) fn read(&self, arguments: &str) -> Result<Value, String> {
        match &self.checker {
            Ok(checker) => checker.read(arguments, self.normalize),
            Err(error) => Err(error.message().to_owned()),
        }
    }
}

/// A function that makes the tool: what [`#[tool]`](macro@crate::tool) leaves under the function's name.
impl<F: Fn() -> Self> From<F> for Tool {
    fn from(make: F) -> Self {
        make()
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// A schema for which hosts have no questions.
fn schema_of<T: JsonSchema>() -> Value {
    let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("title");
        // `()` and empty structs ask for nothing; hosts want to read that of an object.
        if fields.get("type").is_none_or(|kind| kind == "null") && !fields.contains_key("$ref") {
            return match fields.contains_key("anyOf") || fields.contains_key("oneOf") {
                true => schema,
                false => no_parameters(),
            };
        }
    }
    schema
}

fn no_parameters() -> Value {
    serde_json::json!({ "type": "object", "properties": {} })
}
