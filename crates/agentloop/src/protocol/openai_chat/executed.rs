//! `executed_tools`: tools that the host ran while it answered.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::nesting;
use crate::response::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, ResponsePart, ServerToolCallPart,
    ServerToolResultPart,
};

/// The runs of one choice. In a stream a run is told twice: when it begins, and again with its output.
#[derive(Debug, Default)]
pub(super) struct ExecutedTools {
    /// How many there are.
    count: usize,
    /// Those without an output, by their index and their arguments.
    waiting: HashMap<(Option<i64>, String), Run>,
}

#[derive(Debug)]
struct Run {
    id: String,
    is_code: bool,
}

/// Fields that describe the call; all others describe its result.
const CALL_FIELDS: [&str; 4] = ["index", "type", "name", "arguments"];

impl ExecutedTools {
    /// The parts that a list of runs adds.
    pub(super) fn read(&mut self, raw: &str) -> Vec<ResponsePart> {
        let mut parts = Vec::new();
        for entry in nesting::read_list(raw) {
            let Value::Object(mut entry) = entry else { continue };
            let index = entry.get("index").and_then(Value::as_i64);
            let arguments = match entry.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            let has_output = entry.get("output").is_some_and(|output| !output.is_null());
            let known = (index, arguments);
            let run = match self.waiting.remove(&known) {
                Some(run) => run,
                None => {
                    let (run, part) = self.begin(&known.1, &entry);
                    parts.push(part);
                    run
                }
            };
            if !has_output {
                self.waiting.insert(known, run);
            } else {
                entry.retain(|name, value| {
                    !CALL_FIELDS.contains(&name.as_str()) && !value.is_null()
                });
                parts.push(run.result(&entry));
            }
        }
        parts
    }

    fn begin(&mut self, arguments: &str, entry: &Map<String, Value>) -> (Run, ResponsePart) {
        let word =
            |name: &str| entry.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
        let name = word("name").or(word("type")).unwrap_or("tool").to_owned();
        let id = format!("executed_{}", self.count);
        self.count += 1;
        let is_code = matches!(name.as_str(), "python" | "code_interpreter" | "code_execution");
        let run = Run { id: id.clone(), is_code };
        let parsed = crate::response::parse_arguments(arguments);
        if !is_code {
            let call = ServerToolCallPart { id, name, arguments: parsed, provider_state: None };
            return (run, ResponsePart::ServerToolCall(call));
        }
        let code = parsed.get("code").and_then(Value::as_str).unwrap_or(arguments).to_owned();
        let code = CodeExecutionPart {
            id: Some(id),
            language: "python".to_owned(),
            code,
            provider_state: None,
        };
        (run, ResponsePart::CodeExecution(code))
    }
}

impl Run {
    fn result(&self, fields: &Map<String, Value>) -> ResponsePart {
        if !self.is_code {
            return ResponsePart::ServerToolResult(ServerToolResultPart {
                tool_call_id: self.id.clone(),
                content: json!(fields),
                ..ServerToolResultPart::default()
            });
        }
        let output = match fields.get("output") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        ResponsePart::CodeResult(CodeResultPart {
            id: Some(self.id.clone()),
            // The host prints a failure into the output and does not say how the run ended.
            outcome: if output.starts_with("Traceback (most recent call last)") {
                CodeOutcome::Error
            } else {
                CodeOutcome::Ok
            },
            output,
            ..CodeResultPart::default()
        })
    }
}
