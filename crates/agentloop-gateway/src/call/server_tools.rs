//! Tools that a provider runs itself, for providers of which it is not known whether they have them.

use agentloop::provider::quirks::{CodeExecutionForm, WebSearchForm};
use agentloop::{ChatRequest, Provider, ServerTool, ToolDefinition, Warning, WarningKind};

/// Leaves out the tools that a provider of chat completions does not list, with a warning each.
///
/// The library sends such a tool to a provider that lists none, because its caller chose the provider. A client of the
/// gateway did not: Codex declares a web search in every request, and most compatible providers refuse a request with a
/// tool that they do not know.
pub(super) fn drop_unlisted(
    request: &mut ChatRequest,
    provider: &Provider,
    warnings: &mut Vec<Warning>,
) {
    let quirks = &provider.quirks.server_tools;
    if quirks.chat.is_some() {
        return;
    }
    let mut at = 0;
    request.tools.retain(|tool| {
        let (kind, is_listed) = match tool {
            ToolDefinition::Server(ServerTool::WebSearch(_)) => {
                ("web_search", quirks.web_search != WebSearchForm::Protocol)
            }
            ToolDefinition::Server(ServerTool::CodeExecution(_)) => {
                ("code_execution", quirks.code_execution != CodeExecutionForm::Protocol)
            }
            ToolDefinition::Provider(fields) => {
                (fields.get("type").and_then(|kind| kind.as_str()).unwrap_or_default(), false)
            }
            _ => ("", true),
        };
        if !is_listed {
            let subject = format!("tools[{at}]");
            let why = format!("{subject}: {} does not run the tool `{kind}`", provider.name);
            warnings.push(Warning::new(WarningKind::Dropped, subject, why));
        }
        at += 1;
        is_listed
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_compatible_provider_does_not_get_tools_that_it_does_not_list() {
        let tools = json!([
            {"type": "function", "function": {"name": "f"}},
            {"type": "web_search", "external_web_access": true},
            {"type": "code_interpreter", "container": {"type": "auto"}},
        ]);
        let mut request = ChatRequest::new("lab/m");
        request.tools = serde_json::from_value(tools).unwrap();
        let whole = request.clone();
        let mut warnings = Vec::new();
        let provider = Provider::openai_compatible("lab", "http://lab.invalid/v1");
        drop_unlisted(&mut request, &provider, &mut warnings);
        assert_eq!(request.tools, whole.tools[..1]);
        let subjects: Vec<_> = warnings.iter().filter_map(|one| one.subject.as_deref()).collect();
        assert_eq!(subjects, ["tools[1]", "tools[2]"]);
        // A provider whose tools are known gets those that it has.
        let mut request = whole.clone();
        drop_unlisted(&mut request, &Provider::builtin("groq").unwrap(), &mut warnings);
        assert_eq!(request, whole);
    }
}
