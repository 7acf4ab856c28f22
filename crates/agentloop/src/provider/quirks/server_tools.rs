//! How a provider takes tools that it runs or defines itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// How the tools are declared that a provider runs itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "snake_case")]
#[non_exhaustive]
pub struct ServerToolQuirks {
    /// The form of a web search.
    pub web_search: WebSearchForm,
    /// The form of reading web pages.
    pub web_fetch: WebFetchForm,
    /// The form of running code.
    pub code_execution: CodeExecutionForm,
    /// The form of a search in files.
    pub file_search: FileSearchForm,
    /// The types of the provider's own tools that the Chat protocol accepts; absent means any.
    pub chat: Option<Vec<Cow<'static, str>>>,
}

impl ServerToolQuirks {
    /// Returns quirks that refuse every server tool.
    pub(crate) fn refused() -> Self {
        Self {
            web_search: WebSearchForm::Refused,
            web_fetch: WebFetchForm::Refused,
            code_execution: CodeExecutionForm::Refused,
            file_search: FileSearchForm::Refused,
            chat: Some(Vec::new()),
        }
    }

    /// Refuses the provider's own tools in the Chat protocol.
    pub(crate) fn without_chat(self) -> Self {
        Self { chat: Some(Vec::new()), ..self }
    }
}

quirk! {
    /// The form of a web search.
    WebSearchForm {
        /// As in the protocol: `web_search` in OpenAI's Responses, `web_search_20250305` in Anthropic's Messages,
        /// `googleSearch` in Google's generateContent. The Chat protocol has no form.
        #[default]
        Protocol,
        /// It is not supported.
        Refused,
        /// As in the protocol in OpenAI's Responses, and not in the others. DeepSeek (recording
        /// `deepseek-json-search-results-server-tool-a6e7e3f6`).
        Responses,
        /// In Chat as the field `web_search_options`, by models whose name contains `search`; else as in the protocol. OpenAI
        /// (recording `openai-json-citations-text-657c8eff`) and Azure.
        SearchModels,
        /// `web_search` with `allowed_domains` or `excluded_domains`. xAI (ai-sdk xai 5.0).
        ExcludedDomains,
        /// `web_search` with `filters: {search_domain_filter}`. Perplexity (SDK 0.46).
        DomainFilter,
        /// `browser_search`. Groq (recording `groq-stream-search-results-server-tool-9407495a`).
        BrowserSearch,
        /// `openrouter:web_search` with `parameters`; as in the protocol in Anthropic's Messages. OpenRouter (recording
        /// `openrouter-stream-citations-text-afe237cf`).
        Parameters,
    }
}

quirk! {
    /// The form of reading web pages.
    WebFetchForm {
        /// As in the protocol: `web_fetch_20250910` in Anthropic's Messages, `urlContext` in Google's generateContent. The
        /// others have no form.
        #[default]
        Protocol,
        /// It is not supported.
        Refused,
        /// `fetch_url`. Perplexity (SDK 0.46).
        FetchUrl,
    }
}

quirk! {
    /// The form of running code.
    CodeExecutionForm {
        /// As in the protocol: `code_interpreter` with a container in OpenAI's Responses, `code_execution_20250825` or later
        /// in Anthropic's Messages, `codeExecution` in Google's generateContent. The Chat protocol has no form.
        #[default]
        Protocol,
        /// It is not supported.
        Refused,
        /// `code_interpreter` without a container. Groq (SDK 1.7) and xAI (ai-sdk xai 5.0).
        CodeInterpreter,
        /// `sandbox`. Perplexity (SDK 0.46).
        Sandbox,
    }
}

quirk! {
    /// The form of a search in files.
    FileSearchForm {
        /// As in the protocol: `file_search` in OpenAI's Responses, `fileSearch` in Google's generateContent. The others have
        /// no form.
        #[default]
        Protocol,
        /// It is not supported.
        Refused,
    }
}

quirk! {
    /// How the tools are declared that the provider defines and the caller runs.
    ClientTools {
        /// As functions: the provider defines none.
        #[default]
        Functions,
        /// By types with a version, as `bash_20250124`. Calls name the tool. Anthropic (SDK 2.8).
        Versioned,
        /// By types without options, as `shell`. Calls and results are items of their own. OpenAI in the Responses protocol (SDK
        /// 3.49).
        Items,
    }
}
