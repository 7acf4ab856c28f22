//! `executed_tools`: tools that the host ran while it answered.

use serde_json::{Map, Value, json};

use crate::nesting;
use crate::response::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, ResponsePart, ServerToolCallPart,
    ServerToolResultPart,
};

/// The runs of one choice. In a stream a run is told twice: when it begins, and again with its output.
#[derive(Debug, Default)]
pub(super) struct ExecutedTools {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    index: Option<i64>,
    arguments: String,
    id: String,
    is_code: bool,
    answered: bool,
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
            let known = self
                .runs
                .iter()
                .position(|run| !run.answered && run.index == index && run.arguments == arguments);
            let at = known.unwrap_or_else(|| {
                parts.push(self.begin(index, &arguments, &entry));
                self.runs.len() - 1
            });
            let run = &mut self.runs[at];
            if entry.get("output").is_some_and(|output| !output.is_null()) {
                run.answered = true;
                entry.retain(|name, value| {
                    !CALL_FIELDS.contains(&name.as_str()) && !value.is_null()
                });
                parts.push(run.result(&entry));
            }
        }
        parts
    }

    fn begin(
        &mut self,
        index: Option<i64>,
        arguments: &str,
        entry: &Map<String, Value>,
    ) -> ResponsePart {
        let word =
            |name: &str| entry.get(name).and_then(Value::as_str).filter(|word| !word.is_empty());
        let name = word("name").or(word("type")).unwrap_or("tool").to_owned();
        let id = format!("executed_{}", self.runs.len());
        let is_code = matches!(name.as_str(), "python" | "code_interpreter" | "code_execution");
        self.runs.push(Run {
            index,
            arguments: arguments.to_owned(),
            id: id.clone(),
            is_code,
            answered: false,
        });
        let parsed = crate::response::parse_arguments(arguments);
        if !is_code {
            return ResponsePart::ServerToolCall(ServerToolCallPart {
                id,
                name,
                arguments: parsed,
                provider_state: None,
            });
        }
        let code = parsed.get("code").and_then(Value::as_str).unwrap_or(arguments).to_owned();
        ResponsePart::CodeExecution(CodeExecutionPart {
            id: Some(id),
            language: "python".to_owned(),
            code,
            provider_state: None,
        })
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
