//! JSON Schema → what each protocol takes, for tools and for output. The one place.
//!
//! One walk ([`walk`]) serves all dialects: references and `allOf` are resolved ([`refs`], [`merge`]), `oneOf` becomes `anyOf`,
//! words that a dialect does not know move to the description. What differs is a file per host.

mod anthropic;
mod children;
mod gemini;
mod kept;
mod merge;
mod openai;
mod plain;
mod refs;
#[cfg(test)]
mod tests;
mod walk;
mod words;
mod wrap;

use serde_json::Value;

pub(crate) use kept::{Sent, converted};
pub(crate) use wrap::{WRAPPER, is_object, wrap};

/// How deep a schema may be nested; what lies deeper is cut, and said.
pub(crate) const MAX_DEPTH: usize = 64;

/// How many schemas one may become when its references are resolved; what is more is cut, and said.
pub(crate) const MAX_NODES: usize = 10_000;

/// What a host makes of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Dialect {
    /// Every object closed, all properties required, optionals nullable, no references beside other words.
    OpenAiStrict,
    /// Every object closed, no limits of numbers, lengths and patterns, few formats, no recursion.
    Anthropic,
    /// JSON Schema without a few words.
    GeminiJsonSchema,
    /// The older form: upper-case types, no references, no unions of types. An object without properties is
    /// `{"type":"OBJECT"}`; at the root of a tool's parameters the host wants nothing at all in its place.
    GeminiOpenApi,
}

/// A schema in a dialect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Converted {
    /// The schema to send.
    pub(crate) schema: Value,
    /// What the dialect cannot say: constraints that the host will not keep to.
    pub(crate) lost: Vec<String>,
    /// Whether the schema refuses something that the original takes (an open map, a recursion that was cut). Where
    /// the host can also be asked loosely, that is the better way; `lost` says what it was.
    pub(crate) narrowed: bool,
}

/// Converts a schema. Never fails: what cannot be said is left out and listed. Requests are encoded with [`converted`].
fn convert(schema: &Value, dialect: Dialect) -> Converted {
    walk::Walk::new(schema, dialect).convert()
}
