//! Writes parts as items.

use serde_json::{Value, json};

use crate::chat::{ResponsePart, ToolCallPart};
use crate::protocol::is_item;
use crate::protocol::openai::serve::tools::input_of;
use crate::protocol::openai::serve::write::{annotation, beginning};
use crate::protocol::openai::serve::{CallForm, DeclaredTool, Remembered};
use crate::protocol::serve::Reply;

/// How much of a response's id is part of the ids of its items.
const MAX_ID_BYTES: usize = 40;

/// Returns the id of an item. It is the same each time, in a stream and in a complete response.
pub(super) fn item_id(prefix: &str, response_id: &str, at: usize) -> String {
    format!("{prefix}_{}_{at}", beginning(response_id, MAX_ID_BYTES))
}

/// The form of a call, and the tool as the client declared it.
pub(super) fn declared<'a>(name: &str, reply: &'a Reply) -> (CallForm, Option<&'a DeclaredTool>) {
    let tool = Remembered::of(reply).tools.get(name);
    (tool.map_or(CallForm::Function, |tool| tool.form), tool)
}

/// Returns what the id of an item begins with.
pub(super) fn prefix(form: CallForm) -> &'static str {
    match form {
        CallForm::Function => "fc",
        CallForm::FreeText => "ctc",
        CallForm::LocalShell => "lsh",
        CallForm::Shell => "sh",
        CallForm::ApplyPatch => "apc",
        CallForm::ToolSearch => "tsc",
    }
}

/// Returns a call that is a function's or takes free text, with its `input` or its arguments.
pub(super) fn plain_call(
    id: &str,
    call_id: &str,
    name: &str,
    tool: Option<&DeclaredTool>,
    form: CallForm,
    (status, arguments): (&str, &str),
) -> Value {
    let is_free = form == CallForm::FreeText;
    let mut item = json!({
        "id": id,
        "type": if is_free { "custom_tool_call" } else { "function_call" },
        "status": status,
        "call_id": call_id,
        "name": tool.map_or(name, |tool| tool.name.as_str()),
    });
    item[if is_free { "input" } else { "arguments" }] = json!(arguments);
    if let Some(namespace) = tool.and_then(|tool| tool.namespace.as_deref()) {
        item["namespace"] = json!(namespace);
    }
    item
}

/// Returns a call in the form in which its tool was declared.
fn call(response_id: &str, at: usize, call: &ToolCallPart, reply: &Reply) -> Value {
    let (form, tool) = declared(&call.name, reply);
    let id = item_id(prefix(form), response_id, at);
    let head =
        |kind: &str| json!({ "id": id, "type": kind, "status": "completed", "call_id": call.id });
    let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let item = match form {
        CallForm::Function => None,
        CallForm::FreeText => {
            let input = input_of(&call.arguments);
            let whole = ("completed", input.as_str());
            Some(plain_call(&id, &call.id, &call.name, tool, form, whole))
        }
        CallForm::LocalShell => arguments["command"].is_array().then(|| {
            let mut action = arguments.clone();
            action["type"] = json!("exec");
            if !action["env"].is_object() {
                action["env"] = json!({});
            }
            with(head("local_shell_call"), "action", action)
        }),
        CallForm::Shell => arguments["commands"]
            .is_array()
            .then(|| with(head("shell_call"), "action", arguments.clone())),
        CallForm::ApplyPatch => arguments["path"]
            .is_string()
            .then(|| with(head("apply_patch_call"), "operation", arguments.clone())),
        CallForm::ToolSearch => arguments.is_object().then(|| {
            let item = with(head("tool_search_call"), "execution", json!("client"));
            with(item, "arguments", arguments.clone())
        }),
    };
    // A model may get the arguments wrong. The client then reports that to it.
    item.unwrap_or_else(|| {
        let whole = ("completed", call.arguments.as_str());
        plain_call(&id, &call.id, &call.name, tool, CallForm::Function, whole)
    })
}

fn with(mut item: Value, name: &str, value: Value) -> Value {
    item[name] = value;
    item
}

/// Returns a part as an item; none for what the wire has no item for.
pub(super) fn item(
    response_id: &str,
    at: usize,
    part: &ResponsePart,
    reply: &Reply,
) -> Option<Value> {
    let own = |prefix: &str| item_id(prefix, response_id, at);
    let state = part.provider_state().map(|state| &state.data).filter(|data| is_item(data));
    let encrypted = || state.and_then(|item| item.get("encrypted_content")?.as_str());
    Some(match part {
        ResponsePart::Text(text) => {
            let sources: Vec<Value> =
                text.citations.iter().filter_map(|citation| annotation(citation, reply)).collect();
            let piece = json!({ "type": "output_text", "text": text.text, "annotations": sources,
                                "logprobs": [] });
            json!({ "id": own("msg"), "type": "message", "status": "completed",
                    "role": "assistant", "content": [piece] })
        }
        ResponsePart::ToolCall(part) => call(response_id, at, part, reply),
        ResponsePart::Thinking(part) => {
            let signature = part.signature.as_deref().or_else(encrypted);
            reasoning(&own("rs"), &part.thinking, signature)
        }
        ResponsePart::RedactedThinking(part) => reasoning(&own("rs"), "", Some(&part.data)),
        ResponsePart::Image(image) if !image.data.is_empty() => {
            let format = image.mime_type.strip_prefix("image/").unwrap_or("png");
            json!({ "id": own("ig"), "type": "image_generation_call", "status": "completed",
                    "output_format": format, "result": image.data })
        }
        ResponsePart::Opaque(opaque) if is_item(&opaque.data) => opaque.data.clone(),
        ResponsePart::ServerToolCall(call) if state.is_none() && call.name == "web_search" => {
            let query = call.arguments.get("query").and_then(Value::as_str).unwrap_or_default();
            json!({ "id": own("ws"), "type": "web_search_call", "status": "completed",
                    "action": { "type": "search", "query": query } })
        }
        ResponsePart::CodeExecution(code) if state.is_none() => json!({
            "id": own("ci"), "type": "code_interpreter_call", "status": "completed",
            "code": code.code, "container_id": "", "outputs": null,
        }),
        // A part of an item is written as the whole item, once. A tool that the provider ran is never written as a call of
        // the client's.
        _ => {
            let item = state?.as_object().filter(|item| !item.contains_key("more"))?;
            let is_own =
                matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call"));
            (!is_own).then(|| completed(Value::Object(item.clone())))?
        }
    })
}

/// Returns an item of another provider of the protocol with the fields that clients require.
fn completed(mut item: Value) -> Value {
    match item["type"].as_str() {
        Some("web_search_call") if !item["action"].is_object() => {
            item["action"] = json!({ "type": "search", "query": "" });
        }
        Some("code_interpreter_call") if !item["container_id"].is_string() => {
            item["container_id"] = json!("");
        }
        _ => {}
    }
    item
}

/// Returns a reasoning item. Clients show the summary, so the thoughts are there.
fn reasoning(id: &str, thoughts: &str, encrypted: Option<&str>) -> Value {
    let mut item = json!({ "id": id, "type": "reasoning", "summary": [] });
    if !thoughts.is_empty() {
        item["summary"] = json!([{ "type": "summary_text", "text": thoughts }]);
    }
    if let Some(encrypted) = encrypted {
        item["encrypted_content"] = json!(encrypted);
    }
    item
}
