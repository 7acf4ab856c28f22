//! Steps that are a part when they are complete: the provider's own tools, and steps of an unknown kind.

use serde_json::{Map, Value};

use super::{is_blank, step_state, tree};
use crate::chat::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, OpaquePart, ProviderState, ResponsePart,
    ServerToolCallPart, ServerToolResultPart, Weight as _,
};
use crate::error::Result;
use crate::protocol::Emitter;
use crate::protocol::fields::Fields;

/// The kinds of calls of the provider's own tools (`Step` of the SDK, and kinds that only its deltas have). Calls of tools that the
/// caller's program runs are none of them.
const CALLS: [&str; 7] = [
    "google_search_call",
    "url_context_call",
    "file_search_call",
    "google_maps_call",
    "mcp_server_tool_call",
    "retrieval_call",
    "processing_call",
];

/// The kinds of their results.
const RESULTS: [&str; 7] = [
    "google_search_result",
    "url_context_result",
    "file_search_result",
    "google_maps_result",
    "mcp_server_tool_result",
    "retrieval_result",
    "processing_result",
];

/// A step that is not complete.
#[derive(Debug)]
pub(super) struct Held {
    fields: Map<String, Value>,
    /// The bytes that were charged for it.
    charged: usize,
}

impl Held {
    pub(super) fn start(fields: Fields<'_>, emitter: &mut Emitter) -> Result<Self> {
        let fields = tree(fields)?;
        let charged = fields.weight();
        emitter.charge(charged)?;
        Ok(Self { fields, charged })
    }

    /// Adds the fields of a delta. Each has what it brings completely (recorded for searches), so a later value replaces an earlier one;
    /// lists and the texts of results grow.
    pub(super) fn delta(&mut self, delta: Fields<'_>, emitter: &mut Emitter) -> Result<()> {
        let delta = tree(delta)?;
        let more = delta.weight();
        self.charged += more;
        emitter.charge(more)?;
        for (name, value) in delta {
            match (self.fields.get_mut(&name), value) {
                (_, value) if name == "type" || is_blank(&value) => {}
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
                (Some(Value::String(known)), Value::String(more)) if name == "result" => {
                    known.push_str(&more);
                }
                (_, value) => {
                    self.fields.insert(name, value);
                }
            }
        }
        Ok(())
    }

    pub(super) fn end(self, emitter: &mut Emitter) -> Result<()> {
        emitter.release(self.charged);
        let part = part(self.fields, emitter);
        emitter.whole(0, part)
    }
}

/// Returns the part that a step is.
fn part(mut fields: Map<String, Value>, emitter: &Emitter) -> ResponsePart {
    let kind = take_word(&mut fields, "type");
    let state = |kind: &str, mut fields: Map<String, Value>| -> Option<Box<ProviderState>> {
        fields.retain(|_, value| !is_blank(value));
        let mut step = Map::from_iter([("type".to_owned(), Value::from(kind))]);
        step.extend(fields);
        Some(Box::new(step_state(step, emitter)))
    };
    match kind.as_str() {
        "code_execution_call" if has_code(&fields) => {
            let id = take_word(&mut fields, "id");
            let mut arguments = match fields.remove("arguments") {
                Some(Value::Object(arguments)) => arguments,
                _ => Map::new(),
            };
            let code = take_word(&mut arguments, "code");
            let language = take_word(&mut arguments, "language");
            if !arguments.is_empty() {
                fields.insert("arguments".to_owned(), Value::Object(arguments));
            }
            ResponsePart::CodeExecution(CodeExecutionPart {
                id: Some(id).filter(|id| !id.is_empty()),
                language: if language.is_empty() { "python".to_owned() } else { language },
                code,
                provider_state: state(&kind, fields),
            })
        }
        "code_execution_result"
            if fields.get("result").is_none_or(|result| is_blank(result) || result.is_string()) =>
        {
            let id = take_word(&mut fields, "call_id");
            let output = take_word(&mut fields, "result");
            let outcome = match fields.remove("is_error").and_then(|flag| flag.as_bool()) {
                Some(true) => CodeOutcome::Error,
                Some(false) | None => CodeOutcome::Ok,
            };
            ResponsePart::CodeResult(CodeResultPart {
                id: Some(id).filter(|id| !id.is_empty()),
                outcome,
                output,
                provider_state: state(&kind, fields),
                ..CodeResultPart::default()
            })
        }
        call if CALLS.contains(&call) => {
            let id = take_word(&mut fields, "id");
            let arguments = fields.remove("arguments").filter(|value| !is_blank(value));
            let own = call.strip_suffix("_call").unwrap_or(call);
            let name = match call {
                "mcp_server_tool_call" => take_word(&mut fields, "name"),
                _ => own.to_owned(),
            };
            ResponsePart::ServerToolCall(ServerToolCallPart {
                id,
                name,
                arguments: arguments.unwrap_or_else(|| Value::Object(Map::new())),
                provider_state: state(&kind, fields),
            })
        }
        result if RESULTS.contains(&result) => {
            let is_error = fields.remove("is_error").and_then(|flag| flag.as_bool());
            ResponsePart::ServerToolResult(ServerToolResultPart {
                tool_call_id: take_word(&mut fields, "call_id"),
                content: fields.remove("result").unwrap_or_default(),
                is_error: is_error.unwrap_or(false),
                provider_state: state(&kind, fields),
            })
        }
        _ => {
            let mut step = Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]);
            step.extend(fields);
            opaque(kind, step, emitter)
        }
    }
}

/// Returns a part that has a whole step.
pub(super) fn opaque(kind: String, step: Map<String, Value>, emitter: &Emitter) -> ResponsePart {
    let data = Map::from_iter([("step".to_owned(), Value::Object(step))]);
    let provider = emitter.provider().to_owned();
    ResponsePart::Opaque(OpaquePart { provider, kind, data: Value::Object(data) })
}

fn has_code(fields: &Map<String, Value>) -> bool {
    fields
        .get("arguments")
        .and_then(|arguments| arguments.get("code"))
        .is_some_and(Value::is_string)
}

/// Takes a field that is a string. One of another type stays.
pub(super) fn take_word(fields: &mut Map<String, Value>, name: &str) -> String {
    match fields.get_mut(name) {
        Some(Value::String(word)) => {
            let word = std::mem::take(word);
            fields.shift_remove(name);
            word
        }
        _ => String::new(),
    }
}
