//! Applies the chat templates of model files: Jinja, with the functions and settings of Hugging Face's `transformers`, for which the
//! templates are written.
//!
//! A template is foreign input. It cannot read files or include other templates, and its source, its steps, its recursion and its output
//! are bounded.

mod date;
mod guard;
mod json;
mod probe;

use std::io::{Error as IoError, Write};

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, context};
use serde_json::Value as Json;

#[cfg(feature = "llama")]
pub(crate) use guard::Guard;
#[cfg(not(feature = "llama"))]
use probe::Abilities;
#[cfg(feature = "llama")]
pub(crate) use probe::{Abilities, with_parts};

use crate::limits::{
    MAX_PROMPT_BYTES, MAX_TEMPLATE_BYTES, MAX_TEMPLATE_RECURSION, MAX_TEMPLATE_STEPS,
    TEMPLATE_STEPS, TEMPLATE_STEPS_OF_ITEM,
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
    environment: Environment<'static>,
}

impl Template {
    /// Parses a template. An error is a text for a warning.
    pub(crate) fn compile(source: &str) -> Result<Self, String> {
        if source.len() > MAX_TEMPLATE_BYTES {
            return Err(format!("it has more than {MAX_TEMPLATE_BYTES} bytes"));
        }
        let mut environment = Environment::new();
        // The settings of `apply_chat_template` of transformers.
        let mut syntax = SyntaxConfig::builder();
        syntax.trim_blocks(true).lstrip_blocks(true);
        environment.set_syntax(syntax.build().map_err(describe)?);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_recursion_limit(MAX_TEMPLATE_RECURSION);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
        environment.add_filter("tojson", json::to_json);
        // In Python, `none` is not iterable.
        environment.add_test("iterable", |value: &Value| {
            !value.is_none() && !value.is_undefined() && value.try_iter().is_ok()
        });
        environment.add_function("raise_exception", |why: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, why))
        });
        environment.add_function("strftime_now", |format: &str| date::now(format));
        let source = without_generation(source);
        environment.add_template_owned(NAME, source).map_err(describe)?;
        Ok(Self { environment })
    }

    /// Applies the template. An error is a text for a warning.
    pub(crate) fn render(&self, input: Input<'_>) -> Result<String, String> {
        // Foreign code gets as much time as a conversation of this size needs, and not more.
        let items = (input.messages.len() + input.tools.len()) as u64;
        let steps = TEMPLATE_STEPS.saturating_add(items.saturating_mul(TEMPLATE_STEPS_OF_ITEM));
        let mut environment = self.environment.clone();
        environment.set_fuel(Some(steps.min(MAX_TEMPLATE_STEPS)));
        let template = environment.get_template(NAME).map_err(describe)?;
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
        let mut text = Bounded(Vec::new());
        template.render_captured_to(variables, &mut text).map_err(describe)?;
        String::from_utf8(text.0).map_err(|_| "its output is not UTF-8".to_owned())
    }
}

/// Output that ends with an error at the limit of a prompt.
struct Bounded(Vec<u8>);

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Twice, because a template adds its own texts to those of the messages.
        if self.0.len() + bytes.len() > 2 * MAX_PROMPT_BYTES {
            return Err(IoError::other("its output is too long"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
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
