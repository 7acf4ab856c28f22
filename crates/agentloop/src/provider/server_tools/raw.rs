//! Tools in a provider's own format: where that is understood, and what they mean for other providers.

use serde_json::{Map, Value, json};

use super::Fields;
use crate::chat::{ServerTool, ToolDialect};
use crate::provider::Provider;

/// Tools of Google's generateContent.
const GEMINI: [&str; 8] = [
    "googleSearch",
    "googleSearchRetrieval",
    "urlContext",
    "codeExecution",
    "fileSearch",
    "googleMaps",
    "computerUse",
    "enterpriseWebSearch",
];

/// Tools of OpenAI's Responses, and of others that use it.
const RESPONSES: [&str; 19] = [
    "web_search_preview",
    "web_search_preview_2025_03_11",
    "web_search_2025_08_26",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer",
    "computer_use_preview",
    "local_shell",
    "shell",
    "apply_patch",
    "tool_search",
    "namespace",
    "programmatic_tool_calling",
    "x_search",
    "collections_search",
    "fetch_url",
    "sandbox",
    "custom",
];

/// Tools that exist only in Chat Completions.
const CHAT: [&str; 4] = ["browser_search", "document_library", "connector", "builtin_function"];

/// Which protocols have a kind of tool.
#[derive(Clone, Copy, PartialEq)]
enum Format {
    Gemini,
    Anthropic,
    /// OpenAI's: in Responses, and some of them in Chat Completions.
    OpenAi,
    Chat,
    Unknown,
}

fn format(kind: &str, fields: &Fields) -> Format {
    // `code_execution` and `file_search` are unified names. All other names of Google's tools are Google's, in either
    // spelling.
    if GEMINI.iter().any(|name| kind == *name || kind == snake_case(name)) {
        return Format::Gemini;
    }
    let dated = kind
        .rsplit_once('_')
        .is_some_and(|(_, date)| date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit()));
    if dated || kind == "mcp_toolset" || (kind == "custom" && fields.contains_key("input_schema")) {
        return Format::Anthropic;
    }
    if RESPONSES.contains(&kind) {
        return Format::OpenAi;
    }
    if CHAT.contains(&kind) || kind.starts_with("openrouter:") {
        return Format::Chat;
    }
    Format::Unknown
}

/// Returns whether the provider understands a tool unchanged. A tool of an unknown kind is sent unchanged.
pub(super) fn is_understood(provider: &Provider, kind: &str, fields: &Fields) -> bool {
    let facts = provider.protocol.facts();
    match (facts.tool_dialect, format(kind, fields)) {
        (_, Format::Unknown)
        | (ToolDialect::Gemini, Format::Gemini)
        | (ToolDialect::Anthropic, Format::Anthropic) => true,
        (ToolDialect::Gemini | ToolDialect::Anthropic, _) => false,
        (ToolDialect::OpenAi, format) if facts.lists_server_tools => match format {
            Format::Gemini | Format::Anthropic => false,
            _ => is_listed(provider, kind).unwrap_or(true),
        },
        (ToolDialect::OpenAi, format) => {
            format == Format::OpenAi || is_listed(provider, kind) == Some(true)
        }
    }
}

/// Returns whether the provider lists the tool for Chat Completions, or `None` if it lists nothing.
fn is_listed(provider: &Provider, kind: &str) -> Option<bool> {
    let list = provider.quirks.server_tools.chat.as_ref()?;
    Some(list.iter().any(|name| name == kind || kind.starts_with(&format!("{name}:"))))
}

/// Returns the unified form of another provider's tool, if there is one. Ids of stores and containers are valid at one
/// provider only: file search is not translated, and a container is left out.
pub(super) fn meaning(kind: &str, fields: &Fields) -> Option<ServerTool> {
    let mut fields = settings(kind, fields);
    fields.remove("name");
    fields.remove("cache_control");
    let kind = match kind {
        "googleSearch"
        | "google_search"
        | "googleSearchRetrieval"
        | "google_search_retrieval"
        | "enterpriseWebSearch"
        | "enterprise_web_search"
        | "browser_search" => "web_search",
        "urlContext" | "url_context" | "fetch_url" => "web_fetch",
        "codeExecution" | "code_interpreter" | "sandbox" => "code_execution",
        _ if kind.starts_with("web_search") || kind == "openrouter:web_search" => "web_search",
        _ if kind.starts_with("web_fetch_") => "web_fetch",
        _ if kind.starts_with("code_execution_") => "code_execution",
        _ => return None,
    };
    if kind == "code_execution" {
        fields.remove("container");
    }
    fields.insert("type".to_owned(), json!(kind));
    let mut tool = ServerTool::read(fields).ok()?;
    // Options without a unified name have no meaning for another provider.
    tool.extra_mut().clear();
    Some(tool)
}

/// Returns the settings of a tool, which are beside its `type` or in an object under its name.
fn settings(kind: &str, fields: &Fields) -> Map<String, Value> {
    let inner = fields.get(kind).or_else(|| fields.get("parameters"));
    let mut settings = match inner {
        Some(Value::Object(inner)) => inner.clone(),
        _ => fields.clone(),
    };
    settings.remove("type");
    settings
}

/// Converts `googleSearch` to `google_search`, except for the two names that are unified ones.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    if matches!(snake.as_str(), "code_execution" | "file_search") { name.to_owned() } else { snake }
}
