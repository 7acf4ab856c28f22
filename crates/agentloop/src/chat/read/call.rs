//! Tool calls in OpenAI's form.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use super::nullable;
use crate::chat::{FunctionCall, ToolCall};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Function {
    name: String,
    #[serde(default)]
    arguments: Value,
}

impl Function {
    /// Arguments are text; some providers return the object itself, or null if there are none.
    fn into_call(self) -> FunctionCall {
        let arguments = match self.arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            other => other.to_string(),
        };
        FunctionCall { name: self.name, arguments }
    }

    /// Returns the tool call of a message in the form that preceded `tool_calls`. It has no id.
    pub(super) fn into_tool_call(self) -> ToolCall {
        let FunctionCall { name, arguments } = self.into_call();
        ToolCall::new("", name, arguments)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Custom {
    name: String,
    #[serde(default, deserialize_with = "nullable")]
    input: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    #[serde(default, deserialize_with = "nullable")]
    id: String,
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    function: Option<Function>,
    #[serde(default)]
    custom: Option<Custom>,
    /// The index in the list, which is known from the list itself.
    #[serde(default, rename = "index")]
    _index: Option<Value>,
    #[serde(default)]
    extra_content: Option<Value>,
}

impl<'de> Deserialize<'de> for ToolCall {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Form { id, r#type, function, custom, extra_content, .. } =
            Form::deserialize(deserializer)?;
        let (kind, function) = match (r#type.as_deref(), function, custom) {
            (None | Some("function"), Some(function), None) => ("function", function.into_call()),
            (None | Some("custom"), None, Some(custom)) => {
                ("custom", FunctionCall { name: custom.name, arguments: custom.input })
            }
            (Some(other), ..) if !matches!(other, "function" | "custom") => {
                return Err(de::Error::custom(format!(
                    "unknown type `{other}` of a tool call; known types: function, custom"
                )));
            }
            (Some("custom"), ..) => return Err(de::Error::missing_field("custom")),
            _ => return Err(de::Error::missing_field("function")),
        };
        Ok(Self { id, kind: kind.to_owned(), function, extra_content })
    }
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Custom<'a> {
            name: &'a str,
            input: &'a str,
        }
        #[skip_serializing_none]
        #[derive(Serialize)]
        struct Form<'a> {
            id: &'a str,
            r#type: &'a str,
            function: Option<&'a FunctionCall>,
            custom: Option<Custom<'a>>,
            extra_content: Option<&'a Value>,
        }
        let FunctionCall { name, arguments } = &self.function;
        let custom = (self.kind == "custom").then_some(Custom { name, input: arguments });
        Form {
            id: &self.id,
            r#type: &self.kind,
            function: custom.is_none().then_some(&self.function),
            custom,
            extra_content: self.extra_content.as_ref(),
        }
        .serialize(serializer)
    }
}
