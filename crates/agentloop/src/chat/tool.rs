//! Tools that a model may call.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use super::client_tool::ClientTool;
use super::server_tool::{
    CodeExecutionTool, FileSearchTool, ServerTool, WebFetchTool, WebSearchTool,
};
use crate::chat::CacheControl;

/// A tool that the model may call.
///
/// ```
/// use agentloop::ToolDefinition;
/// use serde_json::json;
///
/// let tool = ToolDefinition::function("get_weather", json!({
///     "type": "object",
///     "properties": {"city": {"type": "string"}},
///     "required": ["city"]
/// }))
/// .with_description("The weather of a city");
/// assert_eq!(tool.name(), Some("get_weather"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolDefinition {
    /// A function that the caller runs.
    Function {
        /// The function.
        function: FunctionDefinition,
        /// Asks the provider to cache the prompt up to and including this tool.
        cache_control: Option<CacheControl>,
    },
    /// A tool that the provider runs itself, in one form for every provider.
    Server(ServerTool),
    /// A tool of another `type`, in a provider's own format. It is sent unchanged to providers that know the format:
    /// those whose protocol has such a `type`, or the one that a field `provider` names. For other providers it is
    /// translated if it means the same as a [`ServerTool`], else left out with a warning. In a protocol that names
    /// tools by a field, as in `{"googleSearch": {}}`, the `type` is the name of that field, and the other fields are
    /// put into it.
    Provider(Map<String, Value>),
}

/// A function that the caller runs.
///
/// ```
/// use agentloop::FunctionDefinition;
///
/// let function: FunctionDefinition = serde_json::from_str(r#"{"name":"now","description":"The time"}"#)?;
/// assert_eq!(function.name, "now");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct FunctionDefinition {
    /// The name: letters, digits, `_` and `-`.
    pub name: String,
    /// A description for the model.
    pub description: Option<String>,
    /// The parameters, as a JSON Schema.
    pub parameters: Option<Value>,
    /// Whether the model must keep to the schema exactly.
    pub strict: Option<bool>,
    /// Marks a tool that some providers define themselves. Those providers get their own declaration instead.
    pub client_tool: Option<Box<ClientTool>>,
}

impl ToolDefinition {
    /// Creates a function with these parameters (a JSON Schema).
    pub fn function(name: impl Into<String>, parameters: Value) -> Self {
        Self::Function {
            function: FunctionDefinition {
                name: name.into(),
                parameters: Some(parameters),
                ..FunctionDefinition::default()
            },
            cache_control: None,
        }
    }

    /// Creates a tool in the format of `provider`, which is sent to that provider only.
    ///
    /// ```
    /// use agentloop::ToolDefinition;
    /// use serde_json::json;
    ///
    /// let bash = ToolDefinition::of_provider("anthropic", "bash_20250124", json!({"name": "bash"}));
    /// assert_eq!(
    ///     serde_json::to_value(&bash)?,
    ///     json!({"type": "bash_20250124", "provider": "anthropic", "name": "bash"})
    /// );
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn of_provider(
        provider: impl Into<String>,
        kind: impl Into<String>,
        options: Value,
    ) -> Self {
        let mut fields = match options {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        fields.insert("type".to_owned(), Value::String(kind.into()));
        fields.insert("provider".to_owned(), Value::String(provider.into()));
        Self::Provider(fields)
    }

    /// Creates a web search tool without options.
    pub fn web_search() -> Self {
        WebSearchTool::default().into()
    }

    /// Creates a tool that reads pages whose URLs are in the conversation, without options.
    pub fn web_fetch() -> Self {
        WebFetchTool::default().into()
    }

    /// Creates a tool that runs the model's code, without options.
    pub fn code_execution() -> Self {
        CodeExecutionTool::default().into()
    }

    /// Creates a tool that searches these stores of files.
    pub fn file_search<T: Into<String>>(stores: impl IntoIterator<Item = T>) -> Self {
        FileSearchTool::of(stores).into()
    }

    /// Sets the description of a function.
    #[must_use]
    pub fn with_description(mut self, text: impl Into<String>) -> Self {
        if let Self::Function { function, .. } = &mut self {
            function.description = Some(text.into());
        }
        self
    }

    /// Sets whether the model must keep to the schema of a function exactly.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        if let Self::Function { function, .. } = &mut self {
            function.strict = Some(strict);
        }
        self
    }

    /// Returns the name of a function, or `None` for a provider's own tool.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Function { function, .. } => Some(&function.name),
            Self::Server(_) | Self::Provider(_) => None,
        }
    }
}

impl From<ServerTool> for ToolDefinition {
    fn from(tool: ServerTool) -> Self {
        Self::Server(tool)
    }
}

impl From<WebSearchTool> for ToolDefinition {
    fn from(tool: WebSearchTool) -> Self {
        Self::Server(ServerTool::WebSearch(tool))
    }
}

impl From<WebFetchTool> for ToolDefinition {
    fn from(tool: WebFetchTool) -> Self {
        Self::Server(ServerTool::WebFetch(tool))
    }
}

impl From<CodeExecutionTool> for ToolDefinition {
    fn from(tool: CodeExecutionTool) -> Self {
        Self::Server(ServerTool::CodeExecution(tool))
    }
}

impl From<FileSearchTool> for ToolDefinition {
    fn from(tool: FileSearchTool) -> Self {
        Self::Server(ServerTool::FileSearch(tool))
    }
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[skip_serializing_none]
        #[derive(Serialize)]
        struct Form<'a> {
            r#type: &'static str,
            function: &'a FunctionDefinition,
            cache_control: Option<CacheControl>,
        }
        match self {
            Self::Function { function, cache_control } => {
                Form { r#type: "function", function, cache_control: *cache_control }
                    .serialize(serializer)
            }
            Self::Server(tool) => tool.serialize(serializer),
            Self::Provider(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolDefinition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Form {
            #[serde(rename = "type")]
            _type: String,
            function: FunctionDefinition,
            #[serde(default)]
            cache_control: Option<CacheControl>,
        }
        let fields = Map::deserialize(deserializer)?;
        match fields.get("type").and_then(Value::as_str) {
            Some("function") => {
                let form: Form =
                    serde_json::from_value(Value::Object(fields)).map_err(de::Error::custom)?;
                Ok(Self::Function { function: form.function, cache_control: form.cache_control })
            }
            Some(kind)
                if ServerTool::is_kind(kind)
                    && fields.get("provider").is_none_or(Value::is_null) =>
            {
                ServerTool::read(fields).map(Self::Server).map_err(de::Error::custom)
            }
            Some(_) => Ok(Self::Provider(fields)),
            None => Err(de::Error::missing_field("type")),
        }
    }
}

/// Whether the model may, must or must not call tools.
///
/// ```
/// use agentloop::{ChatRequest, ToolChoice};
///
/// let request = ChatRequest::new("openai/gpt-4.1").user("Oslo?").tool_choice(ToolChoice::function("get_weather"));
/// assert_eq!(request.tool_choice, Some(ToolChoice::Function("get_weather".to_owned())));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model may call tools.
    Auto,
    /// The model must call at least one tool.
    Required,
    /// The model must not call tools.
    None,
    /// The model must call this tool.
    Function(String),
    /// Another form, in the provider's own format. It is sent unchanged.
    Provider(Map<String, Value>),
}

impl ToolChoice {
    /// Creates a choice that makes the model call this tool.
    pub fn function(name: impl Into<String>) -> Self {
        Self::Function(name.into())
    }
}

impl Serialize for ToolChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Named<'a> {
            r#type: &'static str,
            function: Name<'a>,
        }
        #[derive(Serialize)]
        struct Name<'a> {
            name: &'a str,
        }
        match self {
            Self::Auto => serializer.serialize_str("auto"),
            Self::Required => serializer.serialize_str("required"),
            Self::None => serializer.serialize_str("none"),
            Self::Function(name) => {
                Named { r#type: "function", function: Name { name } }.serialize(serializer)
            }
            Self::Provider(fields) => fields.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ToolChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            Fields(Map<String, Value>),
        }
        match Form::deserialize(deserializer)? {
            Form::Word(word) => match word.as_str() {
                "auto" => Ok(Self::Auto),
                "required" | "any" => Ok(Self::Required),
                "none" => Ok(Self::None),
                other => Err(de::Error::custom(format!(
                    "unknown tool_choice `{other}`; known values: auto, required, none and \
                     {{\"type\":\"function\",\"function\":{{\"name\":…}}}}"
                ))),
            },
            Form::Fields(fields) => {
                let name = fields.get("function").and_then(|function| function.get("name"));
                match (fields.get("type").and_then(Value::as_str), name.and_then(Value::as_str)) {
                    (Some("function"), Some(name)) => Ok(Self::Function(name.to_owned())),
                    (Some("function"), None) => Err(de::Error::missing_field("function.name")),
                    _ => Ok(Self::Provider(fields)),
                }
            }
        }
    }
}
