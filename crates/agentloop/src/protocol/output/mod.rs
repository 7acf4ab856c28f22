//! The form of the output: how it is requested, and how it is restored from the response.
//!
//! A schema is requested natively if the model enforces it, else as the arguments of a forced tool call, and last in
//! the instructions. Encoders see only what their protocol supports. The [`OutputForm`] restores the rest in the
//! events, so the text of the response is always the requested JSON.

mod form;
mod unwrap;

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use form::{OutputForm, OutputParts};

use super::restrict::Restricted;
use super::{Order, codec};
use crate::chat::{
    ChatRequest, Draft, JsonSchemaFormat, OutputStrategy, ParamSet, ResponseFormat, ToolChoice,
    ToolDefinition, Warning, WarningKind,
};
use crate::error::{Error, ErrorKind, Result};
use crate::provider::model::ModelTraits;
use crate::provider::quirks::JsonSchemaSupport;
use crate::provider::{ForcedTools, KnownHeaders, NativeSchema, Param, Provider, Target};
use crate::schema;

/// A request whose output is requested in a way that its provider supports.
#[derive(Debug)]
pub(crate) struct Shaped<'r> {
    pub(crate) request: Draft<'r>,
    /// The parameters that the request has a value for, once its rules are applied.
    pub(crate) params: ParamSet,
    /// The name of the model to send; empty sends none.
    pub(crate) model: &'r str,
    /// What is known about the model of the request.
    pub(crate) traits: &'r ModelTraits,
    /// The headers of every chat to the target.
    pub(crate) headers: &'r KnownHeaders,
    /// The required order of the conversation.
    pub(crate) order: &'r Order,
    /// Text to add to the instructions of the request.
    pub(crate) instructions: Option<String>,
    pub(crate) form: OutputForm,
    pub(crate) warnings: Vec<Warning>,
}

/// The instruction that requests JSON.
const ONE_OBJECT: &str = "Answer with one JSON object only, without any text around it.";

/// Chooses how the output is requested.
///
/// # Errors
///
/// When the request insists on a way that the provider does not have.
pub(crate) fn shape<'r>(target: &'r Target, restricted: &'r Restricted<'r>) -> Result<Shaped<'r>> {
    let (provider, model, traits) = (target.provider.as_ref(), &target.model, target.traits());
    let request = &*restricted.request;
    let mut shaped = Shaped {
        request: Draft::new(request),
        params: ParamSet::default(),
        model: &restricted.model,
        traits,
        headers: target.headers(),
        order: &restricted.order,
        instructions: None,
        form: OutputForm::default(),
        warnings: Vec::new(),
    };
    match &request.response_format {
        Some(ResponseFormat::JsonSchema { json_schema }) => {
            let strategy = match &restricted.words {
                Some(_) => OutputStrategy::Prompt,
                None => strategy(provider, traits, request)?,
            };
            shaped.form.strategy = Some(strategy);
            let free =
                strategy == OutputStrategy::Native && codec(provider.protocol).takes_any_root();
            shaped.form.wrapped = !free && !schema::is_object(&json_schema.schema);
            let mut format = Cow::Borrowed(json_schema);
            if shaped.form.wrapped {
                format.to_mut().schema = schema::wrap(&json_schema.schema);
            }
            match strategy {
                OutputStrategy::Native => {
                    if !codec(provider.protocol).describes_schemas() {
                        shaped.describe(&mut format);
                    }
                    shaped.natively(format);
                }
                OutputStrategy::Tool => shaped.by_tool(provider, model, &format),
                OutputStrategy::Prompt if restricted.words.is_some() => {
                    shaped.only_in_words(&format);
                }
                OutputStrategy::Prompt => shaped.in_words(provider, model, &format),
            }
        }
        Some(ResponseFormat::JsonObject {}) if !codec(provider.protocol).has_json_mode() => {
            shaped.warn("there is no JSON mode without a schema: sent as instructions");
            shaped.instructions = Some(ONE_OBJECT.to_owned());
            shaped.request.to_mut().response_format = None;
        }
        Some(ResponseFormat::JsonObject {}) if restricted.words.is_some() => {
            shaped.instructions = Some(ONE_OBJECT.to_owned());
            shaped.request.to_mut().response_format = None;
        }
        Some(ResponseFormat::JsonObject {}) if restricted.say_json => {
            shaped.instructions = Some(ONE_OBJECT.to_owned());
        }
        _ => {}
    }
    Ok(shaped)
}

/// Returns the best strategy that the model supports, or the one that the request sets.
fn strategy(
    provider: &Provider,
    traits: &ModelTraits,
    request: &ChatRequest,
) -> Result<OutputStrategy> {
    let support = provider.quirks.json_schema;
    let natively = traits.json_schema == NativeSchema::Yes
        && match support {
            JsonSchemaSupport::InInstructions => false,
            JsonSchemaSupport::NotWithTools => request.tools.is_empty(),
            JsonSchemaSupport::Native | JsonSchemaSupport::SchemaOnly => true,
        };
    match request.output_strategy {
        Some(OutputStrategy::Tool) if !may_force(provider, traits, request) => Err(Error::new(
            ErrorKind::Unsupported,
            "output_strategy: the model cannot be forced to call a tool here",
        )
        .with_hint("remove `output_strategy`, or turn thinking off")),
        Some(strategy) => Ok(strategy),
        None if natively => Ok(OutputStrategy::Native),
        // Beside tools of the caller's own, a forced call would forbid the model to call them.
        None if support != JsonSchemaSupport::InInstructions
            && callable(request) == 0
            && may_force(provider, traits, request) =>
        {
            Ok(OutputStrategy::Tool)
        }
        None => Ok(OutputStrategy::Prompt),
    }
}

/// Returns how many tools of its own the request lets the model call.
fn callable(request: &ChatRequest) -> usize {
    if request.tool_choice == Some(ToolChoice::None) { 0 } else { request.tools.len() }
}

fn may_force(provider: &Provider, traits: &ModelTraits, request: &ChatRequest) -> bool {
    provider.takes(Param::Tools)
        && provider.takes(Param::ToolChoice)
        && traits.forced_tools != ForcedTools::Refused
        && codec(provider.protocol).can_force_tools(request, traits)
}

impl Shaped<'_> {
    fn warn(&mut self, why: &str) {
        let message = format!("response_format: {why}");
        self.warnings.push(Warning::new(WarningKind::Converted, "response_format", message));
    }

    /// Puts the description into the schema, where nothing can be beside it.
    fn describe(&mut self, format: &mut Cow<'_, JsonSchemaFormat>) {
        let Some(about) = format.description.clone() else { return };
        let known = format.schema.get("description").and_then(Value::as_str);
        match known {
            None if format.schema.is_object() => {
                format.to_mut().schema["description"] = Value::String(about);
            }
            Some(known) if known == about => {}
            _ => {
                let subject = "response_format.json_schema.description";
                let message = format!("{subject}: the schema has a description of its own");
                self.warnings.push(Warning::new(WarningKind::Dropped, subject, message));
            }
        }
    }

    fn natively(&mut self, format: Cow<'_, JsonSchemaFormat>) {
        if let Cow::Owned(json_schema) = format {
            self.request.to_mut().response_format =
                Some(ResponseFormat::JsonSchema { json_schema });
        }
    }

    /// Adds a tool that takes the response as its arguments and must be called.
    fn by_tool(&mut self, provider: &Provider, model: &str, format: &JsonSchemaFormat) {
        if self.request.output_strategy.is_none() {
            self.warn(&format!("{model} does not enforce schemas: requested as a tool call"));
        }
        let alone = callable(&self.request) == 0;
        let name = free_name(&self.request, &format.name);
        let about = format.description.as_deref().unwrap_or_default();
        let about = format!("Gives the answer. Call it once, with the whole answer. {about}");
        let tool = ToolDefinition::function(&name, format.schema.clone())
            .with_description(about.trim_end());
        let request = self.request.to_mut();
        request.response_format = None;
        request.tools.push(tool);
        if alone {
            request.tool_choice = Some(ToolChoice::Function(name.clone()));
            request.parallel_tool_calls = provider.takes(Param::ParallelToolCalls).then_some(false);
        } else {
            request.tool_choice = Some(ToolChoice::Required);
        }
        self.form.tool = Some(name);
    }

    /// Uses JSON mode if there is one, and puts the schema into the instructions.
    fn in_words(&mut self, provider: &Provider, model: &str, format: &JsonSchemaFormat) {
        let support = provider.quirks.json_schema;
        let json_mode = codec(provider.protocol).has_json_mode()
            && provider.takes(Param::ResponseFormat)
            && match support {
                JsonSchemaSupport::NotWithTools => self.request.tools.is_empty(),
                JsonSchemaSupport::SchemaOnly => false,
                JsonSchemaSupport::Native | JsonSchemaSupport::InInstructions => true,
            };
        if self.request.output_strategy.is_none() {
            let who = match support {
                JsonSchemaSupport::InInstructions => {
                    format!("{} does not support schemas", provider.name)
                }
                JsonSchemaSupport::NotWithTools => {
                    format!("{} does not accept both a schema and tools", provider.name)
                }
                _ => format!("{model} does not enforce schemas"),
            };
            let how = if json_mode { "JSON mode and instructions" } else { "instructions" };
            self.warn(&format!("{who}: sent as {how}"));
        }
        self.only_in_words(format);
        self.request.to_mut().response_format = json_mode.then(ResponseFormat::json);
    }

    /// Puts the schema into the instructions, without JSON mode.
    fn only_in_words(&mut self, format: &JsonSchemaFormat) {
        let about = format.description.as_deref().unwrap_or_default();
        let gap = if about.is_empty() { "" } else { "\n" };
        self.instructions = Some(format!(
            "Answer with JSON only, without any text around it, that matches this JSON schema:\n{about}{gap}{}",
            format.schema
        ));
        self.request.to_mut().response_format = None;
    }
}

/// Returns a name that no tool of the request has.
fn free_name(request: &ChatRequest, wanted: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut name: String = wanted.chars().filter(|c| fits(*c)).take(32).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name = "answer".to_owned();
    }
    while request.tools.iter().any(|tool| tool.name() == Some(&name)) {
        name.push_str("_answer");
    }
    name
}

#[cfg(test)]
mod tests;
