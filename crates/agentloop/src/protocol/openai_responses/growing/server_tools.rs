//! Tools that the provider runs: their arguments and their results.

use serde_json::{Map, Value, json};

use super::message::{more, without};
use crate::chat::{
    CodeOutcome, CodeResultPart, ProviderState, ResponsePart, ServerToolResultPart, parse_arguments,
};
use crate::protocol::openai::images;

type Item = Map<String, Value>;

pub(super) fn word<'a>(item: &'a Item, name: &str) -> &'a str {
    item.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the name of the tool that the provider runs; `None` if the item is not a call of one.
pub(super) fn name(item: &Item) -> Option<&str> {
    match word(item, "type") {
        "mcp_call" => Some(Some(word(item, "name")).filter(|n| !n.is_empty()).unwrap_or("mcp")),
        "mcp_list_tools" => Some("mcp_list_tools"),
        "tool_search_call" if word(item, "execution") != "client" => Some("tool_search"),
        // Where the commands run is reported: in a container of the provider's, or at the caller's.
        "shell_call" => {
            let place = item.get("environment")?.get("type")?.as_str()?;
            place.starts_with("container").then_some("shell")
        }
        kind @ ("web_search_call"
        | "file_search_call"
        | "x_search_call"
        | "collections_search_call"
        | "document_search_call"
        | "attachment_search_call"
        | "view_image_call"
        | "view_x_video_call") => kind.strip_suffix("_call"),
        _ => None,
    }
}

/// Returns the arguments of the tool, as JSON.
pub(super) fn arguments(item: &Item) -> String {
    let field = |name: &str| match item.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(object @ Value::Object(_)) => Some(object.to_string()),
        _ => None,
    };
    if let Some(Value::Object(action)) = item.get("action") {
        // The sources of the response belong to the result.
        let asked = without(action, &["sources"]);
        return Value::Object(asked).to_string();
    }
    field("arguments").or_else(|| field("input")).unwrap_or_else(|| {
        let mut asked = Item::new();
        for name in ["queries", "server_label"] {
            if let Some(value) = item.get(name).filter(|value| !value.is_null()) {
                asked.insert(name.to_owned(), value.clone());
            }
        }
        Value::Object(asked).to_string()
    })
}

/// Returns the result of the tool, if the item has it.
pub(super) fn result(item: &Item, id: &str, provider: &str) -> Option<ResponsePart> {
    let mut content = Item::new();
    let sources = item.get("action").and_then(|action| action.get("sources"));
    let fields = ["results", "output", "tools", "error"].map(|name| (name, item.get(name)));
    for (name, value) in fields.into_iter().chain([("sources", sources)]) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            content.insert(name.to_owned(), value.clone());
        }
    }
    let failed = word(item, "status") == "failed";
    if content.is_empty() && !failed {
        return None;
    }
    let is_error = failed || content.contains_key("error");
    if content.is_empty() {
        content.insert("status".to_owned(), json!("failed"));
    }
    Some(ResponsePart::ServerToolResult(ServerToolResultPart {
        tool_call_id: id.to_owned(),
        content: Value::Object(content),
        is_error,
        provider_state: further(item, provider),
    }))
}

/// Returns the code that the provider runs.
pub(super) fn code(item: &Item) -> String {
    match item.get("code") {
        Some(Value::String(code)) => code.clone(),
        _ => {
            let arguments = word(item, "arguments");
            let parsed = parse_arguments(arguments);
            parsed.get("code").and_then(Value::as_str).unwrap_or(arguments).to_owned()
        }
    }
}

/// Returns the results of code, if the item has them: its output, and images.
pub(super) fn code_results(item: &Item, id: &str, provider: &str) -> Vec<ResponsePart> {
    let Some(Value::Array(outputs)) = item.get("outputs") else {
        return Vec::new();
    };
    let logs: Vec<&str> =
        outputs.iter().filter_map(|output| output.get("logs").and_then(Value::as_str)).collect();
    let output = logs.join("\n");
    let failed =
        word(item, "status") == "failed" || output.starts_with("Traceback (most recent call last)");
    let mut parts = vec![ResponsePart::CodeResult(CodeResultPart {
        id: Some(id.to_owned()),
        outcome: if failed { CodeOutcome::Error } else { CodeOutcome::Ok },
        output,
        provider_state: further(item, provider),
        ..CodeResultPart::default()
    })];
    parts.extend(outputs.iter().filter_map(images::read).map(|mut image| {
        image.provider_state = further(item, provider);
        ResponsePart::Image(image)
    }));
    parts
}

pub(super) fn further(item: &Item, provider: &str) -> Option<Box<ProviderState>> {
    Some(Box::new(ProviderState::new(provider, Value::Object(more(item)))))
}
