//! The schema of an answer, and whether an answer matches it.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::extract::extract;
use super::reasons::Matcher;
use super::{StructuredRequest, nulls};
use crate::chat::{
    ChatRequest, ChatResponse, Choice, FinishReason, JsonSchemaFormat, ResponseFormat, ResponsePart,
};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::MAX_KEPT_DEPTH;
use crate::nesting;
use crate::schema;

/// The longest name that every host takes.
const MAX_NAME_CHARS: usize = 64;

/// What an answer must be.
pub(crate) struct Shape {
    format: JsonSchemaFormat,
    matcher: Matcher,
    /// Whether hosts may be sent an object around it.
    wraps: bool,
}

/// Why an answer cannot be used.
#[derive(Debug)]
pub(crate) struct Wrong {
    kind: ErrorKind,
    pub(crate) message: String,
    /// Whether the model may do better when it is told.
    pub(crate) again: bool,
}

impl Wrong {
    fn final_one(kind: ErrorKind, message: &str) -> Self {
        Self { kind, message: message.to_owned(), again: false }
    }

    pub(crate) fn into_error(self, response: ChatResponse) -> Error {
        let error = Error::new(self.kind, format!("the answer cannot be used: {}", self.message))
            .with_provider(&response.provider)
            .with_model(&response.model)
            .with_request_id(response.request_id.clone());
        let error = match self.kind {
            ErrorKind::OutputTruncated => error.with_hint("allow more tokens with `max_tokens`"),
            ErrorKind::OutputCalledTools => {
                error.with_hint("answer the calls and ask again, or ask without tools")
            }
            _ => error,
        };
        error.with_partial(response)
    }
}

impl Shape {
    pub(crate) fn of<T: JsonSchema>(request: &StructuredRequest) -> Result<Self> {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
        let mut shape = Self::new(schema.to_value(), request)?;
        if request.name.is_none() {
            shape.format.name = name(&T::schema_name());
        }
        Ok(shape)
    }

    pub(super) fn new(mut schema: Value, request: &StructuredRequest) -> Result<Self> {
        nesting::check_schema("the schema of the answer", &mut schema)?;
        let matcher = Matcher::new("the schema", &schema)?;
        let title = match &mut schema {
            Value::Object(fields) => {
                // It says which words are meant, which hosts know anyway, or refuse.
                fields.remove("$schema");
                fields.get("title").and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        };
        let called = request.name.clone().or(title).unwrap_or_default();
        Ok(Self {
            wraps: !schema::is_object(&schema),
            format: JsonSchemaFormat {
                name: name(&called),
                description: request.description.clone(),
                strict: Some(true),
                schema,
            },
            matcher,
        })
    }

    /// The shape that a request asks for already; an answer of any form has none.
    #[cfg(feature = "agent")]
    pub(crate) fn of_format(format: &ResponseFormat) -> Result<Self> {
        match format {
            ResponseFormat::JsonSchema { json_schema } => {
                let asked = StructuredRequest::new(ChatRequest::default());
                let shape = Self::new(json_schema.schema.clone(), &asked)?;
                Ok(Self { format: json_schema.clone(), ..shape })
            }
            _ => Err(Error::new(ErrorKind::InvalidRequest, "the request asks for no schema")),
        }
    }

    /// The request, with the schema.
    pub(crate) fn request(&self, mut request: ChatRequest) -> ChatRequest {
        request.response_format =
            Some(ResponseFormat::JsonSchema { json_schema: self.format.clone() });
        request
    }

    /// Whether an answer that stands in a fence may still be wrapped.
    pub(super) fn wraps(&self) -> bool {
        self.wraps
    }

    /// The value as the caller shall see it.
    pub(super) fn tidy(&self, value: &mut Value) {
        nulls::drop_optional(&self.format.schema, value);
    }

    /// Reads the answer: from the part of that number, if one is given.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        response: &ChatResponse,
        part: Option<usize>,
    ) -> Result<T, Wrong> {
        let wrong = |kind, message| Err(Wrong::final_one(kind, message));
        let Some(choice) = response.choices.first() else {
            return wrong(ErrorKind::OutputNotJson, "there is none");
        };
        match choice.finish_reason {
            FinishReason::Length => {
                return wrong(ErrorKind::OutputTruncated, "it was cut by a token limit");
            }
            FinishReason::ContentFilter => {
                return wrong(ErrorKind::OutputRefused, "it was refused or filtered");
            }
            FinishReason::Error => return wrong(ErrorKind::Server, "the provider failed"),
            _ => {}
        }
        if choice.tool_calls().next().is_some() {
            return wrong(ErrorKind::OutputCalledTools, "tools were called instead");
        }
        let value = self.value(choice, part)?;
        serde_json::from_value(value)
            .map_err(|error| self.mismatch(format!("it does not fit the type: {error}")))
    }

    /// The value of an answer that matches the schema.
    fn value(&self, choice: &Choice, part: Option<usize>) -> Result<Value, Wrong> {
        let texts = texts(choice, part);
        let found = extract(&texts, |value| self.fitting(value).is_ok()).map_err(|why| Wrong {
            kind: ErrorKind::OutputNotJson,
            message: why,
            again: true,
        })?;
        if nesting::is_deeper(&found, MAX_KEPT_DEPTH) {
            let why = format!("it nests deeper than {MAX_KEPT_DEPTH} levels");
            return Err(self.mismatch(why));
        }
        let found = match self.fitting(&found) {
            Ok(value) => return Ok(value),
            Err(found) => found,
        };
        let reasons = self.matcher.reasons(&found);
        Err(self.mismatch(format!("it does not match the schema ({reasons})")))
    }

    /// The value as the caller shall see it, if it matches the schema: itself, or what it is wrapped around.
    fn fitting(&self, value: &Value) -> Result<Value, Value> {
        let mut whole = value.clone();
        self.tidy(&mut whole);
        if self.matcher.matches(&whole) {
            return Ok(whole);
        }
        if self.wraps
            && let Some(inner) = value.get(schema::WRAPPER)
        {
            let mut inner = inner.clone();
            self.tidy(&mut inner);
            if self.matcher.matches(&inner) {
                return Ok(inner);
            }
        }
        Err(whole)
    }

    fn mismatch(&self, message: String) -> Wrong {
        Wrong { kind: ErrorKind::OutputMismatch, message, again: true }
    }
}

/// The texts that may hold the answer.
fn texts(choice: &Choice, part: Option<usize>) -> Vec<&str> {
    let text = |part: &ResponsePart| matches!(part, ResponsePart::Text(_));
    let chosen = part.and_then(|at| choice.content.get(at)).filter(|part| text(part));
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

/// A name that every host takes.
fn name(called: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name: String =
        called.chars().map(|c| if fits(c) { c } else { '_' }).take(MAX_NAME_CHARS).collect();
    if name.is_empty() { "answer".to_owned() } else { name }
}
