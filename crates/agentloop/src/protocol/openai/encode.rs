//! Parts of a chat request that both protocols write.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::chat::{ResponseFormat, Role, Warning, WarningKind};
use crate::protocol::output::Shaped;
use crate::protocol::params::ParamWriter;
use crate::protocol::{Forms, IdPattern, NamePattern, StateForm};
use crate::provider::quirks::{JsonSchemaSupport, ReasoningEcho, ToolCallIds};
use crate::provider::{InstructionsRole, Param, Provider};
use crate::schema::{self, Dialect, Sent};

/// Returns the role of messages with instructions.
pub(in crate::protocol) fn system_role(shaped: &Shaped<'_>) -> &'static str {
    match shaped.traits.instructions {
        InstructionsRole::Developer => "developer",
        InstructionsRole::System => Role::System.as_str(),
    }
}

/// Returns the forms of a conversation that the provider takes. `items` is set for the Responses protocol, whose state is sent as
/// items.
pub(in crate::protocol) fn forms(provider: &Provider, items: bool) -> Forms {
    Forms {
        ids: match provider.quirks.tool_call_ids {
            ToolCallIds::Any => IdPattern::Any,
            ToolCallIds::NineAlphanumeric => IdPattern::NineAlphanumeric,
        },
        names: NamePattern::Word64,
        thinking_as_text: !items && provider.quirks.reasoning_echo != ReasoningEcho::Never,
        state: if items { StateForm::Items } else { StateForm::Fields },
    }
}

/// Returns a schema of any object for JSON mode, where the provider requires a schema.
pub(in crate::protocol) fn with_schema<'a>(
    params: &mut ParamWriter<'_>,
    provider: &Provider,
    format: &'a ResponseFormat,
) -> Cow<'a, ResponseFormat> {
    let only = provider.quirks.json_schema == JsonSchemaSupport::SchemaOnly;
    if !only || *format != (ResponseFormat::JsonObject {}) {
        return Cow::Borrowed(format);
    }
    let why = format!(
        "{} supports JSON mode only with a schema; a schema for any object is sent",
        provider.name
    );
    params.warn(WarningKind::Converted, Param::ResponseFormat.name(), &why);
    Cow::Owned(ResponseFormat::json_schema("object", json!({ "type": "object" })))
}

/// Returns a strict schema in the form that the provider accepts. A schema that cannot be strict, such as an open map,
/// is sent unchanged and without `strict`.
pub(in crate::protocol) fn strictly<'s>(
    schema: &'s Value,
    strict: Option<bool>,
    subject: &str,
    warnings: &mut Vec<Warning>,
) -> (Sent<'s>, Option<bool>) {
    if strict != Some(true) {
        return (Sent::AsIs(schema), strict);
    }
    let converted = schema::converted(schema, Dialect::OpenAiStrict);
    let mut warn = |why: &str| {
        let message = format!("{subject}: {why}");
        warnings.push(Warning::new(WarningKind::Converted, subject, message));
    };
    if converted.is_narrowed() {
        let why = converted.lost().join("; ");
        warn(&format!("the schema cannot be strict, and is sent without `strict` ({why})"));
        return (Sent::AsIs(schema), Some(false));
    }
    converted.lost().iter().for_each(|why| warn(why));
    (Sent::Converted(converted), strict)
}
