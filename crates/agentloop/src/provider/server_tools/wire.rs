//! The JSON of server tools.

use serde_json::{Value, json};

use super::{Fields, named};
use crate::chat::{
    CodeExecutionTool, FileSearchTool, ServerTool, ToolDialect, UserLocation, WebFetchTool,
    WebSearchTool,
};
use crate::provider::Provider;
use crate::provider::model::CodeExecutionVersion;
use crate::provider::quirks::{CodeExecutionForm, WebFetchForm, WebSearchForm};

/// Writes a tool that the provider runs. Options that it does not have are added to `lost`.
pub(super) fn write(
    provider: &Provider,
    model: &str,
    tool: &ServerTool,
    lost: &mut Vec<String>,
) -> Fields {
    let quirks = &provider.quirks.server_tools;
    let dialect = provider.protocol.facts().tool_dialect;
    let mut fields = match tool {
        ServerTool::WebSearch(tool) => web_search(quirks.web_search, dialect, tool, lost),
        ServerTool::WebFetch(tool) => web_fetch(quirks.web_fetch, dialect, tool, lost),
        ServerTool::CodeExecution(tool) => {
            let version = provider.ruled_traits(model).code_execution;
            code_execution(quirks.code_execution, dialect, version, tool, lost)
        }
        ServerTool::FileSearch(tool) => file_search(dialect, tool, lost),
    };
    // The options of the tool are in an object of their own.
    let has_parameters = matches!(tool, ServerTool::WebSearch(_))
        && dialect == ToolDialect::OpenAi
        && quirks.web_search == WebSearchForm::Parameters;
    for (name, value) in tool.extra() {
        // All names are OpenAI's except the marker, which is Anthropic's.
        let known = match dialect {
            ToolDialect::OpenAi => name != "cache_control",
            ToolDialect::Anthropic => name == "cache_control",
            ToolDialect::Gemini => false,
        };
        if !known {
            lost.push(name.clone());
        } else if has_parameters {
            let options = fields.entry("parameters").or_insert_with(|| json!({}));
            if let Value::Object(options) = options {
                options.entry(name).or_insert_with(|| value.clone());
            }
        } else {
            fields.entry(name).or_insert_with(|| value.clone());
        }
    }
    fields
}

/// Writes the options that the format has, and records the others.
struct Options<'a> {
    fields: Fields,
    lost: &'a mut Vec<String>,
}

impl Options<'_> {
    fn put(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.fields.insert(name.to_owned(), value);
        }
    }

    fn lose(&mut self, name: &str, is_set: bool) {
        if is_set {
            self.lost.push(name.to_owned());
        }
    }
}

fn list(domains: &[String]) -> Option<Value> {
    (!domains.is_empty()).then(|| json!(domains))
}

fn location(place: Option<&UserLocation>) -> Option<Value> {
    let mut place = json!(place?);
    place["type"] = json!("approximate");
    Some(place)
}

/// Writes the allowed and blocked domains under these names. Providers take only one of the two lists.
fn domains(options: &mut Options<'_>, tool: &WebSearchTool, names: [&str; 2]) {
    options.put(names[0], list(&tool.allowed_domains));
    if tool.allowed_domains.is_empty() {
        options.put(names[1], list(&tool.blocked_domains));
    } else {
        options.lose("blocked_domains", !tool.blocked_domains.is_empty());
    }
}

fn web_search(
    form: WebSearchForm,
    dialect: ToolDialect,
    tool: &WebSearchTool,
    lost: &mut Vec<String>,
) -> Fields {
    let mut options = Options { fields: Fields::new(), lost };
    let size = tool.search_context_size.as_ref().map(|size| json!(size));
    let place = location(tool.user_location.as_ref());
    let uses = tool.max_uses.map(|uses| json!(uses));
    let kind = match (form, dialect) {
        (WebSearchForm::BrowserSearch, _) => {
            options.lose("allowed_domains", !tool.allowed_domains.is_empty());
            options.lose("blocked_domains", !tool.blocked_domains.is_empty());
            options.lose("user_location", place.is_some());
            options.lose("search_context_size", size.is_some());
            options.lose("max_uses", uses.is_some());
            "browser_search"
        }
        (_, ToolDialect::Gemini) => {
            options.lose("allowed_domains", !tool.allowed_domains.is_empty());
            options.lose("blocked_domains", !tool.blocked_domains.is_empty());
            options.lose("user_location", place.is_some());
            options.lose("search_context_size", size.is_some());
            options.lose("max_uses", uses.is_some());
            "googleSearch"
        }
        (_, ToolDialect::Anthropic) => {
            options.put("name", Some(json!("web_search")));
            domains(&mut options, tool, ["allowed_domains", "blocked_domains"]);
            options.put("user_location", place);
            options.put("max_uses", uses);
            options.lose("search_context_size", size.is_some());
            "web_search_20250305"
        }
        (WebSearchForm::Parameters, _) => {
            domains(&mut options, tool, ["allowed_domains", "excluded_domains"]);
            options.put("user_location", place);
            options.put("search_context_size", size);
            options.lose("max_uses", uses.is_some());
            let parameters = std::mem::take(&mut options.fields);
            options.put("parameters", (!parameters.is_empty()).then(|| json!(parameters)));
            "openrouter:web_search"
        }
        (WebSearchForm::ExcludedDomains, _) => {
            domains(&mut options, tool, ["allowed_domains", "excluded_domains"]);
            options.lose("user_location", place.is_some());
            options.lose("search_context_size", size.is_some());
            options.lose("max_uses", uses.is_some());
            "web_search"
        }
        (WebSearchForm::DomainFilter, _) => {
            let blocked = tool.blocked_domains.iter().map(|domain| format!("-{domain}"));
            let filter: Vec<String> = tool.allowed_domains.iter().cloned().chain(blocked).collect();
            let filter = list(&filter).map(|list| json!({ "search_domain_filter": list }));
            options.put("filters", filter);
            options.put("user_location", tool.user_location.as_ref().map(|place| json!(place)));
            options.put("search_context_size", size);
            options.lose("max_uses", uses.is_some());
            "web_search"
        }
        _ => {
            let allowed = list(&tool.allowed_domains);
            options.put("filters", allowed.map(|list| json!({ "allowed_domains": list })));
            options.lose("blocked_domains", !tool.blocked_domains.is_empty());
            options.put("user_location", place);
            options.put("search_context_size", size);
            options.lose("max_uses", uses.is_some());
            "web_search"
        }
    };
    finish(kind, options)
}

fn finish(kind: &str, options: Options<'_>) -> Fields {
    let mut fields = named(kind);
    fields.extend(options.fields);
    fields
}

/// Returns the settings of models that always search.
pub(super) fn search_options(tool: &WebSearchTool, lost: &mut Vec<String>) -> Value {
    let mut options = Options { fields: Fields::new(), lost };
    let place = tool.user_location.as_ref();
    let place = place.map(|place| json!({ "type": "approximate", "approximate": place }));
    options.put("user_location", place);
    options.put("search_context_size", tool.search_context_size.as_ref().map(|size| json!(size)));
    options.lose("allowed_domains", !tool.allowed_domains.is_empty());
    options.lose("blocked_domains", !tool.blocked_domains.is_empty());
    options.lose("max_uses", tool.max_uses.is_some());
    options.lost.extend(tool.extra.keys().cloned());
    Value::Object(options.fields)
}

fn web_fetch(
    form: WebFetchForm,
    dialect: ToolDialect,
    tool: &WebFetchTool,
    lost: &mut Vec<String>,
) -> Fields {
    let mut options = Options { fields: Fields::new(), lost };
    if form != WebFetchForm::FetchUrl && dialect == ToolDialect::Anthropic {
        options.put("name", Some(json!("web_fetch")));
        options.put("max_uses", tool.max_uses.map(|uses| json!(uses)));
        options.put("allowed_domains", list(&tool.allowed_domains));
        if tool.allowed_domains.is_empty() {
            options.put("blocked_domains", list(&tool.blocked_domains));
        } else {
            options.lose("blocked_domains", !tool.blocked_domains.is_empty());
        }
        options.put("max_content_tokens", tool.max_content_tokens.map(|most| json!(most)));
        return finish("web_fetch_20250910", options);
    }
    options.lose("max_uses", tool.max_uses.is_some());
    options.lose("allowed_domains", !tool.allowed_domains.is_empty());
    options.lose("blocked_domains", !tool.blocked_domains.is_empty());
    options.lose("max_content_tokens", tool.max_content_tokens.is_some());
    let fetches = form == WebFetchForm::FetchUrl;
    finish(if fetches { "fetch_url" } else { "urlContext" }, options)
}

fn code_execution(
    form: CodeExecutionForm,
    dialect: ToolDialect,
    version: CodeExecutionVersion,
    tool: &CodeExecutionTool,
    lost: &mut Vec<String>,
) -> Fields {
    let mut options = Options { fields: Fields::new(), lost };
    if form == CodeExecutionForm::Protocol && dialect == ToolDialect::OpenAi {
        let mut container = tool.container.clone().unwrap_or_else(|| json!({ "type": "auto" }));
        match &mut container {
            Value::Object(fields) if !tool.file_ids.is_empty() => {
                fields.insert("file_ids".to_owned(), json!(tool.file_ids));
            }
            _ => options.lose("file_ids", !tool.file_ids.is_empty()),
        }
        options.put("container", Some(container));
        return finish("code_interpreter", options);
    }
    options.lose("container", tool.container.is_some());
    options.lose("file_ids", !tool.file_ids.is_empty());
    let kind = match (form, dialect) {
        (CodeExecutionForm::Sandbox, _) => "sandbox",
        (CodeExecutionForm::CodeInterpreter, _) => "code_interpreter",
        (_, ToolDialect::Anthropic) => {
            options.put("name", Some(json!("code_execution")));
            match version {
                CodeExecutionVersion::V20250825 => "code_execution_20250825",
                CodeExecutionVersion::V20260120 => "code_execution_20260120",
            }
        }
        _ => "codeExecution",
    };
    finish(kind, options)
}

fn file_search(dialect: ToolDialect, tool: &FileSearchTool, lost: &mut Vec<String>) -> Fields {
    let mut options = Options { fields: Fields::new(), lost };
    let stores = Some(json!(tool.vector_store_ids));
    let most = tool.max_num_results.map(|most| json!(most));
    if dialect == ToolDialect::Gemini {
        options.put("fileSearchStoreNames", stores);
        options.put("topK", most);
        return finish("fileSearch", options);
    }
    options.put("vector_store_ids", stores);
    options.put("max_num_results", most);
    finish("file_search", options)
}
