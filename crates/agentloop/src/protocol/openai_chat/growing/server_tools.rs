//! `executed_tools`: the tools that Groq ran while the model responded (recording
//! groq-json-code-execution-search-results-8971a186, 2026).

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::chat::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, ImagePart, ProviderState, ResponsePart,
    ServerToolCallPart, ServerToolResultPart,
};
use crate::nesting;

/// The tool runs of one choice. In a stream a run is reported twice: when it starts, and again with its output.
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
    /// Returns the parts that a list of runs adds.
    pub(super) fn read(&mut self, raw: &str, provider: &str) -> Vec<ResponsePart> {
        let mut parts = Vec::new();
        for entry in nesting::read_list(raw) {
            let Value::Object(mut entry) = entry else { continue };
            let index = entry.get("index").and_then(Value::as_i64);
            let arguments = match entry.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => String::new(),
                Some(other) => other.to_string(),
            };
            let has = |name: &str| entry.get(name).is_some_and(|value| !value.is_null());
            let has_output = has("output") || has("code_results");
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
                run.result(entry, provider, &mut parts);
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
        let parsed = crate::chat::parse_arguments(arguments);
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
    fn result(
        &self,
        mut fields: Map<String, Value>,
        provider: &str,
        parts: &mut Vec<ResponsePart>,
    ) {
        if !self.is_code {
            parts.push(ResponsePart::ServerToolResult(ServerToolResultPart {
                tool_call_id: self.id.clone(),
                content: Value::Object(fields),
                ..ServerToolResultPart::default()
            }));
            return;
        }
        let mut output = match fields.get("output") {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let results = match fields.remove("code_results") {
            Some(Value::Array(results)) => results,
            Some(result) => vec![result],
            None => Vec::new(),
        };
        let mut images = Vec::new();
        let mut others = Vec::new();
        for result in results {
            let Value::Object(mut result) = result else { continue };
            if let Some(Value::String(text)) = result.remove("text") {
                // The output may be repeated.
                if !output.contains(text.trim()) {
                    let line = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
                    output.push_str(line);
                    output.push_str(&text);
                }
            }
            if let Some(Value::String(data)) = result.remove("png") {
                let mime_type = "image/png".to_owned();
                images.push(ImagePart { mime_type, data, ..ImagePart::default() });
            }
            // Charts as data, and what else there may be.
            result.retain(|_, value| !value.is_null());
            if !result.is_empty() {
                others.push(Value::Object(result));
            }
        }
        let state = (!others.is_empty()).then(|| {
            let data = json!({ "code_results": others });
            Box::new(ProviderState::new(provider, data))
        });
        parts.push(ResponsePart::CodeResult(CodeResultPart {
            id: Some(self.id.clone()),
            // The provider prints a failure into the output and does not report how the run ended.
            outcome: if output.starts_with("Traceback (most recent call last)") {
                CodeOutcome::Error
            } else {
                CodeOutcome::Ok
            },
            output,
            provider_state: state,
            ..CodeResultPart::default()
        }));
        parts.extend(images.into_iter().map(ResponsePart::Image));
    }
}
