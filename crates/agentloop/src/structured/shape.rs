//! The schema of a response, and how a response is matched against it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::extract::extract;
use super::judge::Judge;
use super::{StructuredRequest, nulls};
use crate::chat::{
    ChatRequest, ChatResponse, Choice, FinishReason, JsonSchemaFormat, ResponseFormat, ResponsePart,
};
use crate::error::{Error, ErrorKind, Result};
use crate::history::depth;
use crate::limits::MAX_KEPT_DEPTH;
use crate::nesting;
use crate::schema;

/// The longest schema name that every provider accepts.
const MAX_NAME_CHARS: usize = 64;

/// How much of a response that is not JSON an error quotes.
const MAX_QUOTED_CHARS: usize = 80;

/// The schema that a response must match.
pub(crate) struct Shape {
    format: JsonSchemaFormat,
    judge: Judge,
    /// Whether the value may be wrapped in an object: some providers accept only objects at the root.
    wraps: bool,
}

/// Why a response is not valid.
#[derive(Debug)]
pub(crate) struct Invalid {
    kind: ErrorKind,
    pub(crate) message: String,
    /// Whether asking the model again, with the reason, can help.
    pub(crate) is_correctable: bool,
}

impl Invalid {
    fn new(kind: ErrorKind, message: &str) -> Self {
        Self { kind, message: message.to_owned(), is_correctable: false }
    }

    /// Returns whether the response contains no JSON at all.
    pub(crate) fn is_not_json(&self) -> bool {
        self.kind == ErrorKind::OutputNotJson
    }

    pub(crate) fn into_error(self, response: ChatResponse) -> Error {
        let mut message = format!("the response is not valid structured output: {}", self.message);
        let text = response.text();
        if self.is_not_json() && !text.trim().is_empty() {
            let mut characters = text.trim_start().chars();
            let start: String = characters.by_ref().take(MAX_QUOTED_CHARS).collect();
            let more = if characters.next().is_some() { "…" } else { "" };
            message.push_str(&format!("; it begins with {start:?}{more}"));
        }
        let error = Error::new(self.kind, message)
            .with_provider(&response.provider)
            .with_model(&response.model)
            .with_request_id(response.request_id.clone());
        let error = match self.kind {
            ErrorKind::OutputTruncated => error.with_hint("raise `max_tokens`"),
            ErrorKind::OutputCalledTools => error.with_hint(
                "send the results of the calls and try again, or remove the tools from the request",
            ),
            _ => error,
        };
        error.with_partial(response)
    }
}

impl Shape {
    /// Returns the shape of a type.
    pub(crate) fn of<T: JsonSchema + DeserializeOwned>(
        request: &StructuredRequest,
    ) -> Result<Self> {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        let mut shape = Self::build(schema.to_value(), request, |schema| {
            Judge::of_type::<T>("the schema", schema)
        })?;
        if request.name.is_none() {
            shape.format.name = sanitize_name(&T::schema_name());
        }
        Ok(shape)
    }

    /// Returns the shape of a JSON Schema.
    #[cfg(feature = "validate")]
    pub(crate) fn of_schema(schema: Value, request: &StructuredRequest) -> Result<Self> {
        Self::build(schema, request, |schema| Judge::of_schema("the schema", schema))
    }

    fn build(
        mut schema: Value,
        request: &StructuredRequest,
        judge: impl FnOnce(&Value) -> Result<Judge>,
    ) -> Result<Self> {
        depth::check_schema("the schema of the response", &mut schema)?;
        let judge = judge(&schema)?;
        let title = match &mut schema {
            Value::Object(fields) => {
                // Providers do not need the dialect, and some reject it.
                fields.remove("$schema");
                fields.get("title").and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        };
        let given = request.name.clone().or(title).unwrap_or_default();
        Ok(Self {
            wraps: !schema::is_object(&schema),
            format: JsonSchemaFormat {
                name: sanitize_name(&given),
                description: request.description.clone(),
                strict: Some(true),
                schema,
            },
            judge,
        })
    }

    /// Returns the shape for the response format of a request, which must be a JSON Schema. Without a judge the schema decides.
    #[cfg(feature = "agent")]
    pub(crate) fn of_format(format: &ResponseFormat, judge: Option<&Judge>) -> Result<Self> {
        let ResponseFormat::JsonSchema { json_schema } = format else {
            let message = "the `response_format` of the request is not a JSON Schema";
            return Err(Error::new(ErrorKind::InvalidRequest, message));
        };
        let request = StructuredRequest::new(ChatRequest::default());
        let shape = Self::build(json_schema.schema.clone(), &request, |schema| match judge {
            Some(judge) => Ok(judge.clone()),
            None => Judge::of_schema("the schema of the run's output", schema),
        })?;
        Ok(Self { format: json_schema.clone(), ..shape })
    }

    /// Returns what decides whether a value fits.
    #[cfg(feature = "agent")]
    pub(crate) fn judge(&self) -> &Judge {
        &self.judge
    }

    /// Returns the request with the schema as its response format.
    pub(crate) fn apply_to(&self, mut request: ChatRequest) -> ChatRequest {
        request.response_format =
            Some(ResponseFormat::JsonSchema { json_schema: self.format.clone() });
        request
    }

    /// Returns whether the value may be wrapped in an object.
    pub(super) fn wraps(&self) -> bool {
        self.wraps
    }

    /// Removes nulls that only a provider's strict mode put into the value.
    pub(super) fn drop_nulls(&self, value: &mut Value) {
        nulls::drop_optional(&self.format.schema, value);
    }

    /// Parses the response, or only its part with the index `part` if that is given.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        response: &ChatResponse,
        part: Option<usize>,
    ) -> Result<T, Invalid> {
        let invalid = |kind, message| Err(Invalid::new(kind, message));
        let Some(choice) = response.choices.first() else {
            return invalid(ErrorKind::OutputNotJson, "it is empty");
        };
        match choice.finish_reason {
            FinishReason::Length => {
                return invalid(ErrorKind::OutputTruncated, "a token limit cut it off");
            }
            FinishReason::ContentFilter => {
                return invalid(
                    ErrorKind::OutputRefused,
                    "the model refused, or a filter removed it",
                );
            }
            FinishReason::Error => {
                return invalid(ErrorKind::Server, "the provider reported a failure");
            }
            _ => {}
        }
        if choice.tool_calls().next().is_some() {
            return invalid(ErrorKind::OutputCalledTools, "the model called tools instead");
        }
        let value = self.find_value(choice, part)?;
        serde_json::from_value(value)
            .map_err(|error| self.mismatch(format!("it does not fit the type: {error}")))
    }

    /// Returns the value in the response that fits.
    fn find_value(&self, choice: &Choice, part: Option<usize>) -> Result<Value, Invalid> {
        let texts = candidate_texts(choice, part);
        let found = extract(&texts, |value| self.match_value(value).is_ok()).map_err(|why| {
            Invalid { kind: ErrorKind::OutputNotJson, message: why, is_correctable: true }
        })?;
        if nesting::is_deeper(&found, MAX_KEPT_DEPTH) {
            let why = format!("it is nested deeper than {MAX_KEPT_DEPTH} levels");
            return Err(self.mismatch(why));
        }
        let found = match self.match_value(&found) {
            Ok(value) => return Ok(value),
            Err(found) => found,
        };
        let why = self.judge.check(&found).err().unwrap_or_default();
        Err(self.mismatch(format!("it does not match {why}")))
    }

    /// Returns the value without added nulls if it, or the value that it wraps, fits. Otherwise returns the
    /// value that was compared.
    fn match_value(&self, value: &Value) -> Result<Value, Value> {
        let mut whole = value.clone();
        self.drop_nulls(&mut whole);
        if self.judge.accepts(&whole) {
            return Ok(whole);
        }
        if self.wraps
            && let Some(inner) = value.get(schema::WRAPPER)
        {
            let mut inner = inner.clone();
            self.drop_nulls(&mut inner);
            if self.judge.accepts(&inner) {
                return Ok(inner);
            }
        }
        Err(whole)
    }

    fn mismatch(&self, message: String) -> Invalid {
        Invalid { kind: ErrorKind::OutputMismatch, message, is_correctable: true }
    }
}

/// Returns the texts that may contain the value.
fn candidate_texts(choice: &Choice, part: Option<usize>) -> Vec<&str> {
    let is_text = |part: &ResponsePart| matches!(part, ResponsePart::Text(_));
    let chosen = part.and_then(|at| choice.content.get(at)).filter(|part| is_text(part));
    let parts = match chosen {
        Some(part) => std::slice::from_ref(part),
        None => &choice.content,
    };
    parts
        .iter()
        .filter_map(|part| match part {
            ResponsePart::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect()
}

/// Replaces the characters that some provider rejects in a schema name.
fn sanitize_name(name: &str) -> String {
    let is_accepted = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String =
        name.chars().map(|c| if is_accepted(c) { c } else { '_' }).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { "response".to_owned() } else { name }
}
