//! JSON Schema → what each protocol takes, for tools and for output. The one place.

use serde_json::Value;

/// What a host makes of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Every object closed, all properties required, optionals nullable, no references beside other words.
    OpenAiStrict,
    /// Every object closed, no limits of numbers, lengths and patterns, few formats, no recursion.
    Anthropic,
    /// JSON Schema without a few words.
    GeminiJsonSchema,
    /// The older form: upper-case types, no references, no unions of types.
    GeminiOpenApi,
}

/// A schema in a dialect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Converted {
    /// The schema to send.
    pub(crate) schema: Value,
    /// What the dialect cannot say: constraints that the host will not keep to.
    pub(crate) lost: Vec<String>,
}

/// Converts a schema.
pub(crate) fn convert(schema: &Value, _: Dialect) -> Converted {
    Converted { schema: schema.clone(), lost: Vec::new() }
}
