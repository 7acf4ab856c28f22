//! The schemas of functions.

use serde_json::{Map, Value};

use crate::chat::{FunctionDefinition, WarningKind};
use crate::protocol::params::ParamWriter;
use crate::schema::{self, Dialect, Sent};

/// Returns the schema of a function's arguments as the provider takes it. An object without properties is refused: without
/// parameters, no schema is sent.
pub(in crate::protocol) fn schema_of<'a>(
    params: &mut ParamWriter<'_>,
    function: &'a FunctionDefinition,
) -> Option<Sent<'a>> {
    let parameters = function.parameters.as_ref().filter(|schema| !is_empty(schema))?;
    let converted = schema::converted(parameters, Dialect::GeminiJsonSchema);
    for lost in converted.lost() {
        let what = format!("tools.{}.parameters", function.name);
        params.warn(WarningKind::Converted, &what, lost);
    }
    Some(Sent::Converted(converted))
}

/// Returns whether a schema only requires an object.
fn is_empty(schema: &Value) -> bool {
    const SAYS_MORE: [&str; 7] =
        ["$ref", "anyOf", "oneOf", "allOf", "patternProperties", "enum", "required"];
    let Value::Object(fields) = schema else {
        return schema.is_null();
    };
    let is_object = fields.get("type").is_none_or(|kind| kind == "object");
    let no_properties =
        fields.get("properties").is_none_or(|list| list.as_object().is_some_and(Map::is_empty));
    let open = fields.get("additionalProperties").is_some_and(|more| more != false && more != true);
    is_object && no_properties && !open && !SAYS_MORE.iter().any(|word| fields.contains_key(*word))
}
