//! Converts JSON Schema to the subset that each protocol accepts, for tools and for output.
//!
//! One walk ([`walk`]) serves all dialects: references and `allOf` are resolved ([`refs`], [`merge`]), `oneOf` becomes `anyOf`, and keywords
//! that a dialect does not know move to the description. What differs is in a file per dialect.

mod anthropic;
mod children;
mod gemini;
mod kept;
mod merge;
mod openai;
mod place;
mod plain;
mod refs;
mod room;
#[cfg(test)]
pub(crate) mod tests;
mod walk;
mod words;
mod wrap;

use serde_json::Value;

pub(crate) use kept::{Sent, converted};
#[cfg(feature = "validate")]
pub(crate) use room::Room;
pub(crate) use wrap::{WRAPPER, is_object, wrap};

/// How deep a schema may be nested. Deeper levels are cut off, with a warning.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many schemas one may become when its references are resolved. Further ones are cut off, with a warning.
pub(crate) const MAX_NODES: usize = 10_000;

/// How many losses are listed. The others are counted.
const MAX_LOST: usize = 100;

/// A subset of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// OpenAI's strict schemas: every object closed, all properties required, optional ones nullable, no references beside other keywords.
    OpenAiStrict,
    /// Anthropic's: every object closed, no limits of numbers, lengths and patterns, few formats, no recursion.
    Anthropic,
    /// Gemini's: JSON Schema without some keywords.
    GeminiJsonSchema,
    /// Gemini's older form: upper-case types, no references, no unions of types. An object without properties is `{"type":"OBJECT"}`; the
    /// parameters of a tool without properties are left out.
    GeminiOpenApi,
}

/// A schema in a dialect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Converted {
    /// The schema to send.
    pub(crate) schema: Value,
    /// What the dialect cannot express: constraints that the provider does not enforce.
    pub(crate) lost: Vec<String>,
    /// Whether the schema refuses something that the original accepts, such as an open map or a recursion that was cut off. If the provider also
    /// has a mode that is not strict, that one is better. `lost` lists the reasons.
    pub(crate) narrowed: bool,
}

/// Converts a schema. What cannot be expressed is left out and listed. Requests are encoded with [`converted`].
fn convert(schema: &Value, dialect: Dialect) -> Converted {
    walk::Walk::new(schema, dialect).convert()
}
