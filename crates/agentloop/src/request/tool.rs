//! Tools that a model may call.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::response::CacheControl;

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
    /// A tool of another `type`, in the provider's own words: one that the provider runs itself, or a kind
    /// that only some providers know. It is sent untouched; where a protocol names tools by a field of their own, as
    /// `{"googleSearch": {}}`, the `type` names that field and what stands beside it is put there.
    Provider(Map<String, Value>),
}

/// A function that the caller runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionDefinition {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// What it does, for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Its parameters, as a JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// Whether the model must keep to the schema exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl ToolDefinition {
    /// A function with these parameters (a JSON Schema).
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

    /// The same, described.
    #[must_use]
    pub fn with_description(mut self, text: impl Into<String>) -> Self {
        if let Self::Function { function, .. } = &mut self {
            function.description = Some(text.into());
        }
        self
    }

    /// The same, with a schema that the model must keep to.
    #[must_use]
    pub fn with_strict(mut self, strict: bool) -> Self {
        if let Self::Function { function, .. } = &mut self {
            function.strict = Some(strict);
        }
        self
    }

    /// The function's name; `None` for a provider's own tool.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Function { function, .. } => Some(&function.name),
            Self::Provider(_) => None,
        }
    }
}

impl Serialize for ToolDefinition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            r#type: &'static str,
            function: &'a FunctionDefinition,
            #[serde(skip_serializing_if = "Option::is_none")]
            cache_control: Option<CacheControl>,
        }
        match self {
            Self::Function { function, cache_control } => {
                Form { r#type: "function", function, cache_control: *cache_control }
                    .serialize(serializer)
            }
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
            Some(_) => Ok(Self::Provider(fields)),
            None => Err(de::Error::missing_field("type")),
        }
    }
}

/// Whether the model may, must or must not call tools.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It must call at least one.
    Required,
    /// It must not.
    None,
    /// It must call this one.
    Function(String),
    /// Another form, in the provider's own words. It is sent untouched.
    Provider(Map<String, Value>),
}

impl ToolChoice {
    /// The model must call this tool.
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
                    "unknown tool_choice `{other}`; known are auto, required, none and \
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
