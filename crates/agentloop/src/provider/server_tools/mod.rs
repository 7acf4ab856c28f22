//! Tools that a provider runs itself. Each is sent in the form that the provider takes, or left out with a warning.
//!
//! A [`ServerTool`] is encoded by the provider's [quirks](super::quirks::ServerToolQuirks). A tool in one provider's
//! own format is sent only where that format is understood: its `type` determines the protocol it belongs to, and a
//! field `provider` the provider. For other providers it is translated if it has a unified meaning, else left out, so a
//! fallback to another provider works.

mod raw;
mod wire;

use serde_json::{Map, Value, json};

use super::Provider;
use super::quirks::WebSearchForm;
use crate::chat::{
    ChatRequest, Draft, Protocol, ServerTool, ToolDefinition, ToolDialect, Warning, WarningKind,
};
use crate::error::{Error, ErrorKind, Result};

type Fields = Map<String, Value>;

/// How a tool is sent.
enum Fate {
    /// It is sent unchanged.
    Stays,
    /// It is sent in this form.
    Tool(Fields),
    /// It is a field of the body.
    Body(&'static str, Value),
    /// It is left out, for this reason.
    Goes(String),
}

/// Returns whether nothing in the request depends on the provider: no server tools and no provider options.
fn is_plain(request: &ChatRequest) -> bool {
    let function = |tool: &ToolDefinition| matches!(tool, ToolDefinition::Function { .. });
    request.provider_options.is_empty() && request.tools.iter().all(function)
}

/// Writes the tools and the options of a request in the form that the provider takes.
///
/// # Errors
///
/// Fails in strict mode if a tool cannot be sent.
pub(crate) fn resolve(
    provider: &Provider,
    model: &str,
    request: &mut Draft<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<()> {
    if is_plain(request) {
        return Ok(());
    }
    let is_strict = request.strict;
    let changed = request.to_mut();
    if let Some(options) = changed.provider_options.remove(provider.name.as_ref()) {
        // Options for one provider override options for all.
        merge(&mut changed.extra_body, options);
    }
    changed.provider_options.clear();
    let mut tools = Vec::with_capacity(changed.tools.len());
    for (at, tool) in std::mem::take(&mut changed.tools).into_iter().enumerate() {
        let subject = format!("tools[{at}]");
        let mut lost = Vec::new();
        match fate(provider, model, &tool, &mut lost) {
            Fate::Stays => tools.push(tool),
            Fate::Tool(fields) => tools.push(ToolDefinition::Provider(fields)),
            Fate::Body(name, value) => {
                changed.extra_body.entry(name).or_insert(value);
            }
            Fate::Goes(why) if is_strict => {
                return Err(Error::new(ErrorKind::Unsupported, format!("{subject}: {why}"))
                    .with_provider(provider.name.as_ref())
                    .with_hint(
                        "remove the tool, or unset `strict` to have it left out with a warning",
                    ));
            }
            Fate::Goes(why) => {
                let message = format!("{subject}: {why}");
                warnings.push(Warning::new(WarningKind::Dropped, subject.clone(), message));
            }
        }
        for option in lost {
            let subject = format!("{subject}.{option}");
            let message =
                format!("{subject}: {} does not support this option of the tool", provider.name);
            warnings.push(Warning::new(WarningKind::Dropped, subject, message));
        }
    }
    changed.tools = tools;
    Ok(())
}

/// Adds fields to others; objects are merged, and the added fields win.
fn merge(into: &mut Fields, from: Fields) {
    for (name, value) in from {
        if !(value.is_object() && into.get(&name).is_some_and(Value::is_object)) {
            into.insert(name, value);
        } else if let (Some(Value::Object(known)), Value::Object(more)) =
            (into.get_mut(&name), value)
        {
            merge(known, more);
        }
    }
}

fn fate(provider: &Provider, model: &str, tool: &ToolDefinition, lost: &mut Vec<String>) -> Fate {
    match tool {
        ToolDefinition::Function { .. } => Fate::Stays,
        ToolDefinition::Server(tool) => unified(provider, model, tool, lost),
        ToolDefinition::Provider(fields) => {
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
            if let Some(scope) = fields.get("provider").and_then(Value::as_str) {
                if scope != provider.name {
                    return Fate::Goes(format!(
                        "`{kind}` of {scope} is not sent to {}",
                        provider.name
                    ));
                }
                let mut fields = fields.clone();
                fields.remove("provider");
                return Fate::Tool(fields);
            }
            if raw::is_understood(provider, kind, fields) {
                return Fate::Stays;
            }
            match raw::meaning(kind, fields) {
                Some(tool) => unified(provider, model, &tool, lost),
                None => Fate::Goes(format!("{} has no tool `{kind}`", provider.name)),
            }
        }
    }
}

fn unified(provider: &Provider, model: &str, tool: &ServerTool, lost: &mut Vec<String>) -> Fate {
    if !is_served(provider, model, tool) {
        let (name, kind) = (&provider.name, tool.kind());
        return Fate::Goes(format!("{name} does not run the tool `{kind}` here"));
    }
    if let ServerTool::WebSearch(search) = tool
        && provider.protocol.facts().lists_server_tools
        && provider.quirks.server_tools.web_search == WebSearchForm::SearchModels
    {
        return Fate::Body("web_search_options", wire::search_options(search, lost));
    }
    Fate::Tool(wire::write(provider, model, tool, lost))
}

/// Returns whether the provider runs a tool, in the protocol that is used.
fn is_served(provider: &Provider, model: &str, tool: &ServerTool) -> bool {
    use super::quirks::{CodeExecutionForm, FileSearchForm, WebFetchForm};
    let quirks = &provider.quirks.server_tools;
    let facts = provider.protocol.facts();
    // A provider that lists no tools gets the tool in OpenAI's form and decides for itself.
    let is_open = !facts.lists_server_tools || quirks.chat.is_none();
    match tool {
        ServerTool::WebSearch(_) => match quirks.web_search {
            WebSearchForm::Protocol => is_open,
            WebSearchForm::Refused => false,
            WebSearchForm::Responses => {
                facts.tool_dialect == ToolDialect::OpenAi && !facts.lists_server_tools
            }
            WebSearchForm::SearchModels => !facts.lists_server_tools || model.contains("search"),
            WebSearchForm::ExcludedDomains
            | WebSearchForm::DomainFilter
            | WebSearchForm::BrowserSearch
            | WebSearchForm::Parameters => true,
        },
        ServerTool::WebFetch(_) => match quirks.web_fetch {
            WebFetchForm::Protocol => facts.has_web_fetch,
            WebFetchForm::Refused => false,
            WebFetchForm::FetchUrl => true,
        },
        ServerTool::CodeExecution(_) => match quirks.code_execution {
            CodeExecutionForm::Protocol => is_open,
            CodeExecutionForm::Refused => false,
            CodeExecutionForm::CodeInterpreter | CodeExecutionForm::Sandbox => true,
        },
        ServerTool::FileSearch(_) => match quirks.file_search {
            FileSearchForm::Protocol => is_open && facts.has_file_search,
            FileSearchForm::Refused => false,
        },
    }
}

/// Returns the protocol in which the provider takes most of the server tools of a request, if its own protocol does not
/// take them all.
pub(super) fn better_protocol(
    provider: &Provider,
    model: &str,
    request: &ChatRequest,
) -> Option<Protocol> {
    if request.tools.is_empty() {
        return None;
    }
    let special = |tool: &&ToolDefinition| !matches!(tool, ToolDefinition::Function { .. });
    let tools: Vec<&ToolDefinition> = request.tools.iter().filter(special).collect();
    if tools.is_empty() {
        return None;
    }
    let taken = |row: &Provider| {
        let sent = |tool: &&&ToolDefinition| {
            !matches!(fate(row, model, tool, &mut Vec::new()), Fate::Goes(_))
        };
        tools.iter().filter(sent).count()
    };
    let mut best = (taken(provider), None);
    for endpoint in provider.endpoints.iter().filter(|endpoint| endpoint.serves(model)) {
        if best.0 == tools.len() {
            break;
        }
        let count = taken(&provider.speaking(endpoint.protocol));
        if count > best.0 {
            best = (count, Some(endpoint.protocol));
        }
    }
    best.1
}

/// Returns an object with the settings of a tool under the name of its kind.
fn named(kind: &str) -> Fields {
    let mut fields = Fields::new();
    fields.insert("type".to_owned(), json!(kind));
    fields
}
