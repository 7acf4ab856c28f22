//! Writes what a provider's own tools did.
//!
//! The blocks of Anthropic itself are written as they were. Those of other APIs are written in its words, as far as it
//! has some: a client with strict types refuses any others.

use serde_json::{Map, Value, json};

use crate::chat::{
    CodeExecutionPart, CodeOutcome, CodeResultPart, ProviderState, ResponsePart,
    ServerToolCallPart, ServerToolResultPart,
};
use crate::protocol::is_item;

/// Returns a part as a block, or `None` if the wire has none for it.
pub(super) fn block(part: &ResponsePart) -> Option<Value> {
    match part {
        ResponsePart::CodeExecution(code) => Some(code_call(code)),
        ResponsePart::CodeResult(result) => Some(code_result(result)),
        ResponsePart::ServerToolCall(call) => server_call(call),
        ResponsePart::ServerToolResult(result) => server_result(result),
        // A block of any kind, also of one that is not known yet, but not an item of the Responses API.
        ResponsePart::Opaque(opaque) => {
            let is_block = opaque.data["type"].is_string() && !is_item(&opaque.data);
            is_block.then(|| opaque.data.clone())
        }
        _ => None,
    }
}

/// Returns the state of a part if it is a block of this API: its fields and its type.
fn own(state: Option<&ProviderState>) -> Option<(&Map<String, Value>, &str)> {
    let fields = state?.data.as_object()?;
    let kind = fields.get("type")?.as_str()?;
    let is_own =
        matches!(kind, "server_tool_use" | "mcp_tool_use") || kind.ends_with("_tool_result");
    is_own.then_some((fields, kind))
}

fn code_call(code: &CodeExecutionPart) -> Value {
    if let Some((fields, _)) = own(code.provider_state.as_deref()) {
        return Value::Object(fields.clone());
    }
    let (name, field) = match code.language.as_str() {
        "bash" => ("bash_code_execution", "command"),
        _ => ("code_execution", "code"),
    };
    json!({ "type": "server_tool_use", "id": code.id.as_deref().unwrap_or_default(),
            "name": name, "input": { field: code.code } })
}

fn code_result(result: &CodeResultPart) -> Value {
    if let Some((fields, _)) = own(result.provider_state.as_deref()) {
        return Value::Object(fields.clone());
    }
    let failed = i64::from(result.outcome != CodeOutcome::Ok);
    let files: Vec<Value> = result
        .files
        .iter()
        .map(|file| json!({ "type": "code_execution_output", "file_id": file }))
        .collect();
    let stderr = result.stderr.as_deref().unwrap_or_default();
    json!({
        "type": "code_execution_tool_result",
        "tool_use_id": result.id.as_deref().unwrap_or_default(),
        "content": {
            "type": "code_execution_result",
            "stdout": if failed == 0 { result.output.as_str() } else { "" },
            "stderr": if failed == 0 { stderr } else { result.output.as_str() },
            "return_code": result.exit_code.unwrap_or(failed),
            "content": files,
        },
    })
}

fn server_call(call: &ServerToolCallPart) -> Option<Value> {
    let (mut block, name) = match own(call.provider_state.as_deref()) {
        Some((fields, _)) => (fields.clone(), call.name.as_str()),
        None => (Map::new(), common_name(&call.name)?),
    };
    block.entry("type").or_insert_with(|| json!("server_tool_use"));
    block.insert("id".to_owned(), json!(call.id));
    block.insert("name".to_owned(), json!(name));
    let input = match &call.arguments {
        Value::Object(_) => call.arguments.clone(),
        Value::Null => json!({}),
        other => json!({ "_raw": other }),
    };
    block.insert("input".to_owned(), input);
    Some(Value::Object(block))
}

/// Returns the wire's name for a tool of another API, by what it does.
fn common_name(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let has = |word: &str| name.contains(word);
    if has("web_search") || has("google_search") || has("x_search") || has("browser_search") {
        Some("web_search")
    } else if has("web_fetch") || has("url_context") || has("fetch_url") || has("open_page") {
        Some("web_fetch")
    } else {
        None
    }
}

/// Returns the result of a tool. That of another API is the list of the pages that it names.
fn server_result(result: &ServerToolResultPart) -> Option<Value> {
    if let Some((fields, _)) = own(result.provider_state.as_deref()) {
        let mut block = fields.clone();
        block.insert("tool_use_id".to_owned(), json!(result.tool_call_id));
        block.insert("content".to_owned(), result.content.clone());
        return Some(Value::Object(block));
    }
    let mut pages = Vec::new();
    collect_pages(&result.content, &mut pages);
    if pages.is_empty() && !result.is_error {
        return None;
    }
    let content = if result.is_error {
        json!({ "type": "web_search_tool_result_error", "error_code": "unavailable" })
    } else {
        Value::Array(pages)
    };
    Some(json!({
        "type": "web_search_tool_result",
        "tool_use_id": result.tool_call_id,
        "content": content,
    }))
}

/// Adds the objects with a URL, in the form of the wire.
fn collect_pages(value: &Value, pages: &mut Vec<Value>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| collect_pages(value, pages)),
        Value::Object(fields) => {
            let word = |name: &str| fields.get(name).and_then(Value::as_str);
            match word("url").or_else(|| word("uri")) {
                Some(url) => pages.push(json!({
                    "type": "web_search_result",
                    "url": url,
                    "title": word("title").unwrap_or_default(),
                    "encrypted_content": word("encrypted_content").unwrap_or_default(),
                    "page_age": word("page_age"),
                })),
                None => fields.values().for_each(|value| collect_pages(value, pages)),
            }
        }
        _ => {}
    }
}
