//! The tools that each provider runs itself.
//!
//! What is not listed is served by nobody: the tool is left out with a warning. A tool in a provider's own words is still
//! sent to it.

use std::borrow::Cow;

use crate::chat::Protocol;
use crate::provider::Provider;
use crate::provider::quirks::{
    CodeExecutionForm, FileSearchForm, ServerToolQuirks, WebFetchForm, WebSearchForm,
};

/// Adds what is known of a provider's own tools to its row, in each of its protocols.
pub(super) fn with_tools(mut row: Provider) -> Provider {
    let name = row.name.clone();
    row.quirks.server_tools = of(&name, row.protocol);
    for endpoint in &mut row.endpoints {
        if let Some(bends) = &mut endpoint.bends {
            bends.quirks.server_tools = of(&name, endpoint.protocol);
        }
    }
    row
}

fn of(name: &str, protocol: Protocol) -> ServerToolQuirks {
    let none = ServerToolQuirks::refused();
    let chat =
        |kinds: &[&'static str]| Some(kinds.iter().map(|kind| Cow::Borrowed(*kind)).collect());
    match name {
        // Chat searches only with the models that do nothing else; all tools are in the responses.
        "openai" | "azure" => ServerToolQuirks {
            web_search: WebSearchForm::SearchModels,
            chat: chat(&["custom"]),
            ..ServerToolQuirks::default()
        },
        "anthropic" | "google" => {
            ServerToolQuirks { chat: none.chat, ..ServerToolQuirks::default() }
        }
        "vertex" => ServerToolQuirks {
            file_search: FileSearchForm::Refused,
            chat: none.chat,
            ..ServerToolQuirks::default()
        },
        // Recorded in 2025 with `browser_search`; both are tools of its gpt-oss models.
        "groq" => ServerToolQuirks {
            web_search: WebSearchForm::BrowserSearch,
            code_execution: CodeExecutionForm::CodeInterpreter,
            chat: chat(&["browser_search", "code_interpreter", "mcp"]),
            ..none
        },
        "mistral" => ServerToolQuirks {
            chat: chat(&["image_generation", "document_library", "connector"]),
            ..none
        },
        // Recorded in 2026: its responses search, its chat does not.
        "deepseek" => ServerToolQuirks { web_search: WebSearchForm::Responses, ..none },
        "perplexity" if protocol == Protocol::OpenAiResponses => ServerToolQuirks {
            web_search: WebSearchForm::DomainFilter,
            web_fetch: WebFetchForm::FetchUrl,
            code_execution: CodeExecutionForm::Sandbox,
            ..none
        },
        "xai" if protocol == Protocol::OpenAiResponses => ServerToolQuirks {
            web_search: WebSearchForm::ExcludedDomains,
            code_execution: CodeExecutionForm::CodeInterpreter,
            file_search: FileSearchForm::Protocol,
            ..none
        },
        "openrouter" => ServerToolQuirks {
            web_search: WebSearchForm::Parameters,
            chat: chat(&["openrouter"]),
            ..none
        },
        "moonshot" => ServerToolQuirks { chat: chat(&["builtin_function"]), ..none },
        _ => none,
    }
}
