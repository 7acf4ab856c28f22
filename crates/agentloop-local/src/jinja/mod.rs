//! Applies the chat templates of model files: Jinja, with the functions and settings of Hugging Face's `transformers`, for which the
//! templates are written.
//!
//! A template is foreign input. It cannot read files or include other templates, and its source, its steps, its recursion, its memory
//! and its output are bounded.

mod budget;
mod date;
mod guard;
mod json;
mod operators;
mod probe;
mod program;

use std::sync::Arc;

use minijinja::machinery::{eval, make_string_output};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, context};
use serde_json::Value as Json;

use self::budget::Budget;
use self::program::Program;

#[cfg(feature = "llama")]
pub(crate) use guard::Guard;
#[cfg(not(feature = "llama"))]
use probe::Abilities;
#[cfg(feature = "llama")]
pub(crate) use probe::{Abilities, with_parts};

use crate::limits::{
    MAX_TEMPLATE_BYTES, MAX_TEMPLATE_RECURSION, MAX_TEMPLATE_STEPS, TEMPLATE_STEPS,
    TEMPLATE_STEPS_OF_ITEM,
};

/// The name of the template in its environment.
const NAME: &str = "chat_template";

/// The longest text of an error that is reported, in characters.
const MAX_ERROR: usize = 200;

/// What a template is applied to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Input<'a> {
    pub(crate) messages: &'a [Json],
    pub(crate) tools: &'a [Json],
    /// The text of the token at the beginning of a prompt.
    pub(crate) bos: &'a str,
    /// The text of the token at the end of a message.
    pub(crate) eos: &'a str,
}

/// A chat template.
#[derive(Debug)]
pub(crate) struct Template {
    source: String,
}

impl Template {
    /// Parses a template. An error is a text for a warning.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        if source.len() > MAX_TEMPLATE_BYTES {
            return Err(format!("it has more than {MAX_TEMPLATE_BYTES} bytes"));
        }
        let source = without_generation(source);
        Program::compile(NAME, &source, syntax()?).map_err(describe)?;
        Ok(Self { source })
    }

    /// Applies the template. An error is a text for a warning.
    pub(crate) fn render(&self, input: Input<'_>) -> Result<String, String> {
        // Foreign code gets as much time and memory as a conversation of this size needs, and not more.
        let items = (input.messages.len() + input.tools.len()) as u64;
        let steps = TEMPLATE_STEPS.saturating_add(items.saturating_mul(TEMPLATE_STEPS_OF_ITEM));
        let bytes = input.messages.iter().chain(input.tools).map(bytes_of).sum();
        let budget = Arc::new(Budget::new(bytes));
        // The program borrows its source, so it is compiled here, which takes less than a millisecond.
        let program = Program::compile(NAME, &self.source, syntax()?).map_err(describe)?;
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_recursion_limit(MAX_TEMPLATE_RECURSION);
        environment.set_fuel(Some(steps.min(MAX_TEMPLATE_STEPS)));
        // In Python, `none` is not iterable.
        environment.add_test("iterable", |value: &Value| {
            !value.is_none() && !value.is_undefined() && value.try_iter().is_ok()
        });
        operators::add_to(&mut environment, &budget);
        let tools = match input.tools {
            [] => Value::from(()),
            tools => Value::from(Serde(tools)),
        };
        let variables = context! {
            messages => Value::from(Serde(input.messages)),
            tools,
            documents => Value::from(()),
            add_generation_prompt => true,
            bos_token => input.bos,
            eos_token => input.eos,
        };
        let mut text = String::new();
        let mut output = make_string_output(&mut text);
        let Program { instructions, blocks } = &program;
        eval(&environment, instructions, variables, blocks, &mut output, AutoEscape::None)
            .map_err(describe)?;
        drop(output);
        Ok(text)
    }
}

/// Returns the settings of `apply_chat_template` of transformers.
fn syntax() -> Result<SyntaxConfig, String> {
    let mut syntax = SyntaxConfig::builder();
    syntax.trim_blocks(true).lstrip_blocks(true);
    syntax.build().map_err(describe)
}

/// Returns how many bytes the texts of a value have.
fn bytes_of(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(bytes_of).sum(),
        Json::Object(fields) => fields.iter().map(|(key, value)| key.len() + bytes_of(value)).sum(),
        _ => 8,
    }
}

/// Replaces the tags `generation` and `endgeneration`, which mark what is trained and are unknown to other Jinja.
fn without_generation(source: &str) -> String {
    let mut written = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find("{%") {
        let (before, tag) = rest.split_at(at);
        written.push_str(before);
        let Some(end) = tag.find("%}") else {
            rest = tag;
            break;
        };
        let (tag, after) = tag.split_at(end + 2);
        match tag.trim_matches(['{', '%', '}', '-', '+', ' ', '\n', '\t']) {
            "generation" => written.push_str(&tag.replace("generation", "if true")),
            "endgeneration" => written.push_str(&tag.replace("endgeneration", "endif")),
            _ => written.push_str(tag),
        }
        rest = after;
    }
    written.push_str(rest);
    written
}

/// Describes an error in one line, with its causes.
fn describe(error: impl std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_ERROR).collect()
}

#[cfg(test)]
mod tests;
